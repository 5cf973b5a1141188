"""A kernel as Triton's IR, from the types of its arguments and without a GPU.

While Triton generates the IR, an observer may note the type that it gives each expression of the author's Python.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import triton.language as tl
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.compiler.code_generator import CodeGenerator
from triton.compiler.compiler import make_backend

from .cpu_time import in_triton

# The front end is the same for every GPU but for questions about the target.
TARGET = GPUTarget("cuda", 90, 32)

Types = list[dict[str, Any]]
# An expression: its function, and where it stands in the function's own source.
Place = tuple[int, int, int, int, int]


@dataclass(frozen=True)
class Block:
    """What a tensor descriptor moves at once, and what it reads outside of its tensor."""

    sizes: tuple[Any, ...]
    padding: str = "zero"


@dataclass(frozen=True)
class Argument:
    """What a launch passes: a pointer, a descriptor or a number of a dtype, a tuple of those, or a constant."""

    kind: str
    dtype: str = ""
    value: Any = None

    @property
    def type(self) -> Any:
        """As Triton's signatures have it."""
        if self.kind == "tuple":
            return tuple(item.type for item in self.value)
        if self.kind == "descriptor":
            return f"tensordesc<{self.dtype}[{', '.join(str(size) for size in self.value.sizes)}]>"
        return {"pointer": f"*{self.dtype}", "scalar": self.dtype}.get(self.kind, "constexpr")


@dataclass
class Observed:
    """The types of every expression that Triton has visited, in every function."""

    types: dict[Place, Types] = field(default_factory=dict)
    # The number of the call that is compiled, which a type notes; -1 for one that nobody made.
    call: int = 0

    def note(self, function: Any, node: ast.AST, value: Any) -> None:
        is_own = not function.__module__.startswith("triton.")
        # What Triton makes itself, such as the targets of defaults, stands nowhere.
        if not is_own or not isinstance(node, ast.expr) or "lineno" not in vars(node):
            return
        known = self.types.setdefault(place_of(function, node), [])
        described = describe(value)
        for each in known:
            if {name: part for name, part in each.items() if name != "calls"} == described:
                if self.call not in each["calls"]:
                    each["calls"].append(self.call)
                return
        known.append({**described, "calls": [self.call]})


def place_of(function: Any, node: Any) -> Place:
    return (id(function), node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)


def ttir(function: Any, signature: Mapping[str, Argument], observed: Observed | None = None) -> str:
    """The text of the IR after Triton's own clean-up, without locations.

    Raises what Triton raises for a kernel that it cannot compile.
    """
    backend = make_backend(TARGET)
    options = backend.parse_options({})
    context = ir.context()
    with in_triton():
        module = _generated(function, signature, observed, backend, context)
        metadata = {"num_warps": options.num_warps, "num_ctas": 1, "target": TARGET, "shared": 0}
        return backend.make_ttir(module, metadata, options, 90).str_nodebug()


def observe(function: Any, signature: Mapping[str, Argument], observed: Observed) -> None:
    """Notes the types of what Triton compiles, up to where it refuses the kernel."""
    try:
        with in_triton():
            _generated(function, signature, observed, make_backend(TARGET), ir.context())
    except Exception:
        # Not every combination of constants is a kernel.
        return


def _generated(
    function: Any, signature: Mapping[str, Argument], observed: Observed | None, backend: Any, context: Any
) -> Any:
    """What Triton's front end makes of a kernel."""
    options = backend.parse_options({})
    source = ASTSource(function, {name: argument.type for name, argument in signature.items()}, constants(signature))
    ir.load_dialects(context)
    backend.load_dialects(context)
    codegen = backend.get_codegen_implementation(options)
    with _watched(observed):
        return source.make_ir(TARGET, options, codegen, backend.get_module_map(), context)


def constants(signature: Mapping[str, Argument]) -> dict[Any, Any]:
    """The constants of a signature, by name; those inside of tuples by place."""
    found: dict[Any, Any] = {}
    for position, (name, argument) in enumerate(signature.items()):
        if argument.kind == "constant":
            found[name] = argument.value
        if argument.kind == "tuple":
            found |= {(position, i): item.value for i, item in enumerate(argument.value) if item.kind == "constant"}
    return found


@contextmanager
def _watched(observed: Observed | None) -> Iterator[None]:
    if observed is None:
        yield
        return
    visit = CodeGenerator.visit

    def watching(self: Any, node: ast.AST) -> Any:
        value = visit(self, node)
        observed.note(self.jit_fn, node, value)
        return value

    CodeGenerator.visit = watching
    try:
        yield
    finally:
        CodeGenerator.visit = visit


def describe(value: Any) -> dict[str, Any]:
    """The type of a value of Triton's front end, as JSON."""
    while isinstance(value, tl.constexpr):
        value = value.value
    if isinstance(value, tl.dtype):
        return {"kind": "dtype", "dtype": value.name} if value.is_ptr() is False else {"kind": "other", "name": "type"}
    if value is None or isinstance(value, bool | int | float | str):
        return {"kind": "constant", "of": type(value).__name__, "value": constant(value)}
    if isinstance(value, tl.tensor):
        element = value.type.scalar
        shape = [int(size) for size in value.shape]
        if element.is_ptr():
            return {"kind": "pointer", "dtype": str(element.element_ty), "shape": shape}
        return {"kind": "tile", "dtype": element.name, "shape": shape}
    if isinstance(value, tl.tuple | tuple | list):
        return {"kind": "tuple", "items": [describe(item) for item in value]}
    if isinstance(value, tl.core.tensor_descriptor_base):
        return {"kind": "descriptor", "dtype": value.dtype.name}
    return {"kind": "other", "name": type(value).__name__}


def constant(value: Any) -> Any:
    """JSON has no infinities, and JavaScript no exact integers beyond 2^53."""
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 2**53:
        return str(value)
    return value
