"""Texts of kernels with one mistake each: a step left out, early or twice, another parity, slot, count or bound."""

from __future__ import annotations

import ast
import copy
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

from kernel_text import kernel_text

#: Calls whose statement may be left out.
STEPS = (
    "mbarrier.wait",
    "mbarrier.arrive",
    "mbarrier.expect",
    "_load_block",
    "_store_block",
    "tma.store_wait",
    "fence_async_shared",
)

Change = Callable[[Any], ast.AST | list[ast.AST]]
#: Makes the text with one mistake.
Mutant = Callable[[], ast.Module]


def parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def reached(node: ast.expr) -> ast.expr:
    return ast.Call(ast.Name("_reached", ast.Load()), [node], [])


def said(node: ast.AST) -> str:
    text = ast.unparse(node).replace("\n", " ")
    return text if len(text) <= 90 else f"{text[:87]}..."


def called(node: ast.AST) -> str:
    return ast.unparse(node.func) if isinstance(node, ast.Call) else ""


def changes_of(node: ast.AST) -> Iterator[tuple[str, Change]]:
    """The mistakes that may stand in a node's place, in words."""
    if isinstance(node, ast.Expr) and called(node.value) == "mbarrier.init":
        yield f"one arrival more in {said(node)}", with_more_arrivals
    if isinstance(node, ast.Expr) and called(node.value) in STEPS:
        yield f"without {said(node)}", lambda _: ast.Expr(reached(ast.Constant(None)))
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and ast.unparse(node.value) == "1":
        yield f"without {said(node)}", lambda _: ast.Expr(reached(ast.Constant(None)))
    if isinstance(node, ast.Call):
        yield from changes_of_call(node)
    if isinstance(node, ast.For) and called(node.iter) == "range":
        yield from changes_of_loop(node)
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        other = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}.get(type(node.ops[0]))
        # What configs decide is no arithmetic of the kernel.
        if other and not said(node).startswith(("CONSUMERS", "PIECES", "part")):
            yield f"off by one in {said(node)}", lambda it: reached(ast.Compare(it.left, [other()], it.comparators))
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub, ast.Mult)) and is_ours(node):
        yield f"the first operand alone of {said(node)}", lambda it: reached(it.left)


#: What the emitter's own arithmetic counts with; the author's is as it is in the plain kernel.
OURS = {"CONSUMERS", "STAGES", "PIECES", "part", "iteration", "depth", "count"}


def is_ours(node: ast.AST) -> bool:
    return any(isinstance(each, ast.Name) and each.id in OURS for each in ast.walk(node))


def changes_of_call(node: ast.Call) -> Iterator[tuple[str, Change]]:
    name = called(node)
    if name == "mbarrier.wait":
        yield f"the other parity in {said(node)}", lambda it: with_args(it, 1, lambda x: f"({x}) ^ 1")
    if name.endswith(".index"):
        owner = ast.unparse(node.func.value)  # type: ignore[attr-defined]
        yield f"the next one in {said(node)}", lambda it: with_args(it, 0, lambda x: f"_next({owner}, {x})")
    if name == "warpgroup_mma_wait":
        yield f"one product more runs after {said(node)}", lambda it: with_args(it, 0, lambda x: f"{x} + 1")
    if name == "tma.store_wait":
        yield f"one write more runs after {said(node)}", lambda it: with_args(it, 0, lambda x: f"{x} + 1")
    if name == "gl.convert_layout":
        yield f"without {said(node)}", lambda it: reached(it.args[0])
    if name == "mbarrier.expect":
        yield f"half the bytes in {said(node)}", lambda it: with_args(it, 1, lambda x: f"({x}) // 2")
    for i, keyword in enumerate(node.keywords):
        if keyword.arg == "pred":
            yield f"always {said(node)}", lambda it, at=i: with_keyword(it, at, "True")
        if keyword.arg == "use_acc":
            yield f"with a sum in {said(node)}", lambda it, at=i: with_keyword(it, at, "True")
        if keyword.arg == "mask":
            yield f"no mask in {said(node)}", lambda it, at=i: with_keyword(it, at, "None")


def changes_of_loop(node: ast.For) -> Iterator[tuple[str, Change]]:
    call: Any = node.iter
    if len(call.args) == 1:
        first, end, step = "0", ast.unparse(call.args[0]), "1"
    else:
        first, end, step = [*map(ast.unparse, call.args), "1"][:3]
    for words, bounds in (
        ("an iteration more", f"range({first}, ({end}) + ({step}), {step})"),
        ("an iteration less", f"range({first}, ({end}) - ({step}), {step})"),
        ("from the second turn on", f"range(({first}) + ({step}), {end}, {step})"),
    ):
        yield f"{words} of for {said(node.target)} in {said(call)}", lambda it, text=bounds: loop_over(it, text)


def with_more_arrivals(node: Any) -> ast.AST:
    count = node.value.keywords[0]
    count.value = reached(parsed(f"({ast.unparse(count.value)}) + 1"))
    return node


def loop_over(node: Any, text: str) -> ast.AST:
    node.iter = reached(parsed(text))
    return node


def with_args(node: Any, place: int, change: Callable[[str], str]) -> ast.AST:
    node.args[place] = reached(parsed(change(ast.unparse(node.args[place]))))
    return node


def with_keyword(node: Any, place: int, text: str) -> ast.AST:
    node.keywords[place].value = reached(parsed(text))
    return node


def mutants(text: ast.Module) -> Iterator[tuple[str, Mutant]]:
    """Each by what is wrong with it; alike mistakes of one function are counted."""
    seen: dict[str, int] = {}
    for place, (function, node) in enumerate(nodes_of(text)):
        if isinstance(node, ast.stmt) and "body" in node._fields:
            for words, tree in earlier_arrivals(text, place, node):
                yield counted(seen, f"{function}: {words}"), tree
        for words, change in changes_of(node):
            yield counted(seen, f"{function}: {words}"), lambda at=place, by=change: changed(text, at, by)


def changed(text: ast.Module, place: int, change: Change) -> ast.Module:
    tree = copy.deepcopy(text)
    Replace(nodes_of(tree)[place][1], change).visit(tree)
    return ast.fix_missing_locations(tree)


def counted(seen: dict[str, int], label: str) -> str:
    seen[label] = seen.get(label, 0) + 1
    return label if seen[label] == 1 else f"{label} #{seen[label]}"


def nodes_of(text: ast.Module) -> list[tuple[str, ast.AST]]:
    """What functions hold, but for their signatures, with the function's name."""
    return [
        (function.name, node)
        for function in text.body
        if isinstance(function, ast.FunctionDef)
        for statement in [function, *function.body]
        for node in ([function] if statement is function else inside(statement))
    ]


def inside(statement: ast.AST) -> Iterator[ast.AST]:
    """What a statement holds, from its first to its last; barriers may be initialized in any order."""
    yield statement
    for node in ast.iter_child_nodes(statement):
        if called(node) != "mbarrier.init":
            yield from inside(node)


def earlier_arrivals(text: ast.Module, place: int, owner: Any) -> Iterator[tuple[str, Mutant]]:
    """An arrival right before the statement that it follows."""
    for i in range(1, len(owner.body)):
        before, arrival = owner.body[i - 1 : i + 1]
        if isinstance(arrival, ast.Expr) and called(arrival.value) == "mbarrier.arrive":
            yield f"{said(arrival)} before {said(before)}", lambda at=i: swapped(text, place, at)


def swapped(text: ast.Module, place: int, at: int) -> ast.Module:
    """The text where statement `at` of a body stands before the one that it follows."""
    tree = copy.deepcopy(text)
    body: Any = nodes_of(tree)[place][1]
    before, statement = body.body[at - 1 : at + 1]
    mark = ast.Expr(reached(ast.Constant(None)))
    body.body[at - 1 : at + 1] = [mark, statement, before]
    return ast.fix_missing_locations(tree)


class Replace(ast.NodeTransformer):
    def __init__(self, target: ast.AST, change: Change):
        self.target = target
        self.change = change

    def visit(self, node: ast.AST) -> Any:
        return self.change(node) if node is self.target else self.generic_visit(node)


def main() -> None:
    """FROM TO: the mistakes of each module's text, in words."""
    with open(sys.argv[1]) as file:
        found = [[label for label, _ in mutants(kernel_text(json.loads(line)["text"]))] for line in file]
    with open(sys.argv[2], "w") as file:
        json.dump(found, file)


if __name__ == "__main__":
    main()
