"""Whether the comparison of Triton's IR sees small changes: ``python bench/seeded_changes.py FOLDER COUNT [SEED]``.

Each Python file of the folder runs as a script, its launches are noted, and the IR of each kernel is changed in one
place: an operation, a predicate, a constant, an operand, the order of operands, a store that is left out. The
comparison must find each changed IR different from the original. So must that for kernels with views, unless the
change does nothing: a mask that holds for one more element than the tile has, or a number that cancels out. What it
finds equal is printed, to be read. Nothing is written.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

from tilescript_worker.dataflow import difference
from tilescript_worker.recording import record
from tilescript_worker.ttir import ttir

OTHERS = [
    ("arith.addf", "arith.subf"),
    ("arith.mulf", "arith.addf"),
    ("arith.subf", "arith.addf"),
    ("arith.divf", "arith.mulf"),
    ("arith.addi", "arith.subi"),
    ("arith.subi", "arith.addi"),
    ("arith.muli", "arith.addi"),
    ("arith.andi", "arith.ori"),
    ("arith.maxnumf", "arith.minnumf"),
    ("arith.cmpi slt", "arith.cmpi sle"),
    ("arith.cmpi sge", "arith.cmpi sgt"),
    ("arith.cmpi eq", "arith.cmpi ne"),
    ("math.exp ", "math.exp2 "),
    ("tt.get_program_id x", "tt.get_program_id y"),
]
CONSTANT = re.compile(r"(%\S+ = arith\.constant (?:dense<)?)(-?\d+)((?:>)? : (?:tensor<\S+x)?i\d+.*)")
ORDERED = re.compile(
    r"(%\S+ = (?:arith\.(?:sub|div|rem|cmp|shl|shr)\S*(?: (?!eq|ne|oeq|une)\w+,)?) )(%[\w#]+), (%[\w#]+)( .*)"
)
ADDED = re.compile(r"(%[\w]+) = (arith\.\S+|tt\.splat|tt\.load|math\.\S+) .*: (?:.* -> )?(\S+)$")


def changes(text: str, draw: random.Random) -> Iterator[str]:
    """Changed texts, in a random order."""
    lines = text.splitlines()
    places = list(range(len(lines)))
    draw.shuffle(places)
    for place in places:
        line = lines[place]
        for new in _changed(line, lines[:place], draw):
            if new != line:
                yield "\n".join([*lines[:place], *([] if new is None else [new]), *lines[place + 1 :]])


def _changed(line: str, before: list[str], draw: random.Random) -> Iterator[str | None]:
    for one, other in OTHERS:
        if one in line:
            yield line.replace(one, other, 1)
    if found := CONSTANT.match(line.strip()):
        yield f"{found.group(1)}{int(found.group(2)) + 1}{found.group(3)}"
    if (found := ORDERED.match(line.strip())) and found.group(2) != found.group(3):
        yield f"{found.group(1)}{found.group(3)}, {found.group(2)}{found.group(4)}"
    if line.strip().startswith("tt.store"):
        yield None
    # An operand becomes another value of its type.
    if found := re.match(r"(\s*%\S+ = arith\.\S+ )(%\w+)(, %\w+ : (\S+))$", line):
        depth = _depth(line)
        # Those of the same block.
        block = list(itertools.takewhile(lambda each: _depth(each) >= depth, reversed(before)))
        same = [
            made.group(1)
            for each in block
            if _depth(each) == depth and (made := ADDED.match(each.strip()))
            if made.group(3) == found.group(4) and made.group(1) not in line
        ]
        if same:
            yield f"{found.group(1)}{draw.choice(same)}{found.group(3)}"


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def main() -> None:
    folder, count, seed = Path(sys.argv[1]), int(sys.argv[2]), int((*sys.argv, "1")[3])
    draw = random.Random(seed)
    seen, missed, level, kernels = 0, 0, 0, 0
    files = sorted(folder.glob("*.py"))
    draw.shuffle(files)
    for file in files:
        if seen + missed >= count:
            break
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            launches = record(str(file))
        for kernel, calls in launches.calls.items():
            arguments = calls.arguments[0]
            try:
                text = ttir(kernel, arguments)
            except Exception:
                # Not every kernel is for this Triton.
                continue
            names = [name for name, argument in arguments.items() if argument.kind != "constant"]
            if difference(text, names, text, names) is not None:
                raise AssertionError(f"{kernel.__name__} differs from itself")
            kernels += 1
            for changed, _ in zip(changes(text, draw), range(25), strict=False):
                apart = [(a, b) for a, b in zip(text.splitlines(), changed.splitlines(), strict=False) if a != b]
                if difference(text, names, changed, names):
                    seen += 1
                else:
                    missed += 1
                    print(f"missed in {kernel.__name__}: {apart[:1]}")
                if not difference(text, names, changed, names, views=[]):
                    level += 1
                    print(f"equal for views in {kernel.__name__}: {apart[:1]}")
    if kernels == 0:
        raise SystemExit("no file of the folder launches a kernel that Triton compiles")
    print(f"{kernels} kernels, {seen + missed} changes, {seen} seen, {missed} missed, {level} equal for views")


if __name__ == "__main__":
    main()
