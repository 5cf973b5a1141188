"""Compares two kernels as dataflow graphs of Triton's IR (TTIR).

Names of values, the order of pure operations and the order of commutative operands do not matter. Operations with
effects keep their order, and a load depends on the writes before it. Loop-carried variables are equal if their starts
and updates are equal: partition refinement finds the classes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .index_sums import IndexSums
from .structured import is_inline, structured
from .value_graph import Node, ValueGraph, sort_commutative

# A string, such as inline assembly, or the name of a value.
USE = re.compile(r'"[^"]*"|(%[\w.$-]+(?:#\d+)?)')
# One name for all results of an operation, `%0:2`, or a name for each, `%left, %right`.
RESULTS = re.compile(r"((?:%[\w.$-]+, )*%[\w.$-]+)(?::(\d+))? = ")
FUNCTION = re.compile(r"tt\.func (public|private) @([\w.$\"-]+)\(")
LOOP = re.compile(r"scf\.for (unsigned )?(%\S+) = (%\S+) to (%\S+) step (%\S+) (?:iter_args\((.*?)\) -> )?")
EXPAND = re.compile(r"tt\.expand_dims % \{axis = (\d+) : i32\} : tensor<((?:\d+x)+)\S+ -> tensor<((?:\d+x)+)")
CAT = re.compile(r"tt\.cat %, % : tensor<(\d+)x([^>]+)> -> (tensor<.*>)$")
RESHAPE = re.compile(r"tt\.reshape % (.*): (tensor<[^>]*>) -> (tensor<.*>)$")
PAIR = re.compile(r"(%[\w.$-]+) = (%[\w.$-]+(?:#\d+)?)")

# Operations without effects. Any other is taken to have one.
PURE = re.compile(
    r"(arith|math|ub)\.|tt\.(splat|unsplat|broadcast|expand_dims|addptr|make_range|get_program_id|get_num_programs|"
    r"reshape|trans|dot|dot_scaled|reduce|scan|cat|join|split|bitcast|int_to_ptr|ptr_to_int|fp_to_fp|clampf|"
    r"precise_sqrt|precise_divf|mulhiui|histogram|gather|make_tensor_descriptor|map_elementwise)\b"
)
READ = re.compile(r"tt\.(load|descriptor_load|descriptor_gather)\b")
# Index of the mask operand of an access.
MASK_INDICES = {"tt.load": 1, "tt.store": 2}
TERMINATORS = ("scf.yield", "scf.condition", "tt.reduce.return", "tt.scan.return", "tt.map_elementwise.return")

# Induction variables of a loop without any.
NO_INDUCTION: Mapping[int, Node] = {}

Environment = dict[str, Node]
# The name of an argument of the other kernel, or the factors of a product of its arguments.
Name = str | tuple[str | int, ...]


@dataclass(frozen=True)
class Views:
    """Rules for comparing a kernel with views to one that computes its pointers.

    Indices and their bounds are canonical sums of products, assumed not to overflow. An induction variable equals its
    start plus step times iteration. Masks omit conjuncts that are always true. Elementwise operations commute with
    ``expand_dims``. A masked load without padding through an argument in ``opened`` has a padding of 0, as a view has.
    """

    sums: IndexSums
    opened: frozenset[str] = frozenset()


@dataclass
class _Block:
    """The effects of a block in order, and the operands of its terminator."""

    effects: list[Node]
    results: list[Node]
    end: int


class _Reader:
    def __init__(self, text: str, graph: ValueGraph, views: Views | None = None) -> None:
        self._views = views
        lines = [line for each in text.splitlines() if (line := each.strip()) and not line.startswith("#")]
        self._lines = structured(lines)
        self._graph = graph
        self._depth = 0
        self._memory = graph.node("memory at the start")
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
        nodes = [self._graph.node(f"argument {each}: {kind}") for each in factors if isinstance(each, str)]
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
        yielded: list[Node] = []
        while not self._lines[at].startswith("}"):
            line = self._lines[at]
            match = RESULTS.match(line)
            text = line[match.end() :] if match else line
            name = text.split(" ", 1)[0].split("(", 1)[0].strip('"')
            if name in TERMINATORS:
                yielded = self._uses(text, environment)
                at += 1
                continue
            results, at = self._operation(name, text, at, environment, effects)
            if match:
                self._define(match, results, environment)
        return _Block(effects, yielded, at)

    def _define(self, match: re.Match[str], results: list[Node], environment: Environment) -> None:
        names, count = match.group(1).split(", "), match.group(2)
        if count is not None:
            names = [f"{names[0]}#{i}" for i in range(int(count))]
        if len(names) == 1 and count is None:
            environment[names[0]] = results[0]
            return
        for i, name in enumerate(names):
            environment[name] = results[i] if i < len(results) else self._graph.node(f"result {i}", results[0])

    def _uses(self, text: str, environment: Environment) -> list[Node]:
        return [environment[use] for use in USE.findall(text) if use]

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
        label = _as_bit_ops(_without_names(text))
        if name == "arith.select" and ", " not in label.split(" : ")[1]:
            return [self._graph.chosen(*children)], at + 1
        if self._views is not None:
            same = self._views.sums.truth(label, children)
            if same is not None:
                return [same], at + 1
            label, children = self._as_view(name, label, children, self._views)
        if name == "tt.cat":
            label, children = self._in_order(label, children)
        if name == "tt.reshape":
            label, children = self._one_reshape(label, children)
        children = list(sort_commutative(label, children))
        if name == "tt.call":
            callee = re.search(r"@([\w.$\"-]+)", text)
            assert callee is not None
            start = self._start_of(callee.group(1))
            if is_inline(self._lines[start]):
                return self._inlined(start, children, effects), at + 1
            label = label.replace(callee.group(0), "@")
            children.append(self._callee(callee.group(1)))
        is_load = READ.match(text) is not None and "isVolatile = true" not in text
        if is_load:
            children.append(self._memory)
        expand = EXPAND.match(label) if self._views is not None else None
        node = self._graph.expand_dims(children[0], *expand.groups()) if expand else self._graph.node(label, *children)
        is_pure = PURE.match(text) is not None or (name == "tt.elementwise_inline_asm" and "pure = true" in text)
        if not is_load and not is_pure and not (name == "tt.extern_elementwise" and "pure = true" in text):
            self._effect(node, effects)
        return [node], at + 1

    def _as_view(self, name: str, label: str, children: list[Node], views: Views) -> tuple[str, list[Node]]:
        """Canonicalizes an operation that a view may lower in another way."""
        if name == "tt.addptr":
            base, offset = self._graph.address_of(children[0])
            return f"address {label.split(' : ')[1].rsplit(', ', 1)[0]}", [base, views.sums.add(offset, children[1])]
        mask_index = MASK_INDICES.get(name, len(children))
        if mask_index < len(children):
            mask = views.sums.all_of([children[mask_index]])
            children = [*children[:mask_index], mask, *children[mask_index + 1 :]]
            if mask == self._graph.node("all"):
                # Drop a mask that is always true.
                return label.replace("%, " * (len(children) - 1) + "%", "%, " * (mask_index - 1) + "%", 1), children[
                    :mask_index
                ]
        if name == "tt.load" and len(children) == 2 and self._graph.root_of(children[0]) in views.opened:
            label, zero = _with_zero_padding(label)
            return label, [*children, self._graph.node(zero)]
        return label, children

    def _in_order(self, label: str, children: list[Node]) -> tuple[str, list[Node]]:
        """``tl.cat(x, y, can_reorder=True)``, which allows any order, as Triton concatenates in order."""
        match = CAT.match(label)
        if match is None:
            return label, children
        size, element, result = match.groups()
        joined, turned = f"tensor<{size}x2x{element}>", f"tensor<2x{size}x{element}>"
        pair = self._graph.node(f"tt.join %, % : tensor<{size}x{element}> -> {joined}", *children)
        rows = self._graph.node(f"tt.trans % {{order = array<i32: 1, 0>}} : {joined} -> {turned}", pair)
        return f"tt.reshape % : {turned} -> {result}", [rows]

    def _one_reshape(self, label: str, children: list[Node]) -> tuple[str, list[Node]]:
        """A reshape of a reshape as one, as Triton joins them. Only those of a concatenation are still apart."""
        inner_label, inner_children = self._graph.operation(children[0])
        inner, outer = RESHAPE.match(inner_label), RESHAPE.match(label)
        if inner is None or outer is None or inner[1]:
            return label, children
        return f"tt.reshape % {outer[1]}: {inner[2]} -> {outer[3]}", list(inner_children)

    def _effect(self, node: Node, effects: list[Node]) -> None:
        effects.append(node)
        self._memory = self._graph.node("memory after", self._memory, node)

    def _start_of(self, name: str) -> int:
        return next(i for i, line in enumerate(self._lines) if (f := FUNCTION.match(line)) and f.group(2) == name)

    def _inlined(self, start: int, arguments: list[Node], effects: list[Node]) -> list[Node]:
        """The results of a call in a loop or branch, where Triton does not inline functions of several blocks."""
        names = re.findall(r"(%[\w.$-]+): ", self._lines[start])
        block = self._block(start + 1, dict(zip(names, arguments, strict=True)))
        effects += block.effects
        return block.results

    def _callee(self, name: str) -> Node:
        if name not in self._functions:
            start = self._start_of(name)
            memory, self._memory = self._memory, self._graph.node("memory at a call")
            self._functions[name] = self._graph.node("function", *self._function(start, None))
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
            body_environment = {**environment, index: self._index(bounds)}
            body_environment |= {argument: column for (argument, _), column in zip(pairs, columns, strict=True)}
            block = self._block(at + 1, body_environment)
            return block, block.results

        induction = self._induction_variables(pairs, environment, bounds, body)
        block, next_columns = self._refine_columns(pairs, environment, body, induction)
        attributes = self._lines[block.end][1:].strip()
        # The order of loop-carried variables and of their types does not matter: each start value has its type.
        label = f"scf.for {sign or ''}{attributes}".strip()
        carried_columns = {column for i, column in enumerate(next_columns) if i not in induction}
        loop = self._graph.node(label, *bounds, *block.effects, *sorted(carried_columns))
        if block.effects:
            self._effect(loop, effects)
        return [self._graph.node("value after a loop", loop, column) for column in next_columns] or [
            loop
        ], block.end + 1

    def _index(self, bounds: list[Node]) -> Node:
        """The index of the open loop in one iteration."""
        if self._views is None:
            return self._graph.node(f"index of loop {self._depth}", *bounds)
        iteration = self._graph.node(f"iteration of loop {self._depth}", *bounds)
        return self._views.sums.index(bounds[0], bounds[2], iteration)

    def _induction_variables(
        self, pairs: list[tuple[str, str]], environment: Environment, bounds: list[Node], body: Any
    ) -> dict[int, Node]:
        """The induction variables among a loop's variables, by index: each as a function of the iteration."""
        if self._views is None or not pairs:
            return {}
        memory_before = self._memory
        self._depth += 1
        starts = [environment[start] for _, start in pairs]
        columns = [self._graph.node(f"column {i} of loop {self._depth}", start) for i, start in enumerate(starts)]
        self._memory = self._graph.node(f"memory in loop {self._depth}", memory_before)
        iteration = self._graph.node(f"iteration of loop {self._depth}", *bounds)
        varying = frozenset([*columns, iteration, self._memory])
        _, results = body(columns)
        self._depth -= 1
        self._memory = memory_before
        values = [
            self._views.sums.induction_value(start, column, each, iteration, varying)
            for start, column, each in zip(starts, columns, results, strict=True)
        ]
        return {i: each for i, each in enumerate(values) if each is not None}

    def _while(self, text: str, at: int, environment: Environment, effects: list[Node]) -> tuple[list[Node], int]:
        pairs = PAIR.findall(text)

        def body(columns: list[Node]) -> tuple[_Block, list[Node]]:
            condition_environment = {**environment}
            condition_environment |= {argument: column for (argument, _), column in zip(pairs, columns, strict=True)}
            condition = self._block(at + 1, condition_environment)
            after = condition.end + 1
            body_environment = {**environment}
            if self._lines[after].startswith("^"):
                arguments = re.findall(r"(%[\w.$-]+):", self._lines[after])
                body_environment |= {name: node for name, node in zip(arguments, condition.results[1:], strict=True)}
                after += 1
            loop_body = self._block(after, body_environment)
            body_effects = self._graph.node("do", *loop_body.effects)
            return _Block(
                [*condition.effects, body_effects, *condition.results], condition.results[1:], loop_body.end
            ), loop_body.results

        block, next_columns = self._refine_columns(pairs, environment, body)
        loop = self._graph.node("scf.while", *block.effects, *sorted(set(next_columns)))
        self._effect(loop, effects)
        return [self._graph.node("value after a loop", loop, node) for node in block.results] or [loop], block.end + 1

    def _refine_columns(
        self,
        pairs: list[tuple[str, str]],
        environment: Environment,
        body: Any,
        induction: Mapping[int, Node] = NO_INDUCTION,
    ) -> tuple[_Block, list[Node]]:
        """Reads a loop's body until the partition of its variables is stable, by start and by update."""
        memory_before = self._memory
        self._depth += 1
        columns = [
            induction.get(i, self._graph.node(f"start of loop {self._depth}", environment[start]))
            for i, (_, start) in enumerate(pairs)
        ]
        memory = self._graph.node(f"memory in loop {self._depth}", memory_before)
        while True:
            self._memory = memory
            block, results = body(columns)
            if self._memory == memory and memory != memory_before:
                # The loop writes no memory.
                memory = memory_before
                continue
            next_columns = [
                induction.get(i, self._graph.node("iteration", column, each))
                for i, (column, each) in enumerate(zip(columns, results, strict=True))
            ]
            if len(set(next_columns)) == len(set(columns)):
                break
            columns = next_columns
        self._depth -= 1
        self._memory = memory_before
        return block, next_columns

    def _regions(
        self, name: str, text: str, at: int, environment: Environment, effects: list[Node]
    ) -> tuple[list[Node], int]:
        """A branch, or an operation with a region per element."""
        operands = self._uses(text, environment)
        blocks: list[_Block] = []
        memory_before = self._memory
        end = at
        while True:
            self._memory = memory_before
            region_environment = {**environment}
            self._depth += 1
            first = end + 1
            if self._lines[first].startswith("^"):
                arguments = re.findall(r"(%[\w.$-]+): ([^,)]+)", self._lines[first])
                region_environment |= {
                    each: self._graph.node(f"{i}: {kind} of region {self._depth}")
                    for i, (each, kind) in enumerate(arguments)
                }
                first += 1
            blocks.append(self._block(first, region_environment))
            self._depth -= 1
            end = blocks[-1].end
            if not self._lines[end].endswith("{"):
                break
        self._memory = memory_before
        nodes = [self._graph.node("region", *block.effects) for block in blocks]
        label = f"{_without_names(text)} {self._lines[end][1:].strip()}"
        if name == "scf.if":
            label = "scf.if"
            results = [
                self._graph.chosen(operands[0], *each)
                for each in zip(*(block.results for block in blocks), strict=True)
            ]
        else:
            nodes += [self._graph.node("gives", *block.results) for block in blocks]
            results = []
        node = self._graph.node(label, *operands, *nodes)
        if any(block.effects for block in blocks) or (name != "scf.if" and not PURE.match(text.strip('"'))):
            self._effect(node, effects)
        return results or [node], end + 1


def _without_names(text: str) -> str:
    return USE.sub(lambda match: "%" if match[1] else match[0], text)


def _as_bit_ops(label: str) -> str:
    """Rewrites arithmetic on i1 as bit operations: a product is a conjunction, a sum an exclusive or."""
    if not re.search(r": (tensor<[\dx]*xi1>|i1)$", label):
        return label
    return label.replace("arith.muli ", "arith.andi ").replace("arith.addi ", "arith.xori ")


def _with_zero_padding(label: str) -> tuple[str, str]:
    """Adds a padding of 0 to a masked load without one. Returns the label and the IR of the constant."""
    kind = re.sub(r"!tt\.ptr<(\w+)>", r"\1", label.rsplit(" : ", 1)[1])
    element = kind.removeprefix("tensor<").removesuffix(">").rsplit("x", 1)[-1]
    value = "0.000000e+00" if element.startswith(("f", "bf")) else "false" if element == "i1" else "0"
    text = f"dense<{value}>" if kind.startswith("tensor") else value
    constant = "arith.constant false" if kind == "i1" else f"arith.constant {text} : {kind}"
    return label.replace("tt.load %, %", "tt.load %, %, %", 1), constant


def difference(
    left_text: str,
    left_names: Sequence[str],
    right_text: str,
    right_names: Sequence[Name],
    *,
    views: Sequence[str] | None = None,
) -> tuple[str, str] | None:
    """The first operations of two kernels that differ, or None if the kernels are equal.

    The names map the arguments of one kernel to those of the other, or to products of them. Both lists have the order
    of the IR's arguments. ``views`` are the arguments that the right kernel accesses through views.
    """
    graph = ValueGraph()
    sums = IndexSums(graph)
    left_effects = _Reader(left_text, graph, None if views is None else Views(sums, frozenset(views))).kernel(
        left_names
    )
    right_effects = _Reader(right_text, graph, None if views is None else Views(sums)).kernel(right_names)
    for pair in zip(left_effects, right_effects, strict=False):
        if pair[0] != pair[1]:
            return graph.difference(*pair)
    if len(left_effects) == len(right_effects):
        return None
    longer, longer_side = (left_effects, 0) if len(left_effects) > len(right_effects) else (right_effects, 1)
    extra = graph.difference(longer[min(len(left_effects), len(right_effects))], graph.node("nothing more"))[0]
    return (extra, "nothing more") if longer_side == 0 else ("nothing more", extra)
