"""A graph of operations, each of which it holds once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence, Set

COMMUTE = frozenset(
    "arith.addi arith.muli arith.addf arith.mulf arith.andi arith.ori arith.xori arith.maxnumf arith.minnumf "
    "arith.maximumf arith.minimumf arith.maxsi arith.minsi arith.maxui arith.minui".split()
)
SYMMETRIC = ("arith.cmpi eq,", "arith.cmpi ne,", "arith.cmpf oeq,", "arith.cmpf une,")
# Sums, comparisons and conjunctions in the one form that each of them has.
WRITTEN_OUT = ("sum", "not negative", "all")

Node = int


class Nodes:
    """Each operation once: two graphs are equal where their nodes have one number."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, tuple[Node, ...]], Node] = {}
        self._made: list[tuple[str, tuple[Node, ...]]] = []

    def node(self, label: str, *children: Node) -> Node:
        key = (label, children)
        if key not in self._numbers:
            self._numbers[key] = len(self._made)
            self._made.append(key)
        return self._numbers[key]

    def made(self, node: Node) -> tuple[str, tuple[Node, ...]]:
        return self._made[node]

    def reaches(self, nodes: Sequence[Node], targets: Set[Node]) -> bool:
        """Whether one of these nodes is computed from one of the targets, or is one."""
        left, met = list(nodes), set(nodes)
        while left:
            node = left.pop()
            if node in targets:
                return True
            new = [child for child in self._made[node][1] if child not in met]
            met.update(new)
            left += new
        return False

    def address_of(self, node: Node) -> tuple[Node, Node]:
        """What an address starts from, and the sum that is added to it."""
        label, children = self._made[node]
        if label.startswith(("tt.splat ", "tt.broadcast ")):
            return self.address_of(children[0])
        if label.startswith("address "):
            return children[0], children[1]
        return node, self.node("sum")

    def expanded(self, node: Node, axis: str, before: str, after: str) -> Node:
        """A tile with an axis of length 1 more: of what is computed for each element, that of its operands."""
        label, children = self._made[node]
        if label in WRITTEN_OUT or label.endswith(" times"):
            # Numbers have no axes.
            parts = [self.expanded(each, axis, before, after) if self.shape_of(each) else each for each in children]
            return self.node(label, *sorted(parts))
        name = label.split(" ", 1)[0]
        if not name.startswith("arith.") and name != "tt.splat":
            # Beside an axis of length 1 there is no telling which of the two is new.
            while int(axis) > 0 and after.split("x")[int(axis) - 1] == "1":
                axis = str(int(axis) - 1)
            return self.node(f"expand at {axis} to {after}", node)
        if name != "tt.splat":
            children = tuple(self.expanded(child, axis, before, after) for child in children)
        return self.node(label.replace(f"tensor<{before}", f"tensor<{after}"), *in_order(label, children))

    def shape_of(self, node: Node) -> str:
        """The axes of a tile, such as `16x32x`, and no text for a number."""
        label, children = self._made[node]
        if label in WRITTEN_OUT or label.endswith(" times"):
            return max((self.shape_of(child) for child in children), key=len, default="")
        if not children or " : " in label or label.startswith(("expand at ", "address ")):
            kind = label.rsplit(" : ", 1)[-1].rsplit(" -> ", 1)[-1].rsplit(" to ", 1)[-1]
            axes = re.search(r"(?:tensor<|^)((?:\d+x)+)", kind)
            return axes.group(1) if axes else ""
        # What loops and branches hand on is like its last part.
        return self.shape_of(children[-1] if label.startswith("value ") else children[0])

    def root_of(self, node: Node) -> str:
        """The argument that an address starts from, also where a loop moves it."""
        label, children = self._made[node]
        is_on_the_way = label.startswith(("address ", "tt.splat ", "tt.broadcast ", "start of loop ", "turn"))
        if is_on_the_way:
            return self.root_of(children[0])
        return label.removeprefix("argument ").split(":", 1)[0]

    def difference(self, left: Node, right: Node) -> tuple[str, str]:
        """The operations nearest to the arguments that differ, on one path."""
        while True:
            (one, below), (other, under) = self._made[left], self._made[right]
            if one != other or len(below) != len(under):
                return one, other
            common = Counter(below) & Counter(under)
            apart = list((Counter(below) - common).elements()), list((Counter(under) - common).elements())
            if not apart[0]:
                # The same operands in another order.
                return f"{one} (operands in another order)", other
            pairs = [pair for pair in zip(below, under, strict=True) if pair[0] != pair[1]]
            left, right = next((pair for pair in pairs if pair[0] in apart[0] and pair[1] in apart[1]), pairs[0])


def in_order(label: str, children: Sequence[Node]) -> Sequence[Node]:
    """Operands that commute, sorted."""
    commutes = label.split(" ", 1)[0] in COMMUTE or label.startswith(SYMMETRIC)
    return sorted(children) if commutes and len(children) == 2 else children
