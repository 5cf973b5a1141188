"""The Python half of ``tilescript import``: what a Triton file has, and whether emitted kernels are the same.

Nothing of the user's project is changed, and no kernel runs.
"""

from __future__ import annotations

import inspect
import os
from types import ModuleType
from typing import TYPE_CHECKING, Any

import triton.language as tl
from triton import knobs
from triton.compiler.errors import CompilationError
from triton.runtime.jit import JITFunction

from .block_pointers import block_pointers
from .dataflow import difference
from .descendants import none_left
from .descriptors import blocks_of, instead_of_pointer, named_blocks, with_blocks
from .given_types import listed, refusal, stars, unknown_names
from .host import first_config, launch_of, tuning_of
from .modules import import_file
from .constexpr_variants import observe_others
from .protocol import RequestError
from .cpu_time import in_script, measured
from .ttir import Argument, Block, Observed, ttir
from .typed_tree import Trees
from .user_file import import_user_file

if TYPE_CHECKING:
    from .recording import Calls


def read_kernels(request: dict[str, Any]) -> dict[str, Any]:
    """Serves an ``import`` request: every kernel of a file, for given types or for what a script launches."""
    with none_left(), block_pointers(), measured() as spent:
        kernels = _kernels(request)
    return {**kernels, "spent": spent.json()}


def _kernels(request: dict[str, Any]) -> dict[str, Any]:
    path = os.path.realpath(request["file"])
    if "call" in request:
        return _launched(path, os.path.realpath(request["call"]), request)
    with in_script():
        module = import_user_file(path)
    found = {name: kernel for name, kernel in kernels_of(module, path).items() if _is_wanted(name, request)}
    if not found:
        why = "; it sets TRITON_INTERPRET, with which Triton makes none: remove that line" if _interprets() else ""
        others = listed("; it has ", kernels_of(module, path))
        raise RequestError("unsupported", f"the file has no kernel{_named(request)}{why or others}")
    unknown = unknown_names(found, request["types"])
    if unknown is not None:
        raise RequestError("unsupported", unknown)
    several = len(found) > 1
    return {"kernels": [_for_types(name, each, module, request["types"], several) for name, each in found.items()]}


def _launched(path: str, script: str, request: dict[str, Any]) -> dict[str, Any]:
    """The kernels of the file that the script launches."""
    from .recording import record

    launches = record(script)
    own = {
        kernel: calls
        for kernel, calls in launches.calls.items()
        if os.path.realpath(inspect.getsourcefile(kernel.fn) or "") == path and _is_wanted(kernel.__name__, request)
    }
    if not own:
        why = f": it stopped, {launches.stopped}" if launches.stopped else ""
        why += "; it sets TRITON_INTERPRET: remove that line" if _interprets() else ""
        why = why or listed("; it launches ", [_with_file(kernel, path) for kernel in launches.calls])
        raise RequestError("unsupported", f"the script launches no kernel of the file{_named(request)}{why}")
    kernels = [_as_launched(kernel, calls) for kernel, calls in own.items()]
    return {"kernels": kernels, **({"stopped": launches.stopped} if launches.stopped else {})}


def _with_file(kernel: JITFunction, path: str) -> str:
    own = os.path.realpath(inspect.getsourcefile(kernel.fn) or "")
    return kernel.__name__ if own == path else f"{kernel.__name__} of {own}"


def _as_launched(kernel: JITFunction, calls: Calls) -> dict[str, Any]:
    with measured() as spent:
        read = _read(kernel.__name__, kernel, calls.arguments)
        found = {**read, "tuning": tuning_of(kernel, calls.launched), "launch": launch_of(kernel, calls)}
    return {**found, "spent": spent.json()}


def _interprets() -> bool:
    """Triton decides it when a kernel is decorated."""
    return bool(knobs.runtime.interpret)


def _named(request: dict[str, Any]) -> str:
    return f" {', '.join(request['kernels'])}" if request["kernels"] else ""


def match(request: dict[str, Any]) -> dict[str, Any]:
    """Serves a ``match`` request: whether each call gives the emitted kernel the IR of the original."""
    with measured() as spent:
        module = import_file(request["module"])
        kernel = jit_of(getattr(module, request["jit"]))
        calls = [_matched(kernel, call) for call in request["calls"]]
    return {"calls": calls, "spent": spent.json()}


def _matched(kernel: JITFunction, call: dict[str, Any]) -> dict[str, Any]:
    order = [param.name for param in kernel.params]
    originals = call["names"]
    more = next((name for name in order if name not in originals), None)
    if more is not None:
        return {"kind": "differs", "original": "no such argument", "imported": f"the argument {more}"}
    given = {name: [argument(call["arguments"][each]) for each in originals[name]] for name in order}
    signature = {name: _product(factors) for name, factors in given.items()}
    try:
        text = ttir(kernel, signature)
    except Exception as error:
        return {"kind": "uncompiled", "reason": _last_line(error)}
    names = [
        each
        for name in order
        if signature[name].kind != "constant"
        for each in (
            _parts(originals[name][0], signature[name])
            if signature[name].kind == "descriptor"
            else [
                tuple(
                    original if factor.kind != "constant" else factor.value
                    for original, factor in zip(originals[name], given[name], strict=True)
                )
            ]
        )
    ]
    apart = difference(call["ttir"], _of_ir(call), text, names, views=call.get("views"))
    return {"kind": "equal"} if apart is None else {"kind": "differs", "original": apart[0], "imported": apart[1]}


def _of_ir(call: dict[str, Any]) -> list[str]:
    """The original's arguments as its IR has them."""
    return [each for name in call["runtime"] for each in _parts(name, argument(call["arguments"][name]))]


def _parts(name: str, given: Argument) -> list[str]:
    """An argument of the IR; of a descriptor also one for each of its sizes and strides."""
    if given.kind != "descriptor":
        return [name]
    rank = len(given.value.sizes)
    return [name, *(f"{name}, {part} {axis}" for part in ("size", "stride") for axis in range(rank))]


def _product(factors: list[Argument]) -> Argument:
    """What Triton compiles for an argument of which the original has the factors. It makes a constant of a 1."""
    if not factors:
        return Argument("constant", value=1)
    return factors[0] if len(factors) == 1 else Argument("scalar", "i32")


def kernels_of(module: ModuleType, path: str) -> dict[str, JITFunction]:
    """The jit functions that the file itself defines, by name, but for those that only others call."""
    own = {}
    for name, value in vars(module).items():
        kernel = jit_of(value)
        if kernel is not None and os.path.realpath(inspect.getsourcefile(kernel.fn) or "") == path:
            own[name] = kernel
    return own


def jit_of(value: Any) -> Any | None:
    """The jit function behind decorators."""
    while value is not None and not isinstance(value, JITFunction):
        value = getattr(value, "fn", None)
    return value


def _is_wanted(name: str, request: dict[str, Any]) -> bool:
    return not request["kernels"] or name in request["kernels"]


def _for_types(
    name: str, kernel: JITFunction, module: ModuleType, types: dict[str, Any], others: bool
) -> dict[str, Any]:
    said = refusal(kernel, types, others)
    if said is not None:
        return {**_head(name, kernel), "refused": said}
    tuned = first_config(kernel)
    with measured() as spent:
        try:
            given = with_blocks({param.name: _given(param, types, tuned, module) for param in kernel.params}, tuned)
        except RequestError as error:
            return {**_head(name, kernel), "refused": str(error)}
        found = {**_read(name, kernel, [given]), "tuning": tuning_of(kernel, [])}
        if "blocks" in found:
            found["blocks"] = named_blocks(found["blocks"], types)
        if "refused" in found:
            found["refused"] += stars(kernel, given) or instead_of_pointer(found["refused"])
    return {**found, "spent": spent.json()}


def _head(name: str, kernel: JITFunction) -> dict[str, Any]:
    return {"name": name, "line": getattr(kernel, "def_file_line_number", 1)}


def _read(name: str, kernel: JITFunction, signatures: list[dict[str, Argument]]) -> dict[str, Any]:
    """A kernel's trees, and its IR for each call that Triton compiles."""
    observed = Observed()
    compiled: list[tuple[dict[str, Argument], str]] = []
    refused: dict[str, Any] = {"refused": "it is not called"}
    for signature in signatures:
        other = next((argument for argument in signature.values() if argument.kind == "other"), None)
        if other is not None:
            refused = {"refused": f"an argument is a {other.value}"}
            continue
        observed.call = len(compiled)
        try:
            compiled.append((signature, ttir(kernel, signature, observed)))
        except Exception as error:
            refused = _refusal(kernel, error)
    if not compiled:
        return {**_head(name, kernel), **refused}
    observed.call = -1
    observe_others(kernel, compiled[0][0], observed)
    trees = Trees(observed)
    functions = trees.of(kernel)
    calls = [
        {"arguments": {each: trees.shown(value) for each, value in signature.items()}, "ttir": text}
        for signature, text in compiled
    ]
    try:
        blocks = blocks_of(kernel, [signature for signature, _ in compiled])
    except RequestError as error:
        return {**_head(name, kernel), "refused": str(error)}
    return {**_head(name, kernel), "functions": functions, "calls": calls, **({"blocks": blocks} if blocks else {})}


def _refusal(kernel: JITFunction, error: Exception) -> dict[str, Any]:
    """Why Triton does not compile a kernel, with the line of the kernel's file."""
    refused: dict[str, Any] = {"refused": f"Triton does not compile it: {_last_line(error)}"}
    node = getattr(error, "node", None)
    if isinstance(error, CompilationError) and hasattr(node, "lineno"):
        # Triton's source of a function starts at its `def`.
        refused["line"] = _head("", kernel)["line"] + node.lineno - 1
    return refused


def _given(param: Any, types: dict[str, Any], tuned: dict[str, Any], module: ModuleType) -> Argument:
    if param.name not in types:
        return Argument("constant", value=tuned.get(param.name, param.default))
    given = argument(types[param.name])
    if not isinstance(given.value, str) or not given.value.startswith("@"):
        return given
    named = jit_of(getattr(module, given.value[1:], None))
    if named is None:
        functions = listed("; it has ", [each for each, value in vars(module).items() if jit_of(value) is not None])
        raise RequestError("unsupported", f"--types: the file has no @triton.jit function {given.value[1:]}{functions}")
    return Argument("constant", value=named)


def argument(given: dict[str, Any]) -> Argument:
    """An argument as requests have it."""
    if given["kind"] == "constant":
        return Argument("constant", value=_constant(given["value"]))
    if given["kind"] == "descriptor":
        block = Block(tuple(given["block"]), given.get("padding", "zero"))
        return Argument("descriptor", given["dtype"], block)
    return Argument(given["kind"], given["dtype"])


def _constant(known: dict[str, Any]) -> Any:
    if known["what"] == "dtype":
        return tl.dtype(known["dtype"])
    if known["what"] == "list":
        return tuple(_constant(item) for item in known["items"])
    if known["what"] == "helper":
        raise RequestError("unsupported", "a function as a constant")
    if known["what"] != "constant":
        raise RequestError("unsupported", f"a constant that is a {known['what']}")
    value, kind = known["value"], known["of"]
    return {"NoneType": lambda _: None, "bool": bool, "int": int, "float": float, "str": str}[kind](value)


def _last_line(error: BaseException) -> str:
    """What Triton says at the end of its message, with the innermost reason."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line for line in str(error).strip().splitlines() if line.strip()]
    if lines and lines[-1].strip() == "^":
        # The code alone, with a mark below it: an assertion without a message, such as Python's or tl.static_assert's.
        return f"{type(error).__name__} at `{lines[-2].strip() if len(lines) > 1 else ''}`"
    return lines[-1].strip() if lines else type(error).__name__
