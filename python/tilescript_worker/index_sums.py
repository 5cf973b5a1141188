"""Indices of Triton's IR as sums of products, as far as kernels with views are compared with those without.

Integers are taken to be large enough for what an index adds and multiplies, so a sum has one form however it was
written. What a loop adds in each turn is a product with the number of the turn.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .value_graph import Node, Nodes

# Each product of nodes that are no sums, with how often it is added.
Sum = dict[tuple[int, ...], int]

NUMBER = re.compile(r"arith\.constant (?:dense<)?(-?\d+)>? : (?:tensor<(?:\d+x)*)?i\d+>?$")
# Tiles of one number, or of one row, add what that number or row does; wider integers hold the same numbers.
TRANSPARENT = ("tt.splat ", "tt.broadcast ", "arith.extsi ")
# Products of sums are written out up to this many terms.
MOST_TERMS = 64
SPAN = re.compile(r"tt\.make_range \{end = (\d+) : i32, start = (\d+) : i32\}")
COMPARED = re.compile(r"arith\.cmpi (slt|sle|sgt|sge), ")
# What is never negative, also where its operands are not. Divisors are positive.
COUNTS = ("tt.get_program_id ", "tt.get_num_programs ", "turn of loop ")
LEAST = ("arith.minsi ", "arith.maxsi ")


class IndexSums:
    """The sums of a graph's nodes."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._known: dict[Node, Sum] = {}

    def of(self, node: Node) -> Sum:
        known = self._known.get(node)
        if known is None:
            known = self._known[node] = self._found(node)
        return known

    def _found(self, node: Node) -> Sum:
        label, children = self._nodes.made(node)
        number = NUMBER.match(label)
        if number:
            return _without_zeros({(): int(number.group(1))})
        if label.startswith("tt.make_range {end = 1 : i32, start = 0 "):
            return {}
        if label.startswith(TRANSPARENT):
            return self.of(children[0])
        if label.startswith("expand at ") and self.of(children[0]).keys() <= {()}:
            # Numbers have no axes.
            return self.of(children[0])
        if label == "sum":
            parts = [self._nodes.made(each) for each in children]
            return {product: int(times.split(" ", 1)[0]) for times, product in parts}
        operation = label.split(" ", 1)[0]
        if operation not in ("arith.addi", "arith.subi", "arith.muli") or label.endswith(" i1") or "xi1>" in label:
            return {(node,): 1}
        left, right = self.of(children[0]), self.of(children[1])
        if operation == "arith.muli":
            product = _multiplied(left, right)
            return {(node,): 1} if product is None else product
        return _added(left, right if operation == "arith.addi" else _times(right, -1))

    def index(self, start: Node, step: Node, turn: Node) -> Node:
        """A loop's index in one of its turns."""
        return self.node(_added(self.of(start), self._by_turn(self.of(step), turn)))

    def _by_turn(self, terms: Sum, turn: Node) -> Sum:
        return {tuple(sorted((*product, turn))): times for product, times in terms.items()}

    def node(self, terms: Sum) -> Node:
        """The one node of a sum."""
        (single, *others) = [*terms.items(), None]
        if single is not None and others == [None] and single[1] == 1 and len(single[0]) == 1:
            return single[0][0]
        parts = sorted(self._nodes.node(f"{times} times", *product) for product, times in terms.items())
        made = self._nodes.node("sum", *parts)
        self._known[made] = terms
        return made

    def sum(self, before: Node, more: Node) -> Node:
        return self.node(_added(self.of(before), self.of(more)))

    def truth(self, label: str, children: Sequence[Node]) -> Node | None:
        """A comparison of signed integers as a sum that is not negative, or a conjunction; None for what is neither."""
        if label.startswith("arith.andi ") and (label.endswith(" i1") or label.endswith("xi1>")):
            return self.all_of(children)
        found = COMPARED.match(label)
        if not found:
            return None
        left, right = self.of(children[0]), self.of(children[1])
        if found.group(1) in ("sgt", "sge"):
            left, right = right, left
        apart = _added(right, _times(left, -1))
        if found.group(1) in ("slt", "sgt"):
            apart = _added(apart, {(): -1})
        return self._nodes.node("not negative", self.node(apart))

    def all_of(self, nodes: Sequence[Node]) -> Node:
        """A conjunction without the parts that always hold."""
        parts = {part for node in nodes for part in self._parts(node)}
        left = sorted(part for part in parts if not self._holds(part))
        return left[0] if len(left) == 1 else self._nodes.node("all", *left)

    def _parts(self, node: Node) -> list[Node]:
        label, children = self._nodes.made(node)
        if label == "all" or label.startswith(("arith.andi ", "tt.broadcast ", "tt.splat ")):
            return [part for child in children for part in self._parts(child)]
        return [node]

    def _holds(self, node: Node) -> bool:
        label, children = self._nodes.made(node)
        if label.startswith("arith.constant "):
            return "true" in label
        return label == "not negative" and self._is_count(children[0])

    def _is_count(self, node: Node) -> bool:
        """Whether a number is never negative."""
        least = self._least(self.of(node))
        return least is not None and least >= 0

    def _least(self, terms: Sum) -> int | None:
        """What a sum is at least; None where nothing is known."""
        found = [self._least_of(product, times) for product, times in terms.items()]
        return None if None in found else sum(each for each in found if each is not None)

    def _least_of(self, product: tuple[Node, ...], times: int) -> int | None:
        if not product:
            return times
        least, most = 1, 1
        for least_of_each, most_of_each in map(self._range, product):
            if least_of_each is None or least_of_each < 0:
                return None
            least *= least_of_each
            most = None if most is None or most_of_each is None else most * most_of_each
        if times > 0:
            return times * least
        return None if most is None else times * most

    def _range(self, node: Node) -> tuple[int | None, int | None]:
        """The least and the most that a number is, where that is known."""
        terms = self.of(node)
        if terms != {(node,): 1}:
            return self._least(terms), None
        label, children = self._nodes.made(node)
        span = SPAN.match(label)
        if span:
            return int(span.group(2)), int(span.group(1)) - 1
        if label.startswith("expand at "):
            return self._range(children[0])
        if label.startswith(("arith.remsi ", "arith.divsi ")):
            least, most = self._range(children[0])
            return (0 if least is not None and least >= 0 else None), most
        if label.startswith(LEAST):
            both = [self._range(child)[0] for child in children]
            return None if None in both else min(each for each in both if each is not None), None
        return (0 if label.startswith(COUNTS) else None), None

    def moved(self, start: Node, column: Node, given: Node, turn: Node, varies: frozenset[Node]) -> Node | None:
        """What a loop carries, as its start and the same amount in every turn; None if it changes otherwise."""
        base, steps = self._nodes.address_of(given)
        if self._nodes.made(given)[0].startswith("address "):
            if base != column:
                return None
            amount = self.of(steps)
        else:
            amount = _added(self.of(given), {(column,): -1})
            if any(column in product for product in amount):
                return None
        if self._nodes.reaches([each for product in amount for each in product], varies):
            return None
        by_turn = self._by_turn(amount, turn)
        if base != column:
            return self.node(_added(self.of(start), by_turn))
        root, before = self._nodes.address_of(start)
        return self._nodes.node(self._nodes.made(given)[0], root, self.node(_added(self.of(before), by_turn)))


def _added(left: Sum, right: Sum) -> Sum:
    return _without_zeros({each: left.get(each, 0) + right.get(each, 0) for each in (*left, *right)})


def _times(terms: Sum, factor: int) -> Sum:
    return {product: factor * times for product, times in terms.items()}


def _multiplied(left: Sum, right: Sum) -> Sum | None:
    """None for too many terms."""
    if len(left) * len(right) > MOST_TERMS:
        return None
    made: Sum = {}
    for one, times in left.items():
        for other, more in right.items():
            product = tuple(sorted((*one, *other)))
            made[product] = made.get(product, 0) + times * more
    return _without_zeros(made)


def _without_zeros(terms: Sum) -> Sum:
    return {product: times for product, times in terms.items() if times != 0}
