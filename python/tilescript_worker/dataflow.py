"""Whether two kernels are the same program to Triton: their IR (TTIR) compared as graphs of data.

Names of values, the order of pure operations and that of commuting operands do not matter. Operations with effects
keep their order, and a load stands after the same writes. What a loop carries is told apart by where it starts and
how it changes: columns are refined until no more of them differ.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

USE = re.compile(r"%[\w.$-]+(?:#\d+)?")
# One name for all results of an operation, `%0:2`, or a name for each, `%left, %right`.
RESULTS = re.compile(r"((?:%[\w.$-]+, )*%[\w.$-]+)(?::(\d+))? = ")
FUNCTION = re.compile(r"tt\.func (public|private) @([\w.$\"-]+)\(")
LOOP = re.compile(r"scf\.for (unsigned )?(%\S+) = (%\S+) to (%\S+) step (%\S+) (?:iter_args\((.*?)\) -> )?")
EXPAND = re.compile(r"tt\.expand_dims % \{axis = (\d+) : i32\} : tensor<((?:\d+x)+)\S+ -> tensor<((?:\d+x)+)")
PAIR = re.compile(r"(%[\w.$-]+) = (%[\w.$-]+(?:#\d+)?)")

COMMUTE = frozenset(
    "arith.addi arith.muli arith.addf arith.mulf arith.andi arith.ori arith.xori arith.maxnumf arith.minnumf "
    "arith.maximumf arith.minimumf arith.maxsi arith.minsi arith.maxui arith.minui".split()
)
SYMMETRIC = ("arith.cmpi eq,", "arith.cmpi ne,", "arith.cmpf oeq,", "arith.cmpf une,")
# Operations without effects. Any other is taken to have one.
PURE = re.compile(
    r"(arith|math|ub)\.|tt\.(splat|unsplat|broadcast|expand_dims|addptr|make_range|get_program_id|get_num_programs|"
    r"reshape|trans|dot|dot_scaled|reduce|scan|cat|join|split|bitcast|int_to_ptr|ptr_to_int|fp_to_fp|clampf|"
    r"precise_sqrt|precise_divf|mulhiui|histogram|gather|make_tensor_descriptor|map_elementwise)\b"
)
READ = re.compile(r"tt\.(load|descriptor_load|descriptor_gather)\b")
TERMINATORS = ("scf.yield", "scf.condition", "tt.reduce.return", "tt.scan.return", "tt.map_elementwise.return")

Node = int
Environment = dict[str, Node]


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

    def sum_of(self, node: Node) -> list[Node]:
        """What an offset adds up. A tile of one number, or of one row, adds what that number or row does."""
        label, children = self._made[node]
        if label.startswith(("tt.splat ", "tt.broadcast ", "arith.addi ")):
            return [part for child in children for part in self.sum_of(child)]
        return [node]

    def address_of(self, node: Node) -> tuple[Node, list[Node]]:
        """What an address starts from, and the offsets that are added to it."""
        label, children = self._made[node]
        if label.startswith(("tt.splat ", "tt.broadcast ")):
            return self.address_of(children[0])
        if label.startswith("address "):
            return children[0], list(children[1:])
        return node, []

    def expanded(self, node: Node, axis: str, before: str, after: str) -> Node:
        """A tile with an axis of length 1 more: of what is computed for each element, that of its operands."""
        label, children = self._made[node]
        name = label.split(" ", 1)[0]
        if not name.startswith("arith.") and name != "tt.splat":
            return self.node(f"expand at {axis} to {after}", node)
        if name != "tt.splat":
            children = tuple(self.expanded(child, axis, before, after) for child in children)
        return self.node(label.replace(f"tensor<{before}", f"tensor<{after}"), *_in_order(label, children))

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


@dataclass(frozen=True)
class Views:
    """How a kernel with views is compared with one that computes its pointers.

    Addresses are sums: it does not matter in which order offsets are added, as they fit their integers. What is
    computed for each element may get its further axes before or after. A masked load through one of these arguments
    that leaves its other lanes open has 0 in them, as a view has.
    """

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

    def kernel(self, names: Sequence[str]) -> list[Node]:
        """The effects of the kernel, whose arguments have these names."""
        start = next(i for i, line in enumerate(self._lines) if line.startswith("tt.func public"))
        return self._function(start, names)

    def _function(self, start: int, names: Sequence[str] | None) -> list[Node]:
        head = self._lines[start]
        arguments = re.findall(r"(%[\w.$-]+): ([^,{)]+)", head[head.index("(") :])
        if names is not None and len(names) != len(arguments):
            raise ValueError(f"the kernel has {len(arguments)} arguments at run time, not {len(names)}")
        environment = {
            name: self._nodes.node(f"argument {names[i] if names else i}: {kind.strip()}")
            for i, (name, kind) in enumerate(arguments)
        }
        return self._block(start + 1, environment).effects

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
            label, children = self._as_view(name, label, children, self._views)
        children = list(_in_order(label, children))
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
            base, offsets = self._nodes.address_of(children[0])
            offsets += self._nodes.sum_of(children[1])
            return f"address {label.split(' : ')[1].rsplit(', ', 1)[0]}", [base, *sorted(offsets)]
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
            inside = {**environment, index: self._nodes.node(f"index of loop {self._depth}", *bounds)}
            inside |= {argument: column for (argument, _), column in zip(pairs, columns, strict=True)}
            block = self._block(at + 1, inside)
            return block, block.given

        block, turns = self._refined(pairs, environment, body)
        attributes = self._lines[block.end][1:].strip()
        # The order of what is carried does not matter, so neither does that of its types: each start has one.
        label = f"scf.for {sign or ''}{attributes}".strip()
        loop = self._nodes.node(label, *bounds, *block.effects, *sorted(set(turns)))
        if block.effects:
            self._effect(loop, effects)
        return [self._nodes.node("value after a loop", loop, turn) for turn in turns] or [loop], block.end + 1

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

    def _refined(self, pairs: list[tuple[str, str]], environment: Environment, body: Any) -> tuple[_Block, list[Node]]:
        """Reads a loop's body until what it carries is told apart; gives it with each column's start and change."""
        before = self._memory
        self._depth += 1
        columns = [self._nodes.node(f"start of loop {self._depth}", environment[start]) for _, start in pairs]
        memory = self._nodes.node(f"memory in loop {self._depth}", before)
        while True:
            self._memory = memory
            block, given = body(columns)
            if self._memory == memory and memory != before:
                # Nothing is written in it.
                memory = before
                continue
            turns = [self._nodes.node("turn", column, each) for column, each in zip(columns, given, strict=True)]
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


def _in_order(label: str, children: Sequence[Node]) -> Sequence[Node]:
    """Operands that commute, sorted."""
    commutes = label.split(" ", 1)[0] in COMMUTE or label.startswith(SYMMETRIC)
    return sorted(children) if commutes and len(children) == 2 else children


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
    left: str, left_names: Sequence[str], right: str, right_names: Sequence[str], *, views: Sequence[str] | None = None
) -> tuple[str, str] | None:
    """The first operations of two kernels that differ, or None if the kernels are equal.

    The names say which argument of one kernel is which of the other; both lists are in the order of the IR's arguments.
    ``views`` are the arguments whose accesses are views in the right kernel.
    """
    nodes = Nodes()
    opened = None if views is None else Views(frozenset(views))
    one = _Reader(left, nodes, opened).kernel(left_names)
    other = _Reader(right, nodes, None if views is None else Views()).kernel(right_names)
    for pair in zip(one, other, strict=False):
        if pair[0] != pair[1]:
            return nodes.difference(*pair)
    if len(one) == len(other):
        return None
    longer, place = (one, 0) if len(one) > len(other) else (other, 1)
    more = nodes.difference(longer[min(len(one), len(other))], nodes.node("nothing more"))[0]
    return (more, "nothing more") if place == 0 else ("nothing more", more)
