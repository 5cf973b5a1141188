"""The Python part of ``tilescript import``: reads Triton files and compares emitted kernels with them.

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
from .constexpr_variants import observe_variants
from .cpu_time import in_script, measure_cpu_time
from .dataflow import difference
from .descendants import kill_descendants
from .descriptors import apply_named_blocks, blocks_of, descriptor_hint, resolve_blocks
from .given_types import error_for, format_list, pointer_depth_hint, unknown_names
from .host import first_config, grid_in_file, launch_of, tuning_of
from .modules import import_file
from .protocol import RequestError
from .ttir import Argument, Block, ObservedTypes, ttir
from .typed_tree import Trees
from .user_file import import_user_file

if TYPE_CHECKING:
    from .recording import RecordedCalls


def read_kernels(request: dict[str, Any]) -> dict[str, Any]:
    """Serves an ``import`` request: every kernel of a file, for given types or for what a script launches."""
    with kill_descendants(), block_pointers(), measure_cpu_time() as compile_time:
        kernels = _kernels(request)
    return {**kernels, "spent": compile_time.json()}


def _kernels(request: dict[str, Any]) -> dict[str, Any]:
    path = os.path.realpath(request["file"])
    if "call" in request:
        return _import_launched(path, os.path.realpath(request["call"]), request)
    from .recording import Recording, simulated_gpu

    # The top-level code may ask which GPU there is, or launch a kernel.
    with simulated_gpu(Recording()), in_script():
        module = import_user_file(path)
    kernels = {name: kernel for name, kernel in kernels_of(module, path).items() if _is_selected(name, request)}
    if not kernels:
        hint = "; it sets TRITON_INTERPRET, with which Triton makes none: remove that line" if _interprets() else ""
        known_kernels = format_list("; it has ", kernels_of(module, path))
        raise RequestError("unsupported", f"the file has no kernel{_kernel_names(request)}{hint or known_kernels}")
    unknown = unknown_names(kernels, request["types"])
    if unknown is not None:
        raise RequestError("unsupported", unknown)
    has_several = len(kernels) > 1
    return {
        "kernels": [
            _import_for_types(name, each, module, request["types"], has_several) for name, each in kernels.items()
        ]
    }


def _import_launched(path: str, script: str, request: dict[str, Any]) -> dict[str, Any]:
    """The kernels of the file that the script launches."""
    from .recording import record

    launches = record(script)
    kernel_calls = {
        kernel: calls
        for kernel, calls in launches.calls.items()
        if os.path.realpath(inspect.getsourcefile(kernel.fn) or "") == path and _is_selected(kernel.__name__, request)
    }
    if not kernel_calls:
        problem = f": it stopped, {launches.stopped}" if launches.stopped else ""
        problem += "; it sets TRITON_INTERPRET: remove that line" if _interprets() else ""
        problem = problem or format_list("; it launches ", [_with_file(kernel, path) for kernel in launches.calls])
        raise RequestError("unsupported", f"the script launches no kernel of the file{_kernel_names(request)}{problem}")
    kernels = [_import_kernel(kernel, calls) for kernel, calls in kernel_calls.items()]
    return {"kernels": kernels, **({"stopped": launches.stopped} if launches.stopped else {})}


def _with_file(kernel: JITFunction, path: str) -> str:
    kernel_path = os.path.realpath(inspect.getsourcefile(kernel.fn) or "")
    return kernel.__name__ if kernel_path == path else f"{kernel.__name__} of {kernel_path}"


def _import_kernel(kernel: JITFunction, calls: RecordedCalls) -> dict[str, Any]:
    with measure_cpu_time() as compile_time:
        read = _read(kernel.__name__, kernel, calls.arguments)
        result = {
            **read,
            "tuning": tuning_of(kernel, calls.arguments, calls.launches),
            "launch": launch_of(kernel, calls),
        }
    return {**result, "spent": compile_time.json()}


def _interprets() -> bool:
    """Triton decides it when a kernel is decorated."""
    return bool(knobs.runtime.interpret)


def _kernel_names(request: dict[str, Any]) -> str:
    return f" {', '.join(request['kernels'])}" if request["kernels"] else ""


def match(request: dict[str, Any]) -> dict[str, Any]:
    """Serves a ``match`` request: whether each call gives the emitted kernel the IR of the original."""
    with measure_cpu_time() as compile_time:
        module = import_file(request["module"])
        kernel = jit_of(getattr(module, request["jit"]))
        calls = [_match_call(kernel, call) for call in request["calls"]]
    return {"calls": calls, "spent": compile_time.json()}


def _match_call(kernel: JITFunction, call: dict[str, Any]) -> dict[str, Any]:
    order = [param.name for param in kernel.params]
    originals = call["names"]
    extra = next((name for name in order if name not in originals), None)
    if extra is not None:
        return {"kind": "differs", "original": "no such argument", "imported": f"the argument {extra}"}
    arguments = {name: _factors(call, name) for name in order}
    signature = emitted_arguments(kernel, call)
    try:
        text = ttir(kernel, signature)
    except Exception as error:
        return {"kind": "uncompiled", "reason": _last_line(error)}
    names = [
        each
        for name in order
        if signature[name].kind != "constant"
        for each in (
            _ir_names(originals[name][0], signature[name])
            if signature[name].kind == "descriptor"
            else [
                tuple(
                    original if factor.kind != "constant" else factor.value
                    for original, factor in zip(originals[name], arguments[name], strict=True)
                )
            ]
        )
    ]
    difference_found = difference(call["ttir"], _ir_arguments(call), text, names, views=call.get("views"))
    return (
        {"kind": "equal"}
        if difference_found is None
        else {"kind": "differs", "original": difference_found[0], "imported": difference_found[1]}
    )


def emitted_arguments(kernel: JITFunction, call: dict[str, Any]) -> dict[str, Argument]:
    """The arguments of an emitted kernel for a call of the original."""
    return {param.name: _product(_factors(call, param.name)) for param in kernel.params}


def _factors(call: dict[str, Any], name: str) -> list[Argument]:
    """The original's arguments whose product is an argument of the emitted kernel."""
    return [argument(call["arguments"][each]) for each in call["names"][name]]


def _ir_arguments(call: dict[str, Any]) -> list[str]:
    """The original's arguments as its IR has them."""
    return [each for name in call["runtime"] for each in _ir_names(name, argument(call["arguments"][name]))]


def _ir_names(name: str, ir_argument: Argument) -> list[str]:
    """An argument of the IR; of a descriptor also one for each of its sizes and strides."""
    if ir_argument.kind != "descriptor":
        return [name]
    rank = len(ir_argument.value.sizes)
    return [name, *(f"{name}, {field} {axis}" for field in ("size", "stride") for axis in range(rank))]


def _product(factors: list[Argument]) -> Argument:
    """The argument for a product of the original's arguments. Triton specializes an integer 1 to a constant."""
    if not factors:
        return Argument("constant", value=1)
    return factors[0] if len(factors) == 1 else Argument("scalar", "i32")


def kernels_of(module: ModuleType, path: str) -> dict[str, JITFunction]:
    """The jit functions that the file itself defines, by name."""
    kernels = {}
    for name, value in vars(module).items():
        kernel = jit_of(value)
        if kernel is not None and os.path.realpath(inspect.getsourcefile(kernel.fn) or "") == path:
            kernels[name] = kernel
    return kernels


def jit_of(value: Any) -> Any | None:
    """The jit function behind decorators."""
    while value is not None and not isinstance(value, JITFunction):
        value = getattr(value, "fn", None)
    return value


def _is_selected(name: str, request: dict[str, Any]) -> bool:
    return not request["kernels"] or name in request["kernels"]


def _import_for_types(
    name: str, kernel: JITFunction, module: ModuleType, types: dict[str, Any], has_others: bool
) -> dict[str, Any]:
    error_text = error_for(kernel, types, has_others)
    if error_text is not None:
        return {**_head(name, kernel), "refused": error_text}
    config_values = first_config(kernel)
    with measure_cpu_time() as compile_time:
        try:
            signature = resolve_blocks(
                {param.name: _param_argument(param, types, config_values, module) for param in kernel.params},
                config_values,
            )
        except RequestError as error:
            return {**_head(name, kernel), "refused": str(error)}
        result: dict[str, Any] = {
            **_read(name, kernel, [signature]),
            "tuning": tuning_of(kernel, [signature], []),
            "fileGrid": grid_in_file(kernel),
        }
        if "blocks" in result:
            result["blocks"] = apply_named_blocks(result["blocks"], types)
        if "refused" in result:
            result["refused"] += pointer_depth_hint(kernel, signature) or descriptor_hint(result["refused"])
    return {**result, "spent": compile_time.json()}


def _head(name: str, kernel: JITFunction) -> dict[str, Any]:
    return {"name": name, "line": getattr(kernel, "def_file_line_number", 1)}


def _read(name: str, kernel: JITFunction, signatures: list[dict[str, Argument]]) -> dict[str, Any]:
    """A kernel's trees, and its IR for each call that Triton compiles."""
    observed = ObservedTypes()
    compiled: list[tuple[dict[str, Argument], str]] = []
    refusal: dict[str, Any] = {"refused": "it is not called"}
    for signature in signatures:
        unsupported = next((argument for argument in signature.values() if argument.kind == "other"), None)
        if unsupported is not None:
            refusal = {"refused": f"an argument is a {unsupported.value}"}
            continue
        observed.call = len(compiled)
        try:
            compiled.append((signature, ttir(kernel, signature, observed)))
        except Exception as error:
            refusal = _compile_error(kernel, error)
    if not compiled:
        return {**_head(name, kernel), **refusal}
    observed.call = -1
    observe_variants(kernel, compiled[0][0], observed)
    trees = Trees(observed)
    functions = trees.trees_of(kernel)
    calls = [
        {"arguments": {each: trees.argument_json(value) for each, value in signature.items()}, "ttir": text}
        for signature, text in compiled
    ]
    try:
        blocks = blocks_of(kernel, [signature for signature, _ in compiled])
    except RequestError as error:
        return {**_head(name, kernel), "refused": str(error)}
    return {**_head(name, kernel), "functions": functions, "calls": calls, **({"blocks": blocks} if blocks else {})}


def _compile_error(kernel: JITFunction, error: Exception) -> dict[str, Any]:
    """Why Triton does not compile a kernel, with the line of the kernel's file."""
    refused: dict[str, Any] = {"refused": f"Triton does not compile it: {_last_line(error)}"}
    line = getattr(getattr(error, "node", None), "lineno", None)
    if isinstance(error, CompilationError) and isinstance(line, int):
        # Triton's source of a function starts at its `def`.
        refused["line"] = _head("", kernel)["line"] + line - 1
    return refused


def _param_argument(param: Any, types: dict[str, Any], config_values: dict[str, Any], module: ModuleType) -> Argument:
    if param.name not in types:
        return Argument("constant", value=config_values.get(param.name, param.default))
    parsed = argument(types[param.name])
    if not isinstance(parsed.value, str) or not parsed.value.startswith("@"):
        return parsed
    helper = jit_of(getattr(module, parsed.value[1:], None))
    if helper is None:
        functions = format_list(
            "; it has ", [each for each, value in vars(module).items() if jit_of(value) is not None]
        )
        raise RequestError(
            "unsupported", f"--types: the file has no @triton.jit function {parsed.value[1:]}{functions}"
        )
    return Argument("constant", value=helper)


def argument(description: dict[str, Any]) -> Argument:
    """An argument as requests have it."""
    if description["kind"] == "constant":
        return Argument("constant", value=_constant(description["value"]))
    if description["kind"] == "descriptor":
        block = Block(tuple(description["block"]), description.get("padding", "zero"))
        return Argument("descriptor", description["dtype"], block)
    return Argument(description["kind"], description["dtype"])


def _constant(description: dict[str, Any]) -> Any:
    if description["what"] == "dtype":
        return tl.dtype(description["dtype"])
    if description["what"] == "list":
        return tuple(_constant(item) for item in description["items"])
    if description["what"] == "helper":
        raise RequestError("unsupported", "a function as a constant")
    if description["what"] != "constant":
        raise RequestError("unsupported", f"a constant that is a {description['what']}")
    value, kind = description["value"], description["of"]
    return {"NoneType": lambda _: None, "bool": bool, "int": int, "float": float, "str": str}[kind](value)


def _last_line(error: BaseException) -> str:
    """The last line of Triton's message, from the innermost cause."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line for line in str(error).strip().splitlines() if line.strip()]
    if lines and lines[-1].strip() == "^":
        # The code alone, with a mark below it: an assertion without a message, such as Python's or tl.static_assert's.
        return f"{type(error).__name__} at `{lines[-2].strip() if len(lines) > 1 else ''}`"
    return lines[-1].strip() if lines else type(error).__name__
