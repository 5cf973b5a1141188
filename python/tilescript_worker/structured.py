"""Basic blocks of Triton's IR as nested branches: what a return in a branch becomes after Triton has inlined it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

NAME = r"%[\w.$-]+(?:#\d+)?"
LABEL = re.compile(r"(\^\w+)(?:\((.*?)\))?:")
TARGET = re.compile(r"(\^\w+)(?:\((.*?)\))?")
DEFINED = re.compile(rf"((?:{NAME}, )*{NAME})(?::\d+)? = ")


@dataclass
class _Block:
    arguments: list[str]
    lines: list[str] = field(default_factory=list)

    @property
    def targets(self) -> list[tuple[str, list[str]]]:
        """The blocks that follow, with their arguments."""
        last = self.lines[-1]
        if not last.startswith("cf."):
            return []
        return [(match[1], _names(match[2])) for match in TARGET.finditer(last)]


def structured(lines: Sequence[str]) -> list[str]:
    """Replaces the basic blocks of each function by ``scf.if``. Values of a branch that later code uses are yielded."""
    result: list[str] = []
    at = 0
    while at < len(lines):
        result.append(lines[at])
        at += 1
        if lines[at - 1].startswith("tt.func") and lines[at - 1].endswith("{"):
            end = _end_of_region(lines, at)
            body = lines[at:end]
            blocks = _with_one_end(_blocks(body)) if is_inline(lines[at - 1]) else _blocks(body)
            result += _Function(blocks).lines() if any(line.startswith("cf.") for line in body) else body
            at = end
    return result


def is_inline(head: str) -> bool:
    """True for a function that Triton would inline if its call were not in a loop or branch."""
    return head.startswith("tt.func private") and "noinline = false" in head


def _with_one_end(blocks: dict[str, _Block]) -> dict[str, _Block]:
    """The blocks of a function with one end, which yields the results."""
    ends = [block for block in blocks.values() if block.lines[-1].startswith("tt.return")]
    for block in ends:
        block.lines[-1] = f"cf.br ^end({block.lines[-1].removeprefix('tt.return').strip()})"
    results = [f"%result.{i}" for i in range(len(ends[0].targets[0][1]))]
    return {**blocks, "^end": _Block(results, [f"scf.yield {', '.join(results)}"])}


class _Function:
    def __init__(self, blocks: dict[str, _Block]) -> None:
        self._blocks = blocks
        self._reached: dict[str, list[str]] = {}

    def lines(self) -> list[str]:
        return self._path("", None, {})[0]

    def _path(self, label: str, stop: str | None, renamed: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
        """The lines from a block to the block ``stop``, and the values that replace block arguments in them."""
        names = dict(renamed)
        lines: list[str] = []
        while label != stop:
            block = self._blocks[label]
            last = block.lines[-1]
            targets = [(target, [names.get(each, each) for each in values]) for target, values in block.targets]
            lines += [_rename(line, names) for line in block.lines[: -1 if targets else None]]
            if not targets:
                break
            if len(targets) == 1:
                label, passed = targets[0]
            else:
                condition = _rename(last.split(" ", 1)[1].split(",", 1)[0], names)
                join = self._join([target for target, _ in targets])
                branch, label = self._branch(condition, targets, join, names), join or ""
                lines += branch
                if join is None:
                    break
                passed = self._blocks[join].arguments
            names |= dict(zip(self._blocks[label].arguments, passed, strict=True))
        return lines, names

    def _branch(
        self, condition: str, targets: list[tuple[str, list[str]]], join: str | None, renamed: Mapping[str, str]
    ) -> list[str]:
        """A branch whose arms end where they join."""
        arms = []
        for label, passed in targets:
            entered = {**renamed, **dict(zip(self._blocks[label].arguments, passed, strict=True))}
            lines, names = self._path(label, join, entered)
            defined = {name: name for line in _top_level(lines) for name in _defined(line)}
            replaced = {name: value for name, value in names.items() if value != renamed.get(name)}
            arms.append((lines, {**replaced, **defined}))
        (first, first_values), (second, second_values) = arms
        results = [name for name in first_values if name in second_values]
        head = f"{', '.join(results)} = scf.if {condition} {{" if results else f"scf.if {condition} {{"
        yields = [[f"scf.yield {', '.join(values[name] for name in results)}"] if results else [] for _, values in arms]
        return [head, *first, *yields[0], "} else {", *second, *yields[1], "}"]

    def _join(self, labels: list[str]) -> str | None:
        """The first block that all paths from these blocks reach."""
        first, *others = [self._common(label) for label in labels]
        return next((label for label in first if all(label in other for other in others)), None)

    def _common(self, label: str) -> list[str]:
        """The blocks that every path from a block reaches, in their order."""
        if label not in self._reached:
            targets = [target for target, _ in self._blocks[label].targets]
            join = targets[0] if len(targets) == 1 else self._join(targets) if targets else None
            self._reached[label] = [label, *(self._common(join) if join is not None else [])]
        return self._reached[label]


def _blocks(lines: Sequence[str]) -> dict[str, _Block]:
    """The blocks of a function by label. The first one has none."""
    blocks = {"": _Block([])}
    current = blocks[""]
    depth = 0
    for line in lines:
        label = LABEL.match(line) if depth == 0 else None
        if label is not None:
            current = blocks[label[1]] = _Block(_names(label[2]))
            continue
        depth += line.endswith("{") - line.startswith("}")
        current.lines.append(line)
    return blocks


def _end_of_region(lines: Sequence[str], start: int) -> int:
    depth = 1
    for i, line in enumerate(lines[start:], start):
        depth -= line.startswith("}")
        if depth == 0:
            return i
        depth += line.endswith("{")
    raise ValueError("a function without an end")


def _top_level(lines: Sequence[str]) -> list[str]:
    """The lines outside of nested regions."""
    result = []
    depth = 0
    for line in lines:
        depth -= line.startswith("}")
        if depth == 0:
            result.append(line)
        depth += line.endswith("{")
    return result


def _names(text: str | None) -> list[str]:
    return re.findall(NAME, text.split(" : ")[0] if " : " in text else text) if text else []


def _defined(line: str) -> list[str]:
    match = DEFINED.match(line)
    return match[1].split(", ") if match else []


def _rename(line: str, names: Mapping[str, str]) -> str:
    """Replaces names outside of strings."""
    return re.sub(rf'"[^"]*"|{NAME}', lambda match: names.get(match[0], match[0]), line)
