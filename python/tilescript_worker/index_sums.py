"""Indices in Triton's IR as sums of products. Only comparisons for views use them.

Index arithmetic is assumed not to overflow, so each sum has a canonical form. The step of an induction variable is
multiplied by the iteration number.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .value_graph import Node, ValueGraph

# Maps each product of non-sum nodes to its coefficient.
Sum = dict[tuple[int, ...], int]

NUMBER = re.compile(r"arith\.constant (?:dense<)?(-?\d+)>? : (?:tensor<(?:\d+x)*)?i\d+>?$")
# These operations do not change an index: the element of a splat or broadcast equals its operand.
TRANSPARENT = ("tt.splat ", "tt.broadcast ", "arith.extsi ")
# Products of sums are expanded up to this number of terms.
MAX_TERMS = 64
RANGE = re.compile(r"tt\.make_range \{end = (\d+) : i32, start = (\d+) : i32\}")
COMPARED = re.compile(r"arith\.cmpi (slt|sle|sgt|sge), ")
# Operations that are never negative, whatever their operands are.
NON_NEGATIVE = ("tt.get_program_id ", "tt.get_num_programs ", "iteration of loop ")
MIN_MAX = ("arith.minsi ", "arith.maxsi ")


class IndexSums:
    """The sums of a graph's nodes."""

    def __init__(self, graph: ValueGraph) -> None:
        self._graph = graph
        self._cache: dict[Node, Sum] = {}

    def sum_of(self, node: Node) -> Sum:
        terms = self._cache.get(node)
        if terms is None:
            terms = self._cache[node] = self._compute(node)
        return terms

    def _compute(self, node: Node) -> Sum:
        label, children = self._graph.operation(node)
        number = NUMBER.match(label)
        if number:
            return _drop_zeros({(): int(number.group(1))})
        if label.startswith("tt.make_range {end = 1 : i32, start = 0 "):
            return {}
        if label.startswith(TRANSPARENT):
            return self.sum_of(children[0])
        if label.startswith("expand at ") and self.sum_of(children[0]).keys() <= {()}:
            # Numbers have no axes.
            return self.sum_of(children[0])
        if label == "sum":
            products = [self._graph.operation(each) for each in children]
            return {product: int(times.split(" ", 1)[0]) for times, product in products}
        operation = label.split(" ", 1)[0]
        if operation not in ("arith.addi", "arith.subi", "arith.muli") or label.endswith(" i1") or "xi1>" in label:
            return {(node,): 1}
        left, right = self.sum_of(children[0]), self.sum_of(children[1])
        if operation == "arith.muli":
            product = _multiply(left, right)
            return {(node,): 1} if product is None else product
        return _add(left, right if operation == "arith.addi" else _scale(right, -1))

    def index(self, start: Node, step: Node, iteration: Node) -> Node:
        """A loop's index in one iteration."""
        return self.node(_add(self.sum_of(start), self._times_iteration(self.sum_of(step), iteration)))

    def _times_iteration(self, terms: Sum, iteration: Node) -> Sum:
        return {tuple(sorted((*product, iteration))): times for product, times in terms.items()}

    def node(self, terms: Sum) -> Node:
        """The canonical node of a sum."""
        (single, *others) = [*terms.items(), None]
        if single is not None and others == [None] and single[1] == 1 and len(single[0]) == 1:
            return single[0][0]
        products = sorted(self._graph.node(f"{times} times", *product) for product, times in terms.items())
        node = self._graph.node("sum", *products)
        self._cache[node] = terms
        return node

    def add(self, left: Node, right: Node) -> Node:
        return self.node(_add(self.sum_of(left), self.sum_of(right)))

    def truth(self, label: str, children: Sequence[Node]) -> Node | None:
        """A signed comparison as a non-negative sum, or a conjunction; None for other operations."""
        if label.startswith("arith.andi ") and (label.endswith(" i1") or label.endswith("xi1>")):
            return self.all_of(children)
        match = COMPARED.match(label)
        if not match:
            return None
        left, right = self.sum_of(children[0]), self.sum_of(children[1])
        if match.group(1) in ("sgt", "sge"):
            left, right = right, left
        difference = _add(right, _scale(left, -1))
        if match.group(1) in ("slt", "sgt"):
            difference = _add(difference, {(): -1})
        return self._graph.node("not negative", self.node(difference))

    def all_of(self, nodes: Sequence[Node]) -> Node:
        """A conjunction without conjuncts that are always true."""
        conjuncts = {conjunct for node in nodes for conjunct in self._conjuncts(node)}
        undecided = sorted(conjunct for conjunct in conjuncts if not self._is_always_true(conjunct))
        return undecided[0] if len(undecided) == 1 else self._graph.node("all", *undecided)

    def _conjuncts(self, node: Node) -> list[Node]:
        label, children = self._graph.operation(node)
        if label == "all" or label.startswith(("arith.andi ", "tt.broadcast ", "tt.splat ")):
            return [conjunct for child in children for conjunct in self._conjuncts(child)]
        return [node]

    def _is_always_true(self, node: Node) -> bool:
        label, children = self._graph.operation(node)
        if label.startswith("arith.constant "):
            return "true" in label
        return label == "not negative" and self._is_non_negative(children[0])

    def _is_non_negative(self, node: Node) -> bool:
        """True if a number is provably not negative."""
        bound = self._lower_bound(self.sum_of(node))
        return bound is not None and bound >= 0

    def _lower_bound(self, terms: Sum) -> int | None:
        """A lower bound of a sum; None if unknown."""
        bounds = [self._product_lower_bound(product, times) for product, times in terms.items()]
        return None if None in bounds else sum(each for each in bounds if each is not None)

    def _product_lower_bound(self, product: tuple[Node, ...], times: int) -> int | None:
        if not product:
            return times
        lower, upper = 1, 1
        for factor_lower, factor_upper in map(self._bounds, product):
            if factor_lower is None or factor_lower < 0:
                return None
            lower *= factor_lower
            upper = None if upper is None or factor_upper is None else upper * factor_upper
        if times > 0:
            return times * lower
        return None if upper is None else times * upper

    def _bounds(self, node: Node) -> tuple[int | None, int | None]:
        """Lower and upper bound of a number; each is None if unknown."""
        terms = self.sum_of(node)
        if terms != {(node,): 1}:
            return self._lower_bound(terms), None
        label, children = self._graph.operation(node)
        span = RANGE.match(label)
        if span:
            return int(span.group(2)), int(span.group(1)) - 1
        if label.startswith("expand at "):
            return self._bounds(children[0])
        if label.startswith(("arith.remsi ", "arith.divsi ")):
            lower, upper = self._bounds(children[0])
            return (0 if lower is not None and lower >= 0 else None), upper
        if label.startswith(MIN_MAX):
            lower_bounds = [self._bounds(child)[0] for child in children]
            return None if None in lower_bounds else min(each for each in lower_bounds if each is not None), None
        return (0 if label.startswith(NON_NEGATIVE) else None), None

    def induction_value(
        self, start: Node, column: Node, next_value: Node, iteration: Node, varying: frozenset[Node]
    ) -> Node | None:
        """An induction variable as its start plus a constant step per iteration; None for other variables."""
        base, steps = self._graph.address_of(next_value)
        if self._graph.operation(next_value)[0].startswith("address "):
            if base != column:
                return None
            amount = self.sum_of(steps)
        else:
            amount = _add(self.sum_of(next_value), {(column,): -1})
            if any(column in product for product in amount):
                return None
        if self._graph.reaches([each for product in amount for each in product], varying):
            return None
        amount_by_iteration = self._times_iteration(amount, iteration)
        if base != column:
            return self.node(_add(self.sum_of(start), amount_by_iteration))
        root, offset = self._graph.address_of(start)
        return self._graph.node(
            self._graph.operation(next_value)[0], root, self.node(_add(self.sum_of(offset), amount_by_iteration))
        )


def _add(left: Sum, right: Sum) -> Sum:
    return _drop_zeros({each: left.get(each, 0) + right.get(each, 0) for each in (*left, *right)})


def _scale(terms: Sum, factor: int) -> Sum:
    return {product: factor * times for product, times in terms.items()}


def _multiply(left: Sum, right: Sum) -> Sum | None:
    """None for too many terms."""
    if len(left) * len(right) > MAX_TERMS:
        return None
    terms: Sum = {}
    for left_product, left_times in left.items():
        for right_product, right_times in right.items():
            product = tuple(sorted((*left_product, *right_product)))
            terms[product] = terms.get(product, 0) + left_times * right_times
    return _drop_zeros(terms)


def _drop_zeros(terms: Sum) -> Sum:
    return {product: times for product, times in terms.items() if times != 0}
