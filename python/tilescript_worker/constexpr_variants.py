"""Compiles a kernel with other constants, to observe types in code that the given call does not compile."""

from __future__ import annotations

import ast
import time
from collections.abc import Iterator
from typing import Any

from triton.runtime.jit import JITFunction

from .ttir import Argument, ObservedTypes, constants, observe

# Limits that keep the import of a kernel within a few seconds.
MAX_SECONDS = 1.0
MAX_COMPILES = 24


def observe_variants(kernel: JITFunction, signature: dict[str, Argument], observed: ObservedTypes) -> None:
    """Changes one constant at a time, and a second one after a change that made new code compile."""
    variants = list(_variants(kernel, signature))
    deadline = time.monotonic() + MAX_SECONDS
    bases, tried_keys = [signature], {_key(signature)}
    for base in bases:
        for name, value in variants:
            changed = {**base, name: Argument("constant", value=value)}
            key = _key(changed)
            if key in tried_keys:
                continue
            if len(tried_keys) > MAX_COMPILES or time.monotonic() > deadline:
                return
            tried_keys.add(key)
            type_count = len(observed.types)
            observe(kernel, changed, observed)
            if len(observed.types) > type_count:
                bases.append(changed)


def _key(signature: dict[str, Argument]) -> str:
    return repr(sorted((name, repr(value)) for name, value in constants(signature).items()))


def _variants(kernel: JITFunction, signature: dict[str, Argument]) -> Iterator[tuple[str, Any]]:
    """Values that change control flow: negated flags, and constants that the parameter is compared with."""
    compared = _compared_constants(kernel)
    for name, argument in signature.items():
        values: list[Any] = compared.get(name, [])
        if argument.kind == "constant" and isinstance(argument.value, bool):
            yield name, not argument.value
        elif argument.kind == "constant" and isinstance(argument.value, int | str):
            kind = type(argument.value)
            yield from ((name, value) for value in values if type(value) is kind and value != argument.value)
            if kind is int and name in _condition_names(kernel):
                yield name, int(not argument.value)
        elif argument.kind == "pointer" and None in values:
            yield name, None


def _compared_constants(kernel: JITFunction) -> dict[str, list[Any]]:
    """For each name, the constants that it is compared with in the kernel and its helper functions."""
    constants_by_name: dict[str, list[Any]] = {}
    for function, node in _nodes(kernel):
        if not isinstance(node, ast.Compare):
            continue
        sides = [node.left, *node.comparators]
        names = [side.id for side in sides if isinstance(side, ast.Name)]
        for name in names:
            constants = constants_by_name.setdefault(name, [])
            values = [value for side in sides for value in _values(side, function)]
            if any(isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for op in node.ops):
                # Sizes are powers of two, so also try the next one.
                values = [greater for each in values if type(each) is int for greater in (1 << each.bit_length(), each)]
            constants += [value for value in values if value not in constants]
    return constants_by_name


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


def _condition_names(kernel: JITFunction) -> set[str]:
    """Names that are used as conditions."""
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
            callee = function.fn.__globals__.get(node.id) if isinstance(node, ast.Name) else None
            if (
                isinstance(callee, JITFunction)
                and callee not in functions
                and not callee.__module__.startswith("triton.")
            ):
                functions.append(callee)
