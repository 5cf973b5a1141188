"""A kernel as Triton's IR, from the types of its arguments and without a GPU.

While Triton generates the IR, an observer may record the inferred type of each expression in the author's Python.
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

# The front end gives the same IR for every GPU, except for target queries.
TARGET = GPUTarget("cuda", 90, 32)

Types = list[dict[str, Any]]
# Key of an expression: its function, and its position in the function's source.
ExpressionKey = tuple[int, int, int, int, int]


@dataclass(frozen=True)
class Block:
    """The block shape of a tensor descriptor, and its padding outside of the tensor."""

    sizes: tuple[Any, ...]
    padding: str = "zero"


@dataclass(frozen=True)
class Argument:
    """An argument of a launch: a pointer, a descriptor, a number, a tuple of those, or a constant."""

    kind: str
    dtype: str = ""
    value: Any = None

    @property
    def type(self) -> Any:
        """The type in Triton's signature."""
        if self.kind == "tuple":
            return tuple(item.type for item in self.value)
        if self.kind == "descriptor":
            return f"tensordesc<{self.dtype}[{', '.join(str(size) for size in self.value.sizes)}]>"
        return {"pointer": f"*{self.dtype}", "scalar": self.dtype}.get(self.kind, "constexpr")


@dataclass
class ObservedTypes:
    """The types of every expression that Triton has visited, by expression."""

    types: dict[ExpressionKey, Types] = field(default_factory=dict)
    # Index of the compiled call, which is stored with each type; -1 for a variant that no caller passes.
    call: int = 0

    def record(self, function: Any, node: ast.AST, value: Any) -> None:
        is_own = not function.__module__.startswith("triton.")
        # Nodes that Triton creates, such as the targets of defaults, have no position.
        if not is_own or not isinstance(node, ast.expr) or "lineno" not in vars(node):
            return
        types = self.types.setdefault(expression_key(function, node), [])
        described_type = describe_type(value)
        for each in types:
            if {name: field for name, field in each.items() if name != "calls"} == described_type:
                if self.call not in each["calls"]:
                    each["calls"].append(self.call)
                return
        types.append({**described_type, "calls": [self.call]})


def expression_key(function: Any, node: Any) -> ExpressionKey:
    return (id(function), node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)


def ttir(function: Any, signature: Mapping[str, Argument], observed: ObservedTypes | None = None) -> str:
    """The text of the IR after Triton's own clean-up, without locations.

    Raises what Triton raises for a kernel that it cannot compile.
    """
    backend = make_backend(TARGET)
    options = backend.parse_options({})
    context = ir.context()
    with in_triton():
        module = _generate_ir(function, signature, observed, backend, context)
        metadata = {"num_warps": options.num_warps, "num_ctas": 1, "target": TARGET, "shared": 0}
        return backend.make_ttir(module, metadata, options, 90).str_nodebug()


def observe(function: Any, signature: Mapping[str, Argument], observed: ObservedTypes) -> None:
    """Records the types of a compilation, up to an error."""
    try:
        with in_triton():
            _generate_ir(function, signature, observed, make_backend(TARGET), ir.context())
    except Exception:
        # Some combinations of constants do not compile.
        return


def _generate_ir(
    function: Any, signature: Mapping[str, Argument], observed: ObservedTypes | None, backend: Any, context: Any
) -> Any:
    """The output of Triton's front end."""
    options = backend.parse_options({})
    source = ASTSource(function, {name: argument.type for name, argument in signature.items()}, constants(signature))
    ir.load_dialects(context)
    backend.load_dialects(context)
    codegen = backend.get_codegen_implementation(options)
    with _observe_visits(observed):
        return source.make_ir(TARGET, options, codegen, backend.get_module_map(), context)


def constants(signature: Mapping[str, Argument]) -> dict[Any, Any]:
    """The constants of a signature by name; those in tuples by index."""
    values: dict[Any, Any] = {}
    for position, (name, argument) in enumerate(signature.items()):
        if argument.kind == "constant":
            values[name] = argument.value
        if argument.kind == "tuple":
            values |= {(position, i): item.value for i, item in enumerate(argument.value) if item.kind == "constant"}
    return values


@contextmanager
def _observe_visits(observed: ObservedTypes | None) -> Iterator[None]:
    if observed is None:
        yield
        return
    visit = CodeGenerator.visit

    def observing_visit(self: Any, node: ast.AST) -> Any:
        value = visit(self, node)
        observed.record(self.jit_fn, node, value)
        return value

    CodeGenerator.visit = observing_visit
    try:
        yield
    finally:
        CodeGenerator.visit = visit


def describe_type(value: Any) -> dict[str, Any]:
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
        return {"kind": "tuple", "items": [describe_type(item) for item in value]}
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
