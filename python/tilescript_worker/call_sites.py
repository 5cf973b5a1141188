"""Call sites of kernels in a script: the source of the grid and of each argument."""

from __future__ import annotations

import ast
import linecache
import os
from collections.abc import Sequence
from itertools import takewhile
from types import FrameType
from typing import Any

import triton

from .host_trees import Leaf, Tree, meta_param, returned_expression, tree_of

# Maximum number of definitions to follow for a name.
MAX_STEPS = 6


class CallSite:
    """One launch in the text of a script, ``kernel[grid](x, n, BLOCK=64)``."""

    def __init__(self, call: ast.Call, scope: ast.AST, params: Sequence[str], location: str) -> None:
        self._params = params
        self._definitions = _definitions(scope)
        self._arguments = {
            **dict(zip(params, takewhile(lambda each: not isinstance(each, ast.Starred), call.args), strict=False)),
            **{keyword.arg: keyword.value for keyword in call.keywords if keyword.arg},
        }
        assert isinstance(call.func, ast.Subscript)
        self._grid = call.func.slice
        self._texts: dict[str, str] = {}
        for param, value in self._arguments.items():
            for step in self._steps(value):
                if not isinstance(step, ast.Constant):
                    self._texts.setdefault(_normalized_text(step), param)
        # The file and the line.
        self.location = location

    def grid(self) -> list[Tree] | None:
        """The number of programs on each axis."""
        sizes = self.sizes()
        trees = [tree for tree in sizes if tree is not None]
        return trees if trees and len(trees) == len(sizes) else None

    def sizes(self) -> list[Tree | None]:
        """The number of programs on each axis that has an expression; empty if the axes are unknown."""
        node, meta = self._grid, None
        for step in self._steps(self._grid):
            node = step
        if isinstance(node, ast.Lambda | ast.FunctionDef):
            expression = returned_expression(node)
            if expression is None or len(node.args.args) != 1:
                return []
            node, meta = expression, node.args.args[0].arg
        sizes = node.elts if isinstance(node, ast.Tuple | ast.List) else [node]
        trees = [tree_of(size, self._leaf(meta)) for size in sizes]
        # One expression may also be a tuple.
        return [] if sizes == [node] and trees == [None] else trees

    def grid_text(self) -> str:
        *_, last = self._steps(self._grid)
        return _normalized_text(last)

    def argument(self, param: str) -> Tree | None:
        """The tree of a parameter's argument, over the other parameters."""
        expression = self._arguments.get(param)
        return None if expression is None else tree_of(expression, self._leaf(excluded=param))

    def argument_steps(self, param: str) -> list[Any]:
        """The expression of a parameter's argument, followed by the definitions that it resolves to."""
        expression = self._arguments.get(param)
        return [] if expression is None else self._steps(expression)

    def argument_text(self, param: str) -> str | None:
        steps = self.argument_steps(param)
        return _normalized_text(steps[-1]) if steps else None

    def _leaf(self, meta: str | None = None, excluded: str | None = None, depth: int = 0) -> Leaf:
        def leaf(node: ast.expr) -> Tree | None:
            meta_tree = meta_param(node, meta, self._params)
            if meta_tree is not None:
                return meta_tree
            steps = self._steps(node)
            for step in steps:
                param = self._texts.get(_normalized_text(step))
                if param is not None and param != excluded:
                    return {"param": param}
            if len(steps) == 1 or depth == MAX_STEPS:
                return None
            return tree_of(steps[-1], self._leaf(meta, excluded, depth + 1))

        return leaf

    def _steps(self, node: ast.AST) -> list[Any]:
        """An expression, followed by the definitions that it resolves to."""
        steps = [node]
        while isinstance(steps[-1], ast.Name) and steps[-1].id in self._definitions and len(steps) < MAX_STEPS:
            steps.append(self._definitions[steps[-1].id])
        return steps


def _definitions(scope: ast.AST) -> dict[str, ast.AST]:
    """The value of each name that has exactly one definition in a function."""
    values: dict[str, list[ast.AST]] = {}
    if isinstance(scope, ast.FunctionDef):
        # A caller may pass any value.
        values |= {arg.arg: [arg] for arg in ast.walk(scope.args) if isinstance(arg, ast.arg)}
    for node in ast.walk(scope):
        if isinstance(node, ast.FunctionDef) and node is not scope:
            values.setdefault(node.name, []).append(node)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                _define(target, node.value, values)
        elif isinstance(node, ast.AugAssign | ast.For):
            for name in ast.walk(node.target):
                if isinstance(name, ast.Name):
                    values.setdefault(name.id, []).extend([node, node])
    return {
        name: value
        for name, (value, *redefinitions) in values.items()
        if not redefinitions and not isinstance(value, ast.arg)
    }


def _define(target: ast.expr, value: ast.expr, values: dict[str, list[ast.AST]]) -> None:
    if isinstance(target, ast.Name):
        values.setdefault(target.id, []).append(value)
    elif isinstance(target, ast.Tuple | ast.List):
        elements = value.elts if isinstance(value, ast.Tuple | ast.List) else None
        for i, item in enumerate(target.elts):
            element = elements[i] if elements and len(elements) == len(target.elts) else None
            _define(item, element or ast.Subscript(value, ast.Constant(i), ast.Load()), values)


class _SizeToShape(ast.NodeTransformer):
    """``x.size(0)`` is ``x.shape[0]``."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.func, ast.Attribute) or node.func.attr != "size" or len(node.args) > 1:
            return node
        shape = ast.Attribute(node.func.value, "shape", ast.Load())
        return ast.Subscript(shape, node.args[0], ast.Load()) if node.args else shape


def _normalized_text(node: ast.AST) -> str:
    copied = ast.parse(ast.unparse(node))
    return ast.unparse(_SizeToShape().visit(copied)).strip()


def sites_in_file(file: str, kernel: str, params: Sequence[str]) -> list[CallSite]:
    """Every launch of a kernel in the text of a file."""
    module = _module_of(file)
    return [
        CallSite(node, _scope_of(module, node.lineno), params, _location(file, node.lineno))
        for node in _launches(module)
        if isinstance(node.func, ast.Subscript)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == kernel
    ]


def call_site(frame: FrameType | None, params: Sequence[str]) -> CallSite | None:
    """The launch that runs in a frame or in one that called it, the innermost outside of Triton and this package."""
    skipped_folders = tuple(os.path.dirname(str(module)) for module in (triton.__file__, __file__))
    while frame is not None and frame.f_code.co_filename.startswith(skipped_folders):
        frame = frame.f_back
    if frame is None:
        return None
    file, line = frame.f_code.co_filename, frame.f_lineno
    module = _module_of(file)
    launches = [node for node in _launches(module) if _contains_line(node, line)]
    if len(launches) != 1:
        return None
    return CallSite(launches[0], _scope_of(module, line), params, _location(file, line))


def _module_of(file: str) -> ast.Module:
    """The tree of a file; empty if it cannot be parsed."""
    try:
        return ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return ast.Module([], [])


def _launches(module: ast.Module) -> list[ast.Call]:
    """The calls `f[…](…)`."""
    return [node for node in ast.walk(module) if isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript)]


def _scope_of(module: ast.Module, line: int) -> ast.AST:
    """The innermost function at a line."""
    functions = [node for node in ast.walk(module) if isinstance(node, ast.FunctionDef) and _contains_line(node, line)]
    return functions[-1] if functions else module


def _contains_line(node: ast.Call | ast.FunctionDef, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or 0)


def _location(file: str, line: int) -> str:
    return f"{os.path.basename(file)}:{line}"
