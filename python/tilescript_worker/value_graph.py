"""A hash-consed graph of operations."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence, Set

COMMUTE = frozenset(
    "arith.addi arith.muli arith.addf arith.mulf arith.andi arith.ori arith.xori arith.maxnumf arith.minnumf "
    "arith.maximumf arith.minimumf arith.maxsi arith.minsi arith.maxui arith.minui".split()
)
SYMMETRIC = ("arith.cmpi eq,", "arith.cmpi ne,", "arith.cmpf oeq,", "arith.cmpf une,")
# Labels of nodes in canonical form: sums, comparisons and conjunctions.
CANONICAL = ("sum", "not negative", "all")

Node = int


class ValueGraph:
    """Stores each operation once. Equal graphs have equal node numbers."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, tuple[Node, ...]], Node] = {}
        self._operations: list[tuple[str, tuple[Node, ...]]] = []
        self._choices: dict[tuple[Node, Node, Node], Node] = {}

    def node(self, label: str, *children: Node) -> Node:
        key = (label, children)
        if key not in self._numbers:
            self._numbers[key] = len(self._operations)
            self._operations.append(key)
        return self._numbers[key]

    def operation(self, node: Node) -> tuple[str, tuple[Node, ...]]:
        return self._operations[node]

    def reaches(self, nodes: Sequence[Node], targets: Set[Node]) -> bool:
        """True if a node is a target or depends on one."""
        worklist, visited = list(nodes), set(nodes)
        while worklist:
            node = worklist.pop()
            if node in targets:
                return True
            new = [child for child in self._operations[node][1] if child not in visited]
            visited.update(new)
            worklist += new
        return False

    def address_of(self, node: Node) -> tuple[Node, Node]:
        """The base of an address, and the sum of its offsets."""
        label, children = self._operations[node]
        if label.startswith(("tt.splat ", "tt.broadcast ")):
            return self.address_of(children[0])
        if label.startswith("address "):
            return children[0], children[1]
        return node, self.node("sum")

    def expand_dims(self, node: Node, axis: str, shape_before: str, shape_after: str) -> Node:
        """Adds an axis of length 1 to a tile. Elementwise operations pass it on to their operands."""
        label, children = self._operations[node]
        if label in CANONICAL or label.endswith(" times"):
            # Scalars have no axes.
            operands = [
                self.expand_dims(each, axis, shape_before, shape_after) if self.shape_of(each) else each
                for each in children
            ]
            return self.node(label, *sorted(operands))
        name = label.split(" ", 1)[0]
        if not name.startswith("arith.") and name != "tt.splat":
            # Adjacent axes of length 1 are interchangeable: use the first one.
            while int(axis) > 0 and shape_after.split("x")[int(axis) - 1] == "1":
                axis = str(int(axis) - 1)
            return self.node(f"expand at {axis} to {shape_after}", node)
        if name != "tt.splat":
            children = tuple(self.expand_dims(child, axis, shape_before, shape_after) for child in children)
        return self.node(
            label.replace(f"tensor<{shape_before}", f"tensor<{shape_after}"), *sort_commutative(label, children)
        )

    def chosen(self, condition: Node, value: Node, other: Node) -> Node:
        """One of two values. If both are the same operation, it is the operation on a choice of its operands."""
        if value == other:
            return value
        key = (condition, value, other)
        if key not in self._choices:
            self._choices[key] = self._choice(*key)
        return self._choices[key]

    def _choice(self, condition: Node, value: Node, other: Node) -> Node:
        (label, children), (other_label, other_children) = self._operations[value], self._operations[other]
        if label != other_label or not label.startswith(("arith.", "math.")) or not children:
            return self.node("value of scf.if", condition, value, other)
        if _commutes(label) and set(zip(children, reversed(other_children), strict=True)) & {(x, x) for x in children}:
            other_children = other_children[::-1]
        operands = [self.chosen(condition, *pair) for pair in zip(children, other_children, strict=True)]
        return self.node(label, *sort_commutative(label, operands))

    def shape_of(self, node: Node) -> str:
        """The axes of a tile, such as `16x32x`; empty for a scalar."""
        label, children = self._operations[node]
        if label in CANONICAL or label.endswith(" times"):
            return max((self.shape_of(child) for child in children), key=len, default="")
        if not children or " : " in label or label.startswith(("expand at ", "address ")):
            kind = label.rsplit(" : ", 1)[-1].rsplit(" -> ", 1)[-1].rsplit(" to ", 1)[-1]
            axes = re.search(r"(?:tensor<|^)((?:\d+x)+)", kind)
            return axes.group(1) if axes else ""
        # The result of a loop or branch has the shape of its last operand.
        return self.shape_of(children[-1] if label.startswith("value ") else children[0])

    def root_of(self, node: Node) -> str:
        """The base argument of an address, also through a loop."""
        label, children = self._operations[node]
        is_on_the_way = label.startswith(("address ", "tt.splat ", "tt.broadcast ", "start of loop ", "iteration"))
        if is_on_the_way:
            return self.root_of(children[0])
        return label.removeprefix("argument ").split(":", 1)[0]

    def difference(self, left: Node, right: Node) -> tuple[str, str]:
        """The differing operations nearest to the arguments, on one path."""
        while True:
            (left_label, left_children), (right_label, right_children) = self._operations[left], self._operations[right]
            if left_label != right_label or len(left_children) != len(right_children):
                return left_label, right_label
            common = Counter(left_children) & Counter(right_children)
            unmatched = (
                list((Counter(left_children) - common).elements()),
                list((Counter(right_children) - common).elements()),
            )
            if not unmatched[0]:
                # The same operands in another order.
                return f"{left_label} (operands in another order)", right_label
            pairs = [pair for pair in zip(left_children, right_children, strict=True) if pair[0] != pair[1]]
            left, right = next(
                (pair for pair in pairs if pair[0] in unmatched[0] and pair[1] in unmatched[1]), pairs[0]
            )


def sort_commutative(label: str, children: Sequence[Node]) -> Sequence[Node]:
    """Sorts the operands of a commutative operation."""
    return sorted(children) if _commutes(label) and len(children) == 2 else children


def _commutes(label: str) -> bool:
    return label.split(" ", 1)[0] in COMMUTE or label.startswith(SYMMETRIC)
