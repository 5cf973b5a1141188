"""Compiles a kernel with other constants than a call gives, for the types of the code that these leave out."""

from __future__ import annotations

import ast
import time
from collections.abc import Iterator
from typing import Any

from triton.runtime.jit import JITFunction

from .ttir import Argument, Observed, constants, observe

# A kernel has to be read within a few seconds.
MOST_SECONDS = 1.0
MOST_COMPILES = 24


def observe_others(kernel: JITFunction, given: dict[str, Argument], observed: Observed) -> None:
    """Changes one constant at a time, and further ones where that led to code that was not seen before."""
    others = list(_others(kernel, given))
    until = time.monotonic() + MOST_SECONDS
    bases, tried = [given], {_key(given)}
    for base in bases:
        for name, value in others:
            changed = {**base, name: Argument("constant", value=value)}
            key = _key(changed)
            if key in tried:
                continue
            if len(tried) > MOST_COMPILES or time.monotonic() > until:
                return
            tried.add(key)
            before = len(observed.types)
            observe(kernel, changed, observed)
            if len(observed.types) > before:
                bases.append(changed)


def _key(signature: dict[str, Argument]) -> str:
    return repr(sorted((name, repr(value)) for name, value in constants(signature).items()))


def _others(kernel: JITFunction, given: dict[str, Argument]) -> Iterator[tuple[str, Any]]:
    """Other values that the code tells apart: flags turned over, and what a constant is compared with."""
    compared = _compared(kernel)
    for name, argument in given.items():
        values: list[Any] = compared.get(name, [])
        if argument.kind == "constant" and isinstance(argument.value, bool):
            yield name, not argument.value
        elif argument.kind == "constant" and isinstance(argument.value, int | str):
            kind = type(argument.value)
            yield from ((name, value) for value in values if type(value) is kind and value != argument.value)
            if kind is int and name in _conditions(kernel):
                yield name, int(not argument.value)
        elif argument.kind == "pointer" and None in values:
            yield name, None


def _compared(kernel: JITFunction) -> dict[str, list[Any]]:
    """What names are compared with in the kernel and in the functions that it reaches, where these are constants."""
    found: dict[str, list[Any]] = {}
    for function, node in _nodes(kernel):
        if not isinstance(node, ast.Compare):
            continue
        sides = [node.left, *node.comparators]
        names = [side.id for side in sides if isinstance(side, ast.Name)]
        for name in names:
            known = found.setdefault(name, [])
            values = [value for side in sides for value in _values(side, function)]
            if any(isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for op in node.ops):
                # Sizes are powers of two.
                values = [greater for each in values if type(each) is int for greater in (1 << each.bit_length(), each)]
            known += [value for value in values if value not in known]
    return found


def _values(side: ast.expr, function: JITFunction) -> list[Any]:
    if isinstance(side, ast.Constant):
        return [side.value]
    if isinstance(side, ast.Tuple | ast.List):
        return [value for each in side.elts for value in _values(each, function)]
    if isinstance(side, ast.Name):
        value = function.fn.__globals__.get(side.id)
        value = getattr(value, "value", value)
        return [value] if isinstance(value, int | str) else []
    return []


def _conditions(kernel: JITFunction) -> set[str]:
    """Names that stand as conditions."""
    tests = (node.test for _, node in _nodes(kernel) if isinstance(node, ast.If | ast.IfExp))
    return {name.id for test in tests for name in _operands(test) if isinstance(name, ast.Name)}


def _operands(test: ast.expr) -> Iterator[ast.expr]:
    if isinstance(test, ast.BoolOp):
        for value in test.values:
            yield from _operands(value)
    elif isinstance(test, ast.UnaryOp):
        yield from _operands(test.operand)
    else:
        yield test


def _nodes(kernel: JITFunction) -> Iterator[tuple[JITFunction, ast.AST]]:
    """The nodes of the kernel, and of the helper functions that its names lead to."""
    functions = [kernel]
    for function in functions:
        for node in ast.walk(function.parse()):
            yield function, node
            named = function.fn.__globals__.get(node.id) if isinstance(node, ast.Name) else None
            if isinstance(named, JITFunction) and named not in functions and not named.__module__.startswith("triton."):
                functions.append(named)
