"""A ``@triton.jit`` function as JSON: its syntax tree, resolved names, and the types that Triton inferred."""

from __future__ import annotations

import ast
import builtins
import inspect
import io
import tokenize
from collections.abc import Callable
from types import ModuleType
from typing import Any

import triton
import triton.language as tl
from triton.runtime.jit import JITFunction

from .ttir import Argument, ObservedTypes, constant, expression_key

# Python builtins that the importer translates.
BUILTINS = {"range", "min", "max", "len", "float", "int", "abs", "print", "isinstance", "tuple", "list", "bool", "zip"}

# The nodes that src/import/tree.ts declares by their names; the importer refuses the others.
_SUPPORTED = {
    *("AnnAssign", "Assert", "Assign", "AugAssign", "Expr", "For", "If", "Pass", "Return", "While"),
    *("Attribute", "BinOp", "BoolOp", "Call", "Compare", "Constant", "IfExp", "JoinedStr", "List", "Name"),
    *("Slice", "Subscript", "Tuple", "UnaryOp"),
}


class Trees:
    """The trees of a kernel and of the helper functions that it reaches."""

    def __init__(self, observed: ObservedTypes) -> None:
        self._observed = observed
        self._functions: list[Any] = []

    def trees_of(self, kernel: Any) -> list[dict[str, Any]]:
        """The kernel's tree first, then those of its helper functions, by the numbers that calls have."""
        self._number(kernel)
        trees = []
        # Each tree may reach further functions.
        for function in self._functions:
            trees.append(_Tree(function, self._observed, self._number).json())
        return trees

    def argument_json(self, argument: Argument) -> dict[str, Any]:
        """An argument of a call, as JSON."""
        if argument.kind == "constant":
            return {"kind": "constant", "value": describe_object(argument.value, self._number)}
        if argument.kind == "descriptor":
            block = argument.value
            return {"kind": "descriptor", "dtype": argument.dtype, "block": block.sizes, "padding": block.padding}
        return {"kind": argument.kind, "dtype": argument.dtype}

    def _number(self, function: Any) -> int:
        if function not in self._functions:
            self._functions.append(function)
        return self._functions.index(function)


class _Tree:
    def __init__(self, function: Any, observed: ObservedTypes, number: Callable[[Any], int]) -> None:
        self._function = function
        self._observed = observed
        self._number = number
        self._definition = function.parse().body[0]
        self._locals = _local_names(self._definition)
        scope = inspect.getclosurevars(function.fn)
        self._scope = {**function.fn.__globals__, **scope.nonlocals}

    def json(self) -> dict[str, Any]:
        function, definition = self._function, self._definition
        body = list(definition.body)
        doc = ast.get_docstring(definition)
        if doc is not None:
            body = body[1:]
        return {
            "name": function.__name__,
            "line": function.def_file_line_number if hasattr(function, "def_file_line_number") else 1,
            "params": [self._param(param) for param in function.params],
            "noinline": bool(function.noinline),
            **({"doc": doc} if doc is not None else {}),
            "body": [self._node(statement) for statement in body],
            **_comment_layout(function.src, _end_of_head(definition)),
        }

    def _param(self, param: Any) -> dict[str, Any]:
        result = {"name": param.name, "constexpr": bool(param.is_constexpr)}
        return {**result, "default": describe_object(param.default, self._number)} if param.has_default else result

    def _node(self, node: Any) -> Any:
        if isinstance(node, list):
            return [self._node(each) for each in node]
        if not isinstance(node, ast.AST):
            return node
        line = getattr(node, "lineno", None)
        if line is None or isinstance(node, ast.keyword):
            return self._fields(node) if isinstance(node, ast.keyword | ast.comprehension) else type(node).__name__
        end = getattr(node, "end_lineno", None)
        name = type(node).__name__
        kind = {"kind": name} if name in _SUPPORTED else {"kind": "Unsupported", "construct": name}
        result = {**kind, "line": line, "end": end, **self._fields(node)}
        if isinstance(node, ast.AugAssign):
            # Triton visits a new BinOp at the same position, so its type is recorded there.
            result["types"] = self._observed.types.get(expression_key(self._function, node), [])
        if not isinstance(node, ast.expr):
            return result
        if isinstance(node, ast.Constant):
            result |= {"value": constant(node.value), "of": type(node.value).__name__}
        result["types"] = self._observed.types.get(expression_key(self._function, node), [])
        is_resolved, value = self._resolve(node)
        if is_resolved:
            result["known"] = describe_object(value, self._number)
        if isinstance(node, ast.Call):
            result |= self._call(node)
        return result

    def _fields(self, node: ast.AST) -> dict[str, Any]:
        skipped_fields = {"ctx", "type_comment", "kind", "type_params"}
        return {name: self._node(value) for name, value in ast.iter_fields(node) if name not in skipped_fields}

    def _resolve(self, node: ast.AST) -> tuple[bool, Any]:
        """The global object that a name or a chain of attributes refers to."""
        if isinstance(node, ast.Name):
            if node.id in self._locals:
                return False, None
            if node.id in self._scope:
                return True, self._scope[node.id]
            return (True, getattr(builtins, node.id)) if node.id in BUILTINS else (False, None)
        if isinstance(node, ast.Attribute):
            is_resolved, base = self._resolve(node.value)
            if is_resolved and isinstance(base, ModuleType | type | tl.dtype) and hasattr(base, node.attr):
                return True, getattr(base, node.attr)
        return False, None

    def _call(self, node: ast.Call) -> dict[str, Any]:
        """The callee, and the arguments by parameter name."""
        is_resolved, callee = self._resolve(node.func)
        receiver: list[ast.expr] = []
        if not is_resolved and isinstance(node.func, ast.Attribute):
            kinds = {
                each["kind"] for each in self._observed.types.get(expression_key(self._function, node.func.value), [])
            }
            owner = tl.tensor if kinds & {"tile", "pointer"} or kinds == {"constant"} else None
            callee = getattr(owner, node.func.attr, None) if owner else None
            receiver = [node.func.value]
        if callee is None:
            return {}
        parameters = _parameters(callee)
        if parameters is None or any(isinstance(arg, ast.Starred) for arg in node.args):
            return {"callee": describe_object(callee, self._number)}
        try:
            bound = inspect.Signature(parameters).bind(
                *receiver, *node.args, **{keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
            )
        except TypeError:
            return {"callee": describe_object(callee, self._number)}
        named_arguments = {}
        for name, argument in bound.arguments.items():
            default = bound.signature.parameters[name].default
            if (
                isinstance(argument, ast.Constant)
                and type(argument.value) is type(default)
                and argument.value == default
            ):
                continue
            named_arguments[name] = (
                [self._node(each) for each in argument] if isinstance(argument, tuple) else self._node(argument)
            )
        names = [parameter.name for parameter in parameters]
        return {"callee": describe_object(callee, self._number), "bound": named_arguments, "parameters": names}


def describe_object(value: Any, number: Callable[[Any], int]) -> dict[str, Any]:
    """A global object as JSON. ``number`` returns the index of a helper function."""
    while isinstance(value, tl.constexpr):
        value = value.value
    if value is None or isinstance(value, bool | int | float | str):
        return {"what": "constant", "of": type(value).__name__, "value": constant(value)}
    if isinstance(value, tl.dtype):
        return {"what": "dtype", "dtype": value.name}
    if isinstance(value, JITFunction) and not value.__module__.startswith("triton."):
        return {"what": "helper", "number": number(value), "name": value.__name__}
    if isinstance(value, tuple | list):
        return {"what": "list", "items": [describe_object(item, number) for item in value]}
    if isinstance(value, ModuleType):
        return {"what": "module"}
    if callable(value):
        return {"what": "function", "name": _name_of(value)}
    return {"what": "other", "name": type(value).__name__}


def _parameters(callee: Any) -> list[inspect.Parameter] | None:
    if isinstance(callee, JITFunction):
        return list(callee.signature.parameters.values())
    try:
        signature = inspect.signature(getattr(callee, "fn", callee))
    except (TypeError, ValueError):
        return None
    return [each for each in signature.parameters.values() if not each.name.startswith("_")]


def _name_of(function: Any) -> str:
    """The documented name of a Triton function: ``tl.exp``, ``libdevice.tanh``, ``triton.cdiv``."""
    name, module = getattr(function, "__name__", ""), getattr(function, "__module__", "") or ""
    if module == "builtins" or name in ("builtin_min", "builtin_max"):
        return name.removeprefix("builtin_")
    if "libdevice" in module:
        return f"libdevice.{name}"
    for namespace, prefix in ((tl, "tl"), (tl.tensor, "tl"), (triton, "triton")):
        if getattr(namespace, name, None) is function:
            return f"{prefix}.{name}"
    # Methods of tensors are unnamed wrappers.
    for method, wrapper in vars(tl.tensor).items():
        if wrapper is function:
            return f"tl.{method}"
    if module.startswith("triton.language.extra."):
        return f"tl.extra.{module.split('.')[3]}.{name}"
    return f"{module.replace('triton.language', 'tl', 1)}.{name}"


def _local_names(definition: ast.FunctionDef) -> set[str]:
    names = {arg.arg for arg in ast.walk(definition.args) if isinstance(arg, ast.arg)}
    return names | {
        node.id for node in ast.walk(definition) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def _end_of_head(definition: ast.FunctionDef) -> int:
    """The last line of a function's parameters."""
    nodes = [*ast.walk(definition.args), definition.returns]
    ends = [getattr(node, "end_lineno", None) for node in nodes]
    return max([definition.lineno, *(end for end in ends if end is not None)])


def _comment_layout(source: str, head: int) -> dict[str, Any]:
    """The comments of a function's body by line, with ``own`` for comments on a separate line, and the blank lines."""
    lines = source.splitlines()
    comments = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT and token.start[0] > head:
                row = token.start[0]
                is_own_line = lines[row - 1].lstrip().startswith("#")
                comments.append({"line": row, "text": token.string.lstrip("#").strip(), "own": is_own_line})
    except (tokenize.TokenError, IndentationError):
        comments = []
    return {"comments": comments, "blank": [row for row, line in enumerate(lines, 1) if not line.strip()]}
