"""Finds faults of ptxas in its machine code: uniform registers that are read before they are written.

A finding is certain, because each doubt is decided against it. Paths: an instruction goes wherever it might. Reads:
only operands that are sources without doubt, and of several registers the first. Writes: every register that an
instruction may write, under a predicate or not. Vector registers and predicates are not looked at: ptxas itself reads
some that hold nothing, where the value makes no difference.
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

    ``compiler`` is ptxas with its version, and ``variable`` the environment variable that names another one.
    ``unwritten`` has the certain reads of nothing, or ``unchecked`` says why the code was not looked at.
    """
    target = kernel.metadata.target
    if target.backend != "cuda":
        return None
    from triton import knobs
    from triton.backends.nvidia.compiler import get_ptxas, get_ptxas_version

    version = re.search(r"V(\d[\d.]*)", get_ptxas_version(target.arch))
    regular = get_ptxas(target.arch).path == knobs.nvidia.ptxas.path
    found = {
        "compiler": f"ptxas {version[1]}" if version else "ptxas",
        "variable": "TRITON_PTXAS_PATH" if regular else "TRITON_PTXAS_BLACKWELL_PATH",
    }
    try:
        return found | {"unwritten": unwritten_reads(disassembly_of(kernel.asm["cubin"]))}
    except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
        # Triton raises a RuntimeError if it finds no nvdisasm.
        return found | {"unchecked": f"nvdisasm gives no disassembly: {_reason(error)}"}


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
    """The first read of each uniform register that nothing can have written before, in what ``nvdisasm`` prints.

    Only kernels are looked at: what calls a function of another section may have written for it.
    """
    return [found for code in kernels_in(disassembly) for found in _first_of_each(code)]


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


def _first_of_each(code: list[Instruction]) -> list[dict[str, str]]:
    first: dict[int, Instruction] = {}
    for at, register in _certain(code):
        first.setdefault(register, code[at])
    return [
        {"register": f"UR{register}", "address": f"0x{each.address}", "instruction": each.text}
        for register, each in first.items()
    ]


@dataclass
class Instruction:
    address: str
    text: str
    guarded: bool
    opcode: str
    operands: list[str]
    # Where it may go.
    next: list[int] = field(default_factory=list)
    # It calls a function that is not in this section.
    leaves: bool = False

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
        elif parts := _INSTRUCTION.match(instruction):
            guard, opcode, rest = parts.groups()
            operands = [operand.strip() for operand in rest.split(",")] if rest else []
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
        goes: Iterable[int]
        if each.name == "EXIT":
            goes = after if each.guarded else []
        elif each.name in ("BRA", "JMP"):
            only = not each.guarded and each.opcode == each.name and len(each.operands) == 1
            goes = [*targets, *([] if only else after)] if targets else anywhere
        elif each.name == "CALL":
            each.leaves = not targets
            goes = [*targets, *(after if each.guarded or each.leaves else [])]
        elif each.name == "RET":
            goes = [*returns, *after]
        elif each.name == "BSYNC":
            goes = [*joins, *after]
        elif each.name in ("BRX", "BRXU", "JMX", "JMXU"):
            goes = anywhere
        else:
            goes = [*targets, *after]
        each.next = [place for place in goes if place < len(code)]


def _targets(instruction: Instruction, labels: dict[str, int]) -> list[int]:
    """The places in this section that an instruction names. RET names the function that it is in."""
    if instruction.name == "RET":
        return []
    return [labels[name] for name in _TARGET.findall(instruction.text) if name in labels]


_UNIFORM = re.compile(r"(?<![A-Z0-9_])UR(\d+)")
_BARE_REGISTER = re.compile(r"U?R(Z|\d+)$")
_BARE_PREDICATE = re.compile(r"U?P(T|R|\d)$")

# These keep a part of the register that they write, and that part may be unwritten.
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
    for place, operand in enumerate(instruction.operands):
        if _BARE_REGISTER.match(operand):
            return place
        if not _BARE_PREDICATE.match(operand):
            return None
    return None


def _writes(instruction: Instruction) -> int:
    """The uniform registers that may be written, as bits."""
    if instruction.leaves:
        return ALL_REGISTERS
    place = _destination(instruction)
    if place is None or not (register := _UNIFORM.match(instruction.operands[place])):
        return 0
    return ((1 << _width(instruction)) - 1) << int(register[1])


def _width(instruction: Instruction) -> int:
    if instruction.name not in _ONE_REGISTER:
        return _MOST_REGISTERS
    _, *modifiers = instruction.opcode.split(".")
    bits = [int(found) for modifier in modifiers for found in re.findall(r"64|128|256", modifier)]
    return max([32, *bits, *(64 for modifier in modifiers if modifier == "WIDE")]) // 32


def _reads(instruction: Instruction) -> set[int]:
    """Uniform registers that are certainly read."""
    if instruction.name in _PARTIAL:
        return set()
    destination = _destination(instruction)
    found: set[int] = set()
    for place, operand in enumerate(instruction.operands):
        if place == destination:
            continue
        first = [int(register) for register in _UNIFORM.findall(operand)]
        if operand.startswith("gdesc[") and instruction.name.endswith("GMMA"):
            # Descriptors of both operands in four registers. Those of A are not read where A is in vector registers.
            found.update(register + 2 for register in first)
            if place != 1:
                continue
        found.update(first)
    return found


def _certain(code: list[Instruction]) -> list[tuple[int, int]]:
    """Instructions that, when they first run, read a register that cannot have been written."""
    writes = [_writes(each) for each in code]
    return [
        (at, register)
        for at, written in sorted(_written(code, writes).items())
        for register in sorted(_reads(code[at]))
        if not written >> register & 1 and not _may_be_written(code, writes, at, 1 << register)
    ]


def _written(code: list[Instruction], writes: list[int]) -> dict[int, int]:
    """For each instruction that runs, the registers that every path to it may have written."""
    before = {0: 0} if code else {}
    queue = list(before)
    while queue:
        at = queue.pop()
        after = before[at] | writes[at]
        for place in code[at].next:
            known = before.get(place, ALL_REGISTERS)
            if place not in before or known & after != known:
                before[place] = known & after
                queue.append(place)
    return before


def _may_be_written(code: list[Instruction], writes: list[int], at: int, register: int) -> bool:
    """Whether some path writes the register and then comes to ``at``, where it was not before."""
    earlier = _reachable(code, [0], without=at)
    writers = [place for place in earlier if writes[place] & register]
    return at in _reachable(code, [after for place in writers for after in code[place].next], without=None)


def _reachable(code: list[Instruction], start: list[int], without: int | None) -> set[int]:
    seen: set[int] = set()
    queue = list(start)
    while queue:
        at = queue.pop()
        if at in seen or at == without:
            continue
        seen.add(at)
        queue.extend(code[at].next)
    return seen
