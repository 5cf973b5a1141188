"""Finds faults of ptxas in its machine code: uniform registers that are read before they are written.

The analysis has no false positives. Control flow is over-approximated. Reads count only operands that are certainly
sources, and of a register range only the first. Writes count every register that an instruction may write, even under
a predicate. Vector registers and predicates are not checked: ptxas reads some of them unwritten where the value does
not matter.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

ALL_REGISTERS = -1


def machine_code(kernel: Any) -> dict[str, Any] | None:
    """The faults in the machine code of a ``triton.compiler.CompiledKernel``; None on AMD, which has no ptxas.

    ``compiler`` is ptxas with its version, and ``variable`` the environment variable that selects another ptxas.
    ``unwritten`` contains the reads of unwritten registers. ``unchecked`` is the reason if the code was not checked.
    """
    target = kernel.metadata.target
    if target.backend != "cuda":
        return None
    from triton import knobs
    from triton.backends.nvidia.compiler import get_ptxas, get_ptxas_version

    version = re.search(r"V(\d[\d.]*)", get_ptxas_version(target.arch))
    regular = get_ptxas(target.arch).path == knobs.nvidia.ptxas.path
    report = {
        "compiler": f"ptxas {version[1]}" if version else "ptxas",
        "variable": "TRITON_PTXAS_PATH" if regular else "TRITON_PTXAS_BLACKWELL_PATH",
    }
    try:
        return report | {"unwritten": unwritten_reads(disassembly_of(kernel.asm["cubin"]))}
    except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
        # Triton raises a RuntimeError if it finds no nvdisasm.
        return report | {"unchecked": f"nvdisasm gives no disassembly: {_reason(error)}"}


def disassembly_of(cubin: bytes) -> str:
    import triton

    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        # Without its own data flow analysis, which fails if nvdisasm and ptxas have different versions.
        command = [triton.knobs.nvidia.nvdisasm.path, "--print-code", "--no-dataflow", file.name]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _reason(error: Exception) -> str:
    printed = getattr(error, "stderr", None) or str(error)
    return printed.strip().split("\n")[0]


def unwritten_reads(disassembly: str) -> list[dict[str, str]]:
    """The first read of each unwritten uniform register, in the output of ``nvdisasm``.

    Only kernels are checked: the caller of any other function may have written its registers.
    """
    return [read for code in kernels_in(disassembly) for read in _first_reads(code)]


def kernels_in(disassembly: str) -> list[list[Instruction]]:
    """The instructions of each kernel.

    Raises:
        RuntimeError: there is no kernel, so this is not what nvdisasm is known to print.
    """
    entries = set(re.findall(r'^\s*\.other\s+(\S+?),@"[^"]*STO_CUDA_ENTRY', disassembly, re.MULTILINE))
    sections = re.split(r"^\s*\.section\s+\.text\.(\S+?),.*$", disassembly, flags=re.MULTILINE)
    kernels = [_parse(text) for name, text in zip(sections[1::2], sections[2::2], strict=True) if name in entries]
    if not any(kernels):
        raise RuntimeError("no instruction of a kernel in what it prints")
    return kernels


def _first_reads(code: list[Instruction]) -> list[dict[str, str]]:
    first_readers: dict[int, Instruction] = {}
    for index, register in _unwritten_reads(code):
        first_readers.setdefault(register, code[index])
    return [
        {"register": f"UR{register}", "address": f"0x{instruction.address}", "instruction": instruction.text}
        for register, instruction in first_readers.items()
    ]


@dataclass
class Instruction:
    address: str
    text: str
    is_predicated: bool
    opcode: str
    operands: list[str]
    # Possible successors, as indices.
    successors: list[int] = field(default_factory=list)
    # True for a call of a function in another section.
    has_external_call: bool = False

    @property
    def name(self) -> str:
        """The opcode without its modifiers."""
        return self.opcode.split(".")[0]


_LINE = re.compile(r"^(?:\s*/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;|([.$\w]\S*):\s*(?://.*)?$)")
_INSTRUCTION = re.compile(r"(@!?\w+\s+)?(\S+)\s*(.*)")
_TARGET = re.compile(r"`\((.*?)\)")


def _parse(text: str) -> list[Instruction]:
    code: list[Instruction] = []
    labels: dict[str, int] = {}
    for line in text.split("\n"):
        if not (match := _LINE.match(line)):
            continue
        address, instruction, label = match.groups()
        if label:
            labels[label] = len(code)
        elif fields := _INSTRUCTION.match(instruction):
            guard, opcode, operand_text = fields.groups()
            operands = [operand.strip() for operand in operand_text.split(",")] if operand_text else []
            code.append(Instruction(address, instruction, guard is not None, opcode, operands))
    _link(code, labels)
    return code


def _link(code: list[Instruction], labels: dict[str, int]) -> None:
    """Finds the possible successors of each instruction."""
    anywhere = range(len(code))
    returns = [at + 1 for at, each in enumerate(code) if each.name == "CALL"]
    # BSYNC goes where the BSSY of its barrier said, and barriers can be moved.
    joins = [target for each in code if each.name == "BSSY" for target in _targets(each, labels)]
    for at, each in enumerate(code):
        targets = _targets(each, labels)
        after = [at + 1]
        successors: Iterable[int]
        if each.name == "EXIT":
            successors = after if each.is_predicated else []
        elif each.name in ("BRA", "JMP"):
            is_unconditional = not each.is_predicated and each.opcode == each.name and len(each.operands) == 1
            successors = [*targets, *([] if is_unconditional else after)] if targets else anywhere
        elif each.name == "CALL":
            each.has_external_call = not targets
            successors = [*targets, *(after if each.is_predicated or each.has_external_call else [])]
        elif each.name == "RET":
            successors = [*returns, *after]
        elif each.name == "BSYNC":
            successors = [*joins, *after]
        elif each.name in ("BRX", "BRXU", "JMX", "JMXU"):
            successors = anywhere
        else:
            successors = [*targets, *after]
        each.successors = [index for index in successors if index < len(code)]


def _targets(instruction: Instruction, labels: dict[str, int]) -> list[int]:
    """The indices of the targets in this section. RET names the function that contains it."""
    if instruction.name == "RET":
        return []
    return [labels[name] for name in _TARGET.findall(instruction.text) if name in labels]


_UNIFORM = re.compile(r"(?<![A-Z0-9_])UR(\d+)")
_BARE_REGISTER = re.compile(r"U?R(Z|\d+)$")
_BARE_PREDICATE = re.compile(r"U?P(T|R|\d)$")

# These preserve a part of the destination register. That part may be unwritten.
_PARTIAL = {"UPRMT", "UP2UR"}
# These write one register, or as many as a modifier says: UIMAD.WIDE, LDCU.128.
_ONE_REGISTER = {
    *("UIADD3", "UIADD", "UIMAD", "UIABS", "UIMNMX", "UISCADD", "UVIADD", "UVIMNMX", "ULEA", "ULOP", "ULOP3", "USHF"),
    *("USGXT", "UBMSK", "UBREV", "UFLO", "UPOPC", "UMOV", "USEL", "UPRMT", "UP2UR", "ULDC", "LDCU", "R2UR", "S2UR"),
    *("VOTEU", "REDUX", "CREDUX", "UFADD", "UFMUL", "UFFMA", "UFSEL", "UFMNMX"),
}
# No known instruction writes more.
_MOST_REGISTERS = 8


def _destination(instruction: Instruction) -> int | None:
    """The index of the written operand: the first register, if only predicates come before it."""
    if instruction.name.endswith("SETP"):
        return None
    for index, operand in enumerate(instruction.operands):
        if _BARE_REGISTER.match(operand):
            return index
        if not _BARE_PREDICATE.match(operand):
            return None
    return None


def _writes(instruction: Instruction) -> int:
    """A bit mask of the uniform registers that may be written."""
    if instruction.has_external_call:
        return ALL_REGISTERS
    index = _destination(instruction)
    if index is None or not (register := _UNIFORM.match(instruction.operands[index])):
        return 0
    return ((1 << _width(instruction)) - 1) << int(register[1])


def _width(instruction: Instruction) -> int:
    if instruction.name not in _ONE_REGISTER:
        return _MOST_REGISTERS
    _, *modifiers = instruction.opcode.split(".")
    bits = [int(bits_text) for modifier in modifiers for bits_text in re.findall(r"64|128|256", modifier)]
    return max([32, *bits, *(64 for modifier in modifiers if modifier == "WIDE")]) // 32


def _reads(instruction: Instruction) -> set[int]:
    """Uniform registers that are certainly read."""
    if instruction.name in _PARTIAL:
        return set()
    destination = _destination(instruction)
    registers: set[int] = set()
    for index, operand in enumerate(instruction.operands):
        if index == destination:
            continue
        operand_registers = [int(register) for register in _UNIFORM.findall(operand)]
        if operand.startswith("gdesc[") and instruction.name.endswith("GMMA"):
            # Descriptors of both operands in four registers. Those of A are not read where A is in vector registers.
            registers.update(register + 2 for register in operand_registers)
            if index != 1:
                continue
        registers.update(operand_registers)
    return registers


def _unwritten_reads(code: list[Instruction]) -> list[tuple[int, int]]:
    """Reads on first execution of a register that no path has written."""
    writes = [_writes(instruction) for instruction in code]
    return [
        (index, register)
        for index, possible_writes in sorted(_possible_writes(code, writes).items())
        for register in sorted(_reads(code[index]))
        if not possible_writes >> register & 1 and not _may_be_written(code, writes, index, 1 << register)
    ]


def _possible_writes(code: list[Instruction], writes: list[int]) -> dict[int, int]:
    """For each reachable instruction, the registers that every path to it may have written."""
    writes_before = {0: 0} if code else {}
    queue = list(writes_before)
    while queue:
        index = queue.pop()
        writes_after = writes_before[index] | writes[index]
        for successor in code[index].successors:
            previous = writes_before.get(successor, ALL_REGISTERS)
            if successor not in writes_before or previous & writes_after != previous:
                writes_before[successor] = previous & writes_after
                queue.append(successor)
    return writes_before


def _may_be_written(code: list[Instruction], writes: list[int], index: int, register: int) -> bool:
    """True if a path that has not passed ``index`` writes the register and then reaches ``index``."""
    earlier = _reachable(code, [0], without=index)
    writers = [writer for writer in earlier if writes[writer] & register]
    return index in _reachable(
        code, [successor for writer in writers for successor in code[writer].successors], without=None
    )


def _reachable(code: list[Instruction], start: list[int], without: int | None) -> set[int]:
    visited: set[int] = set()
    queue = list(start)
    while queue:
        index = queue.pop()
        if index in visited or index == without:
            continue
        visited.add(index)
        queue.extend(code[index].successors)
    return visited
