"""Whether two kernels are the same program to Triton: their IR (TTIR) compared as graphs of data.

Names of values, the order of pure operations and that of commuting operands do not matter. Operations with effects
keep their order, and a load stands after the same writes. What a loop carries is told apart by where it starts and
how it changes: columns are refined until no more of them differ.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .index_sums import IndexSums
from .value_graph import Node, Nodes, in_order

USE = re.compile(r"%[\w.$-]+(?:#\d+)?")
# One name for all results of an operation, `%0:2`, or a name for each, `%left, %right`.
RESULTS = re.compile(r"((?:%[\w.$-]+, )*%[\w.$-]+)(?::(\d+))? = ")
FUNCTION = re.compile(r"tt\.func (public|private) @([\w.$\"-]+)\(")
LOOP = re.compile(r"scf\.for (unsigned )?(%\S+) = (%\S+) to (%\S+) step (%\S+) (?:iter_args\((.*?)\) -> )?")
EXPAND = re.compile(r"tt\.expand_dims % \{axis = (\d+) : i32\} : tensor<((?:\d+x)+)\S+ -> tensor<((?:\d+x)+)")
PAIR = re.compile(r"(%[\w.$-]+) = (%[\w.$-]+(?:#\d+)?)")

# Operations without effects. Any other is taken to have one.
PURE = re.compile(
    r"(arith|math|ub)\.|tt\.(splat|unsplat|broadcast|expand_dims|addptr|make_range|get_program_id|get_num_programs|"
    r"reshape|trans|dot|dot_scaled|reduce|scan|cat|join|split|bitcast|int_to_ptr|ptr_to_int|fp_to_fp|clampf|"
    r"precise_sqrt|precise_divf|mulhiui|histogram|gather|make_tensor_descriptor|map_elementwise)\b"
)
READ = re.compile(r"tt\.(load|descriptor_load|descriptor_gather)\b")
# Which operand of an access is its mask, if it has one.
MASK_PLACES = {"tt.load": 1, "tt.store": 2}
TERMINATORS = ("scf.yield", "scf.condition", "tt.reduce.return", "tt.scan.return", "tt.map_elementwise.return")

# Of the values that a loop carries.
NOTHING_MOVES: Mapping[int, Node] = {}

Environment = dict[str, Node]
# An argument by its name in the other kernel, or by the names and numbers of which it is the product.
Name = str | tuple[str | int, ...]


@dataclass(frozen=True)
class Views:
    """How a kernel with views is compared with one that computes its pointers.

    Indices and the bounds that they are compared with are sums of products, as they fit their integers: it does not
    matter how a sum is written, nor whether a loop adds the same amount in each turn or multiplies it by the number of
    the turn. A mask has no parts that always hold. What is computed for each element may get its further axes before or
    after. A masked load through one of these arguments that leaves its other lanes open has 0 in them, as a view has.
    """

    sums: IndexSums
    opened: frozenset[str] = frozenset()


@dataclass
class _Block:
    """What a block does: its effects in order, and what its terminator hands on."""

    effects: list[Node]
    given: list[Node]
    end: int


class _Reader:
    def __init__(self, text: str, nodes: Nodes, views: Views | None = None) -> None:
        self._views = views
        self._lines = [line for each in text.splitlines() if (line := each.strip()) and not line.startswith("#")]
        self._nodes = nodes
        self._depth = 0
        self._memory = nodes.node("memory at the start")
        self._functions: dict[str, Node] = {}

    def kernel(self, names: Sequence[Name]) -> list[Node]:
        """The effects of the kernel, whose arguments have these names."""
        start = next(i for i, line in enumerate(self._lines) if line.startswith("tt.func public"))
        return self._function(start, names)

    def _function(self, start: int, names: Sequence[Name] | None) -> list[Node]:
        head = self._lines[start]
        arguments = re.findall(r"(%[\w.$-]+): ([^,{)]+)", head[head.index("(") :])
        if names is not None and len(names) != len(arguments):
            raise ValueError(f"the kernel has {len(arguments)} arguments at run time, not {len(names)}")
        environment = {
            name: self._argument(names[i] if names else str(i), kind.strip())
            for i, (name, kind) in enumerate(arguments)
        }
        return self._block(start + 1, environment).effects

    def _argument(self, name: Name, kind: str) -> Node:
        """An argument, or the product of several ones of the other kernel."""
        factors = (name,) if isinstance(name, str) else name
        nodes = [self._nodes.node(f"argument {each}: {kind}") for each in factors if isinstance(each, str)]
        if len(nodes) == len(factors) == 1:
            return nodes[0]
        if self._views is None:
            raise ValueError("a product of arguments is known to a comparison for views only")
        return self._views.sums.node(
            {tuple(sorted(nodes)): math.prod(each for each in factors if isinstance(each, int))}
        )

    def _block(self, at: int, environment: Environment) -> _Block:
        """Reads up to the line that closes the region."""
        effects: list[Node] = []
        given: list[Node] = []
        while not self._lines[at].startswith("}"):
            line = self._lines[at]
            if line.startswith("^"):
                self._label(line, environment, effects)
                at += 1
                continue
            found = RESULTS.match(line)
            text = line[found.end() :] if found else line
            name = text.split(" ", 1)[0].split("(", 1)[0].strip('"')
            if name in TERMINATORS:
                given = self._uses(text, environment)
                at += 1
                continue
            results, at = self._operation(name, text, at, environment, effects)
            if found:
                self._define(found, results, environment)
        return _Block(effects, given, at)

    def _define(self, found: re.Match[str], results: list[Node], environment: Environment) -> None:
        names, count = found.group(1).split(", "), found.group(2)
        if count is not None:
            names = [f"{names[0]}#{i}" for i in range(int(count))]
        if len(names) == 1 and count is None:
            environment[names[0]] = results[0]
            return
        for i, name in enumerate(names):
            environment[name] = results[i] if i < len(results) else self._nodes.node(f"result {i}", results[0])

    def _label(self, line: str, environment: Environment, effects: list[Node]) -> None:
        """A block that is jumped to."""
        label = re.match(r"\^\w+", line)
        assert label is not None
        name = label.group(0)
        for i, (argument, kind) in enumerate(re.findall(r"(%[\w.$-]+): ([^,)]+)", line)):
            environment[argument] = self._nodes.node(f"{name} takes {i}: {kind}")
        effects.append(self._nodes.node(f"block {name}"))
        self._memory = self._nodes.node(f"memory at {name}")

    def _uses(self, text: str, environment: Environment) -> list[Node]:
        return [environment[use] for use in USE.findall(text)]

    def _operation(
        self, name: str, text: str, at: int, environment: Environment, effects: list[Node]
    ) -> tuple[list[Node], int]:
        if text.endswith("{"):
            if name == "scf.for":
                return self._for(text, at, environment, effects)
            if name == "scf.while":
                return self._while(text, at, environment, effects)
            return self._regions(name, text, at, environment, effects)
        children = self._uses(text, environment)
        label = _of_bits(USE.sub("%", text))
        if self._views is not None:
            same = self._views.sums.truth(label, children)
            if same is not None:
                return [same], at + 1
            label, children = self._as_view(name, label, children, self._views)
        children = list(in_order(label, children))
        if name == "tt.call":
            callee = re.search(r"@([\w.$\"-]+)", text)
            assert callee is not None
            label = label.replace(callee.group(0), "@")
            children.append(self._called(callee.group(1)))
        is_read = READ.match(text) is not None and "isVolatile = true" not in text
        if is_read:
            children.append(self._memory)
        expand = EXPAND.match(label) if self._views is not None else None
        made = self._nodes.expanded(children[0], *expand.groups()) if expand else self._nodes.node(label, *children)
        is_pure = PURE.match(text) is not None or (name == "tt.elementwise_inline_asm" and "pure = true" in text)
        if not is_read and not is_pure and not (name == "tt.extern_elementwise" and "pure = true" in text):
            self._effect(made, effects)
        return [made], at + 1

    def _as_view(self, name: str, label: str, children: list[Node], views: Views) -> tuple[str, list[Node]]:
        """An operation up to what a view may do otherwise than pointer arithmetic."""
        if name == "tt.addptr":
            base, before = self._nodes.address_of(children[0])
            return f"address {label.split(' : ')[1].rsplit(', ', 1)[0]}", [base, views.sums.sum(before, children[1])]
        place = MASK_PLACES.get(name, len(children))
        if place < len(children):
            mask = views.sums.all_of([children[place]])
            children = [*children[:place], mask, *children[place + 1 :]]
            if mask == self._nodes.node("all"):
                # A mask that always holds is none.
                return label.replace("%, " * (len(children) - 1) + "%", "%, " * (place - 1) + "%", 1), children[:place]
        if name == "tt.load" and len(children) == 2 and self._nodes.root_of(children[0]) in views.opened:
            label, zero = _with_zero(label)
            return label, [*children, self._nodes.node(zero)]
        return label, children

    def _effect(self, made: Node, effects: list[Node]) -> None:
        effects.append(made)
        self._memory = self._nodes.node("memory after", self._memory, made)

    def _called(self, name: str) -> Node:
        if name not in self._functions:
            start = next(i for i, line in enumerate(self._lines) if (f := FUNCTION.match(line)) and f.group(2) == name)
            memory, self._memory = self._memory, self._nodes.node("memory at a call")
            self._functions[name] = self._nodes.node("function", *self._function(start, None))
            self._memory = memory
        return self._functions[name]

    def _for(self, text: str, at: int, environment: Environment, effects: list[Node]) -> tuple[list[Node], int]:
        head = LOOP.match(text)
        if head is None:
            raise ValueError(f"a loop that is not understood: {text}")
        sign, index, start, end, step, carried = head.groups()
        bounds = [environment[each] for each in (start, end, step)]
        pairs = PAIR.findall(carried or "")

        def body(columns: list[Node]) -> tuple[_Block, list[Node]]:
            inside = {**environment, index: self._index(bounds)}
            inside |= {argument: column for (argument, _), column in zip(pairs, columns, strict=True)}
            block = self._block(at + 1, inside)
            return block, block.given

        moved = self._moved(pairs, environment, bounds, body)
        block, turns = self._refined(pairs, environment, body, moved)
        attributes = self._lines[block.end][1:].strip()
        # The order of what is carried does not matter, so neither does that of its types: each start has one.
        label = f"scf.for {sign or ''}{attributes}".strip()
        kept = {turn for i, turn in enumerate(turns) if i not in moved}
        loop = self._nodes.node(label, *bounds, *block.effects, *sorted(kept))
        if block.effects:
            self._effect(loop, effects)
        return [self._nodes.node("value after a loop", loop, turn) for turn in turns] or [loop], block.end + 1

    def _index(self, bounds: list[Node]) -> Node:
        """The index of the loop that is open, in one of its turns."""
        if self._views is None:
            return self._nodes.node(f"index of loop {self._depth}", *bounds)
        return self._views.sums.index(bounds[0], bounds[2], self._nodes.node(f"turn of loop {self._depth}", *bounds))

    def _moved(
        self, pairs: list[tuple[str, str]], environment: Environment, bounds: list[Node], body: Any
    ) -> dict[int, Node]:
        """What a loop carries that changes by the same amount in each turn, as the turn has it, by its place."""
        if self._views is None or not pairs:
            return {}
        before = self._memory
        self._depth += 1
        starts = [environment[start] for _, start in pairs]
        columns = [self._nodes.node(f"column {i} of loop {self._depth}", start) for i, start in enumerate(starts)]
        self._memory = self._nodes.node(f"memory in loop {self._depth}", before)
        turn = self._nodes.node(f"turn of loop {self._depth}", *bounds)
        varies = frozenset([*columns, turn, self._memory])
        _, given = body(columns)
        self._depth -= 1
        self._memory = before
        found = [
            self._views.sums.moved(start, column, each, turn, varies)
            for start, column, each in zip(starts, columns, given, strict=True)
        ]
        return {i: each for i, each in enumerate(found) if each is not None}

    def _while(self, text: str, at: int, environment: Environment, effects: list[Node]) -> tuple[list[Node], int]:
        pairs = PAIR.findall(text)

        def body(columns: list[Node]) -> tuple[_Block, list[Node]]:
            inside = {**environment}
            inside |= {argument: column for (argument, _), column in zip(pairs, columns, strict=True)}
            asked = self._block(at + 1, inside)
            after = asked.end + 1
            within = {**environment}
            if self._lines[after].startswith("^"):
                arguments = re.findall(r"(%[\w.$-]+):", self._lines[after])
                within |= {name: node for name, node in zip(arguments, asked.given[1:], strict=True)}
                after += 1
            worked = self._block(after, within)
            done = self._nodes.node("do", *worked.effects)
            return _Block([*asked.effects, done, *asked.given], asked.given[1:], worked.end), worked.given

        block, turns = self._refined(pairs, environment, body)
        loop = self._nodes.node("scf.while", *block.effects, *sorted(set(turns)))
        self._effect(loop, effects)
        return [self._nodes.node("value after a loop", loop, node) for node in block.given] or [loop], block.end + 1

    def _refined(
        self,
        pairs: list[tuple[str, str]],
        environment: Environment,
        body: Any,
        moved: Mapping[int, Node] = NOTHING_MOVES,
    ) -> tuple[_Block, list[Node]]:
        """Reads a loop's body until what it carries is told apart; gives it with each column's start and change."""
        before = self._memory
        self._depth += 1
        columns = [
            moved.get(i, self._nodes.node(f"start of loop {self._depth}", environment[start]))
            for i, (_, start) in enumerate(pairs)
        ]
        memory = self._nodes.node(f"memory in loop {self._depth}", before)
        while True:
            self._memory = memory
            block, given = body(columns)
            if self._memory == memory and memory != before:
                # Nothing is written in it.
                memory = before
                continue
            turns = [
                moved.get(i, self._nodes.node("turn", column, each))
                for i, (column, each) in enumerate(zip(columns, given, strict=True))
            ]
            if len(set(turns)) == len(set(columns)):
                break
            columns = turns
        self._depth -= 1
        self._memory = before
        return block, turns

    def _regions(
        self, name: str, text: str, at: int, environment: Environment, effects: list[Node]
    ) -> tuple[list[Node], int]:
        """A branch, or an operation with functions of elements."""
        operands = self._uses(text, environment)
        parts: list[_Block] = []
        before = self._memory
        end = at
        while True:
            self._memory = before
            inside = {**environment}
            self._depth += 1
            first = end + 1
            if self._lines[first].startswith("^"):
                arguments = re.findall(r"(%[\w.$-]+): ([^,)]+)", self._lines[first])
                inside |= {
                    each: self._nodes.node(f"{i}: {kind} of region {self._depth}")
                    for i, (each, kind) in enumerate(arguments)
                }
                first += 1
            parts.append(self._block(first, inside))
            self._depth -= 1
            end = parts[-1].end
            if not self._lines[end].endswith("{"):
                break
        self._memory = before
        nodes = [self._nodes.node("region", *part.effects) for part in parts]
        label = f"{USE.sub('%', text)} {self._lines[end][1:].strip()}"
        if name == "scf.if":
            label = "scf.if"
            results = [
                self._nodes.node("value of scf.if", *operands, *each)
                for each in zip(*(part.given for part in parts), strict=True)
            ]
        else:
            nodes += [self._nodes.node("gives", *part.given) for part in parts]
            results = []
        made = self._nodes.node(label, *operands, *nodes)
        if any(part.effects for part in parts) or (name != "scf.if" and not PURE.match(text.strip('"'))):
            self._effect(made, effects)
        return results or [made], end + 1


def _of_bits(label: str) -> str:
    """A product of single bits is their conjunction, and a sum what only one of them has."""
    if not re.search(r": (tensor<[\dx]*xi1>|i1)$", label):
        return label
    return label.replace("arith.muli ", "arith.andi ").replace("arith.addi ", "arith.xori ")


def _with_zero(label: str) -> tuple[str, str]:
    """A masked load that leaves its other lanes open, with 0 in them, and the IR of that constant."""
    kind = re.sub(r"!tt\.ptr<(\w+)>", r"\1", label.rsplit(" : ", 1)[1])
    element = kind.removeprefix("tensor<").removesuffix(">").rsplit("x", 1)[-1]
    value = "0.000000e+00" if element.startswith(("f", "bf")) else "false" if element == "i1" else "0"
    text = f"dense<{value}>" if kind.startswith("tensor") else value
    constant = "arith.constant false" if kind == "i1" else f"arith.constant {text} : {kind}"
    return label.replace("tt.load %, %", "tt.load %, %, %", 1), constant


def difference(
    left: str, left_names: Sequence[str], right: str, right_names: Sequence[Name], *, views: Sequence[str] | None = None
) -> tuple[str, str] | None:
    """The first operations of two kernels that differ, or None if the kernels are equal.

    The names say which argument of one kernel is which of the other, or the product of which; both lists are in the
    order of the IR's arguments. ``views`` are the arguments whose accesses are views in the right
    kernel.
    """
    nodes = Nodes()
    sums = IndexSums(nodes)
    one = _Reader(left, nodes, None if views is None else Views(sums, frozenset(views))).kernel(left_names)
    other = _Reader(right, nodes, None if views is None else Views(sums)).kernel(right_names)
    for pair in zip(one, other, strict=False):
        if pair[0] != pair[1]:
            return nodes.difference(*pair)
    if len(one) == len(other):
        return None
    longer, place = (one, 0) if len(one) > len(other) else (other, 1)
    more = nodes.difference(longer[min(len(one), len(other))], nodes.node("nothing more"))[0]
    return (more, "nothing more") if place == 0 else ("nothing more", more)
