"""Where machine code moves registers to memory and back: in the innermost loops that multiply, or around them."""

from tilescript_worker.machine_code import disassembly_of, kernels_in

#: Products of 16-bit and of 8-bit floats.
MULTIPLIES = ("HGMMA", "QGMMA")
#: To a thread's own memory, and back.
MOVES = ("STL", "LDL")
#: A jump by a table, of which nvdisasm does not say where it goes.
TABLE = "BRX"


def turns(cubin):
    """For each such loop: how many instructions it has, and how many of them move a register."""
    return [
        {"instructions": len(turn), "moves": sum(code[at].name in MOVES for at in turn)}
        for code in kernels_in(disassembly_of(cubin))
        for turn in _turns(code, *_edges(code), set(range(len(code))))
    ]


def _edges(code):
    """For each instruction, those that may follow it, and those that it may follow."""
    after = [[] if each.name == TABLE else each.successors for each in code]
    tables = [at for at, each in enumerate(code) if each.name == TABLE]
    seen = _reached(0, after, range(len(code)))
    # A table leads to what nothing else leads to.
    for at in range(len(code)) if tables else ():
        if at not in seen:
            for table in tables:
                after[table] = [*after[table], at]
            seen |= _reached(at, after, range(len(code)))
    before = [[] for _ in code]
    for at, places in enumerate(after):
        for place in places:
            before[place].append(at)
    return after, before


def _turns(code, after, before, within):
    left = {at for at in within if code[at].name in MULTIPLIES}
    while left:
        at = min(left)
        loop = _reached(at, after, within) & _reached(at, before, within)
        left -= loop
        if len(loop) > 1:
            # Without where it begins, only loops inside it are left.
            begins = {place for place in loop if any(each not in loop for each in before[place])}
            inner = list(_turns(code, after, before, loop - begins)) if begins else []
            yield from inner or [loop]


def _reached(start, edges, within):
    found, queue = {start}, [start]
    while queue:
        for place in edges[queue.pop()]:
            if place in within and place not in found:
                found.add(place)
                queue.append(place)
    return found
