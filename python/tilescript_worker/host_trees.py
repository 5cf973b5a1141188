"""Host expressions, such as ``triton.cdiv(n, meta["BLOCK"])``, as trees over parameters.

A tree is JSON: ``{"op": "cdiv", "of": [{"param": "n"}, {"param": "BLOCK"}]}``, with numbers and truth values as leaves.
"""

from __future__ import annotations

import ast
import copy
import linecache
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Tree = dict[str, Any]
# Maximum number of nested calls to expand.
MAX_DEPTH = 4
# Resolves other expressions: a parameter, or the definition of a name.
Leaf = Callable[[ast.expr], Tree | None]

BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.FloorDiv: "floorDiv",
    ast.Mod: "mod",
}
COMPARE: dict[type[ast.cmpop], str] = {
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
}
CALLS = {"cdiv": "cdiv", "next_power_of_2": "nextPowerOf2", "min": "minimum", "max": "maximum"}

VALUES: dict[str, Callable[..., Any]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "floorDiv": lambda x, y: x // y,
    "mod": lambda x, y: x % y,
    "cdiv": lambda x, y: -(x // -y),
    "nextPowerOf2": lambda x: 1 << math.ceil(math.log2(x)) if x > 1 else 1,
    "minimum": min,
    "maximum": max,
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
    "and": lambda x, y: x and y,
    "or": lambda x, y: x or y,
    "not": lambda x: not x,
}


def tree_of(node: ast.expr, leaf: Leaf) -> Tree | None:
    """The tree of an expression; None if a part is neither arithmetic nor resolved by ``leaf``."""
    if isinstance(node, ast.Constant) and isinstance(node.value, bool | int):
        return {"value": node.value}
    if isinstance(node, ast.Constant) and isinstance(node.value, float) and node.value.is_integer():
        return {"value": int(node.value)}
    leaf_tree = leaf(node)
    if leaf_tree is not None:
        return leaf_tree
    if isinstance(node, ast.BinOp) and type(node.op) in BINARY:
        return _op_tree(BINARY[type(node.op)], [node.left, node.right], leaf)
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARE:
        return _op_tree(COMPARE[type(node.ops[0])], [node.left, node.comparators[0]], leaf)
    if isinstance(node, ast.BoolOp):
        return _fold_tree("and" if isinstance(node.op, ast.And) else "or", node.values, leaf)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return _op_tree("not", [node.operand], leaf)
    if isinstance(node, ast.Call) and not node.keywords:
        name = _callee_name(node.func)
        if name == "int" and len(node.args) == 1:
            return tree_of(node.args[0], leaf)
        if name in ("min", "max"):
            return _fold_tree(CALLS[name], node.args, leaf)
        if name in CALLS:
            return _op_tree(CALLS[name], node.args, leaf)
    return None


def _callee_name(function: ast.expr) -> str:
    """The last part of a function's name, so that ``triton.cdiv`` equals ``cdiv``."""
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _op_tree(op: str, operands: Sequence[ast.expr], leaf: Leaf) -> Tree | None:
    trees = [tree_of(operand, leaf) for operand in operands]
    if any(each is None for each in trees):
        return None
    return {"op": op, "of": trees}


def _fold_tree(op: str, operands: Sequence[ast.expr], leaf: Leaf) -> Tree | None:
    trees = [tree_of(operand, leaf) for operand in operands]
    result = trees[0] if trees else None
    for each in trees[1:]:
        if result is None or each is None:
            return None
        result = {"op": op, "of": [result, each]}
    return result


def evaluate(tree: Tree, values: Mapping[str, Any]) -> Any:
    """Evaluates a tree with these values of the parameters.

    Raises KeyError for a parameter without a value, and what arithmetic raises.
    """
    if "value" in tree:
        return tree["value"]
    if "param" in tree:
        return values[tree["param"]]
    return VALUES[tree["op"]](*(evaluate(each, values) for each in tree["of"]))


def is_consistent(tree: Tree, cases: Sequence[tuple[Mapping[str, Any], Any]]) -> bool:
    """True if the tree evaluates to the expected value of each case."""
    try:
        return all(evaluate(tree, values) == expected for values, expected in cases)
    except (KeyError, ArithmeticError, TypeError, ValueError):
        return False


def has_params(tree: Tree) -> bool:
    return "param" in tree or any(has_params(each) for each in tree.get("of", ()))


def meta_param(node: ast.expr, meta: str | None, params: Sequence[str]) -> Tree | None:
    """``META["BLOCK"]``"""
    if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name) or node.value.id != meta:
        return None
    index = node.slice
    return {"param": index.value} if isinstance(index, ast.Constant) and index.value in params else None


def source_of(function: Any) -> tuple[str, ast.expr] | None:
    """The parameter and the expression of a function that only returns an expression."""
    node = _definition_of(function)
    if node is None or len(node.args.args) != 1:
        return None
    expression = returned_expression(node)
    return None if expression is None else (node.args.args[0].arg, expression)


def _definition_of(function: Any) -> ast.Lambda | ast.FunctionDef | None:
    code = getattr(function, "__code__", None)
    if code is None:
        return None
    try:
        module = ast.parse("".join(linecache.getlines(code.co_filename)))
    except (SyntaxError, ValueError):
        return None
    functions = [
        node
        for node in ast.walk(module)
        if isinstance(node, ast.Lambda | ast.FunctionDef) and _is_definition_of(node, code)
    ]
    # The innermost one, because lambdas may be nested.
    return functions[-1] if functions else None


def _is_definition_of(node: ast.Lambda | ast.FunctionDef, code: Any) -> bool:
    """True if the node defines this function. One line may contain several lambdas."""
    if isinstance(node, ast.FunctionDef):
        first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
        return node.name == code.co_name and first == code.co_firstlineno
    if code.co_name != "<lambda>" or node.lineno != code.co_firstlineno:
        return False
    start, end = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
    positions = [(line, column) for line, _, column, _ in code.co_positions() if line is not None and column]
    return all(start <= each <= end for each in positions)


def returned_expression(node: ast.Lambda | ast.FunctionDef) -> ast.expr | None:
    if isinstance(node, ast.Lambda):
        return node.body
    (last, *earlier) = reversed(node.body)
    return last.value if isinstance(last, ast.Return) and not earlier else None


def heuristic_tree(function: Any, params: Sequence[str]) -> Tree | None:
    """The tree of a heuristic, ``lambda args: args["N"] % args["BLOCK"] == 0``."""
    source = source_of(function)
    if source is None:
        return None
    meta, node = source
    expanded = _CallsToBodies(function.__globals__).visit(copy.deepcopy(node))
    return tree_of(expanded, lambda each: meta_param(each, meta, params))


class _CallsToBodies(ast.NodeTransformer):
    """Replaces calls of functions that only return an expression by the expression."""

    def __init__(self, names: Mapping[str, Any], depth: int = 0) -> None:
        self.names, self.depth = names, depth

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        callee = None if name in CALLS else self.names.get(name)
        definition = _definition_of(callee) if self.depth < MAX_DEPTH and not node.keywords else None
        expression = None if definition is None else returned_expression(definition)
        if definition is None or expression is None or len(definition.args.args) != len(node.args):
            return node
        arguments = dict(zip((each.arg for each in definition.args.args), node.args, strict=True))
        body = _NamesToValues(arguments).visit(copy.deepcopy(expression))
        return _CallsToBodies(getattr(callee, "__globals__", {}), self.depth + 1).visit(body)


class _NamesToValues(ast.NodeTransformer):
    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self.values.get(node.id, node)


def unresolved_heuristic(function: Any, params: Sequence[str]) -> dict[str, str]:
    """The text of a heuristic. Of ``lambda args: args["bias"] is not None`` also the parameter that must be given."""
    result = {"text": source_text(function)}
    match source_of(function):
        case (meta, ast.Compare(left=left, ops=[ast.IsNot()], comparators=[ast.Constant(value=None)])):
            tested_param = meta_param(left, meta, params)
            return result if tested_param is None else {**result, "given": tested_param["param"]}
        case _:
            return result


def source_text(function: Any) -> str:
    source = source_of(function)
    return "a function" if source is None else ast.unparse(source[1])
