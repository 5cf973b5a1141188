"""Where a script launches a kernel: what it writes there for the grid and for each argument."""

from __future__ import annotations

import ast
import linecache
import os
from collections.abc import Sequence
from types import FrameType
from typing import Any

import triton

from .host_trees import Leaf, Tree, given_by, of_meta, tree_of

# Definitions that a name is followed through.
MOST_STEPS = 6


class CallSite:
    """One launch in the text of a script, ``kernel[grid](x, n, BLOCK=64)``."""

    def __init__(self, call: ast.Call, inside: ast.AST, params: Sequence[str], place: str) -> None:
        self._params = params
        self._definitions = _definitions(inside)
        self._arguments = {
            **dict(zip(params, call.args, strict=False)),
            **{word.arg: word.value for word in call.keywords if word.arg},
        }
        assert isinstance(call.func, ast.Subscript)
        self._grid = call.func.slice
        self._texts: dict[str, str] = {}
        for param, given in self._arguments.items():
            for each in self._steps(given):
                if not isinstance(each, ast.Constant):
                    self._texts.setdefault(_text(each), param)
        # The file and the line.
        self.place = place

    def grid(self) -> list[Tree] | None:
        """The number of programs on each axis."""
        node, meta = self._grid, None
        for each in self._steps(self._grid):
            node = each
        if isinstance(node, ast.Lambda | ast.FunctionDef):
            given = given_by(node)
            if given is None or len(node.args.args) != 1:
                return None
            node, meta = given, node.args.args[0].arg
        parts = node.elts if isinstance(node, ast.Tuple | ast.List) else [node]
        trees = [tree_of(part, self._leaf(meta)) for part in parts]
        return None if any(each is None for each in trees) else trees

    def grid_text(self) -> str:
        *_, last = self._steps(self._grid)
        return _text(last)

    def argument(self, param: str) -> Tree | None:
        """What is passed for a parameter, from the others."""
        given = self._arguments.get(param)
        return None if given is None else tree_of(given, self._leaf(besides=param))

    def argument_text(self, param: str) -> str | None:
        given = self._arguments.get(param)
        if given is None:
            return None
        *_, last = self._steps(given)
        return _text(last)

    def _leaf(self, meta: str | None = None, besides: str | None = None, depth: int = 0) -> Leaf:
        def leaf(node: ast.expr) -> Tree | None:
            found = of_meta(node, meta, self._params)
            if found is not None:
                return found
            steps = self._steps(node)
            for each in steps:
                param = self._texts.get(_text(each))
                if param is not None and param != besides:
                    return {"param": param}
            if len(steps) == 1 or depth == MOST_STEPS:
                return None
            return tree_of(steps[-1], self._leaf(meta, besides, depth + 1))

        return leaf

    def _steps(self, node: ast.AST) -> list[Any]:
        """An expression, and what it is by the definitions of the names that it leads to."""
        steps = [node]
        while isinstance(steps[-1], ast.Name) and steps[-1].id in self._definitions and len(steps) < MOST_STEPS:
            steps.append(self._definitions[steps[-1].id])
        return steps


def _definitions(inside: ast.AST) -> dict[str, ast.AST]:
    """What each name is in a function that gives it one value."""
    found: dict[str, list[ast.AST]] = {}
    if isinstance(inside, ast.FunctionDef):
        # A caller gives them another value.
        found |= {arg.arg: [arg] for arg in ast.walk(inside.args) if isinstance(arg, ast.arg)}
    for node in ast.walk(inside):
        if isinstance(node, ast.FunctionDef) and node is not inside:
            found.setdefault(node.name, []).append(node)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                _define(target, node.value, found)
        elif isinstance(node, ast.AugAssign | ast.For):
            for name in ast.walk(node.target):
                if isinstance(name, ast.Name):
                    found.setdefault(name.id, []).extend([node, node])
    return {name: value for name, (value, *more) in found.items() if not more and not isinstance(value, ast.arg)}


def _define(target: ast.expr, value: ast.expr, found: dict[str, list[ast.AST]]) -> None:
    if isinstance(target, ast.Name):
        found.setdefault(target.id, []).append(value)
    elif isinstance(target, ast.Tuple | ast.List):
        known = value.elts if isinstance(value, ast.Tuple | ast.List) else None
        for i, each in enumerate(target.elts):
            part = known[i] if known and len(known) == len(target.elts) else None
            _define(each, part or ast.Subscript(value, ast.Constant(i), ast.Load()), found)


class _Shapes(ast.NodeTransformer):
    """``x.size(0)`` is ``x.shape[0]``."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.func, ast.Attribute) or node.func.attr != "size" or len(node.args) > 1:
            return node
        shape = ast.Attribute(node.func.value, "shape", ast.Load())
        return ast.Subscript(shape, node.args[0], ast.Load()) if node.args else shape


def _text(node: ast.AST) -> str:
    copied = ast.parse(ast.unparse(node))
    return ast.unparse(_Shapes().visit(copied)).strip()


def call_site(frame: FrameType | None, params: Sequence[str]) -> CallSite | None:
    """The launch that runs in a frame or in one that called it, the innermost outside of Triton and this package."""
    own = (os.path.dirname(triton.__file__), os.path.dirname(__file__))
    while frame is not None and frame.f_code.co_filename.startswith(own):
        frame = frame.f_back
    if frame is None:
        return None
    file, line = frame.f_code.co_filename, frame.f_lineno
    try:
        module = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return None
    launches = [
        node
        for node in ast.walk(module)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Subscript)
        and node.lineno <= line <= (node.end_lineno or 0)
        and not any(isinstance(each, ast.Starred) for each in node.args)
    ]
    if len(launches) != 1:
        return None
    inside = [
        node
        for node in ast.walk(module)
        if isinstance(node, ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    return CallSite(launches[0], inside[-1] if inside else module, params, f"{os.path.basename(file)}:{line}")
