"""A ``@triton.jit`` function as JSON: its syntax tree, what each name stands for, and the types that Triton found."""

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

from .ttir import Argument, Observed, constant, place_of

# What the translation knows of Python's builtins.
BUILTINS = {"range", "min", "max", "len", "float", "int", "abs", "print", "isinstance", "tuple", "list", "bool", "zip"}


class Trees:
    """The trees of a kernel and of the helper functions that it reaches."""

    def __init__(self, observed: Observed) -> None:
        self._observed = observed
        self._functions: list[Any] = []

    def of(self, kernel: Any) -> list[dict[str, Any]]:
        """The kernel's tree first, then those of its helper functions, by the numbers that calls have."""
        self._number(kernel)
        trees = []
        # Each tree may reach further functions.
        for function in self._functions:
            trees.append(_Tree(function, self._observed, self._number).json())
        return trees

    def shown(self, argument: Argument) -> dict[str, Any]:
        """An argument of a call, as JSON."""
        if argument.kind == "constant":
            return {"kind": "constant", "value": known(argument.value, self._number)}
        if argument.kind == "descriptor":
            block = argument.value
            return {"kind": "descriptor", "dtype": argument.dtype, "block": block.sizes, "padding": block.padding}
        return {"kind": argument.kind, "dtype": argument.dtype}

    def _number(self, function: Any) -> int:
        if function not in self._functions:
            self._functions.append(function)
        return self._functions.index(function)


class _Tree:
    def __init__(self, function: Any, observed: Observed, number: Callable[[Any], int]) -> None:
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
            **_layout(function.src, _end_of_head(definition)),
        }

    def _param(self, param: Any) -> dict[str, Any]:
        said = {"name": param.name, "constexpr": bool(param.is_constexpr)}
        return {**said, "default": known(param.default, self._number)} if param.has_default else said

    def _node(self, node: Any) -> Any:
        if isinstance(node, list):
            return [self._node(each) for each in node]
        if not isinstance(node, ast.AST):
            return node
        if "lineno" not in vars(node) or isinstance(node, ast.keyword):
            return self._fields(node) if isinstance(node, ast.keyword | ast.comprehension) else type(node).__name__
        said = {"kind": type(node).__name__, "line": node.lineno, "end": node.end_lineno, **self._fields(node)}
        if isinstance(node, ast.AugAssign):
            # Triton computes it as a sum that stands in its place, whose type is found there.
            said["types"] = self._observed.types.get(place_of(self._function, node), [])
        if not isinstance(node, ast.expr):
            return said
        if isinstance(node, ast.Constant):
            said |= {"value": constant(node.value), "of": type(node.value).__name__}
        said["types"] = self._observed.types.get(place_of(self._function, node), [])
        found, value = self._resolve(node)
        if found:
            said["known"] = known(value, self._number)
        if isinstance(node, ast.Call):
            said |= self._call(node)
        return said

    def _fields(self, node: ast.AST) -> dict[str, Any]:
        left_out = {"ctx", "type_comment", "kind", "type_params"}
        return {name: self._node(value) for name, value in ast.iter_fields(node) if name not in left_out}

    def _resolve(self, node: ast.AST) -> tuple[bool, Any]:
        """The object outside of the function that a name or a chain of attributes stands for."""
        if isinstance(node, ast.Name):
            if node.id in self._locals:
                return False, None
            if node.id in self._scope:
                return True, self._scope[node.id]
            return (True, getattr(builtins, node.id)) if node.id in BUILTINS else (False, None)
        if isinstance(node, ast.Attribute):
            found, base = self._resolve(node.value)
            if found and isinstance(base, ModuleType | type | tl.dtype) and hasattr(base, node.attr):
                return True, getattr(base, node.attr)
        return False, None

    def _call(self, node: ast.Call) -> dict[str, Any]:
        """What is called, and the arguments by the names of its parameters."""
        found, callee = self._resolve(node.func)
        receiver: list[ast.expr] = []
        if not found and isinstance(node.func, ast.Attribute):
            kinds = {each["kind"] for each in self._observed.types.get(place_of(self._function, node.func.value), [])}
            owner = tl.tensor if kinds & {"tile", "pointer"} or kinds == {"constant"} else None
            callee = getattr(owner, node.func.attr, None) if owner else None
            receiver = [node.func.value]
        if callee is None:
            return {}
        parameters = _parameters(callee)
        if parameters is None or any(isinstance(arg, ast.Starred) for arg in node.args):
            return {"callee": known(callee, self._number)}
        try:
            bound = inspect.Signature(parameters).bind(
                *receiver, *node.args, **{word.arg: word.value for word in node.keywords if word.arg}
            )
        except TypeError:
            return {"callee": known(callee, self._number)}
        named = {}
        for name, given in bound.arguments.items():
            default = bound.signature.parameters[name].default
            if isinstance(given, ast.Constant) and type(given.value) is type(default) and given.value == default:
                continue
            named[name] = [self._node(each) for each in given] if isinstance(given, tuple) else self._node(given)
        names = [parameter.name for parameter in parameters]
        return {"callee": known(callee, self._number), "bound": named, "parameters": names}


def known(value: Any, number: Callable[[Any], int]) -> dict[str, Any]:
    """What an object outside of a function is, as JSON; ``number`` gives helper functions theirs."""
    while isinstance(value, tl.constexpr):
        value = value.value
    if value is None or isinstance(value, bool | int | float | str):
        return {"what": "constant", "of": type(value).__name__, "value": constant(value)}
    if isinstance(value, tl.dtype):
        return {"what": "dtype", "dtype": value.name}
    if isinstance(value, JITFunction) and not value.__module__.startswith("triton."):
        return {"what": "helper", "number": number(value), "name": value.__name__}
    if isinstance(value, tuple | list):
        return {"what": "list", "items": [known(item, number) for item in value]}
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
    """The name by which Triton's documentation knows a function: ``tl.exp``, ``libdevice.tanh``, ``triton.cdiv``."""
    name, module = getattr(function, "__name__", ""), getattr(function, "__module__", "") or ""
    if module == "builtins" or name in ("builtin_min", "builtin_max"):
        return name.removeprefix("builtin_")
    if "libdevice" in module:
        return f"libdevice.{name}"
    for place, prefix in ((tl, "tl"), (tl.tensor, "tl"), (triton, "triton")):
        if getattr(place, name, None) is function:
            return f"{prefix}.{name}"
    # Methods of tensors are wrappers without names of their own.
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
    parts = [*ast.walk(definition.args), definition.returns]
    return max([definition.lineno, *(part.end_lineno for part in parts if part is not None and "lineno" in vars(part))])


def _layout(source: str, head: int) -> dict[str, Any]:
    """The comments of a function's body by line, whether each has a line of its own, and the lines that are blank."""
    lines = source.splitlines()
    comments = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT and token.start[0] > head:
                row = token.start[0]
                own = lines[row - 1].lstrip().startswith("#")
                comments.append({"line": row, "text": token.string.lstrip("#").strip(), "own": own})
    except (tokenize.TokenError, IndentationError):
        comments = []
    return {"comments": comments, "blank": [row for row, line in enumerate(lines, 1) if not line.strip()]}
