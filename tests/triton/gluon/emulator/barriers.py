"""Barriers in shared memory: phases, arrivals and bytes, and what happened before a phase ended."""

from __future__ import annotations

from collections.abc import Hashable

from .faults import Fault

#: How far a part knows what others did: of each, the number of its last act that happened before.
Clock = dict[Hashable, int]


def join(clock: Clock, other: Clock) -> None:
    for key, value in other.items():
        if clock.get(key, 0) < value:
            clock[key] = value


class Barrier:
    """An mbarrier. A phase ends when nothing is missing: neither arrivals nor bytes that were announced."""

    def __init__(self, name: str):
        self.name = name
        self.count = 0
        self.phase = 0
        self.missing = 0
        self.bytes = 0
        #: What happened before arrivals of the phase, and before the end of phases.
        self.gathered: Clock = {}
        self.released: Clock = {}
        #: The last phase whose end each part waited for, and the part's act.
        self.waits: dict[Hashable, tuple[int, int]] = {}
        #: The acts of parts that arrived in the current phase, and in the one before.
        self.arrived: dict[Hashable, int] = {}
        self.arrived_before: dict[Hashable, int] = {}

    def start(self, count: int) -> None:
        if self.count:
            raise Fault(f"{self.name} is initialized again")
        if count < 1:
            raise Fault(f"{self.name} is initialized with a count of {count}")
        self.count = self.missing = count

    def passes(self, parity: int) -> bool:
        """Whether the phase of the parity has ended: the current one has the other parity."""
        self._check()
        return self.phase & 1 != parity

    def note_wait(self, part: Hashable, clock: Clock) -> None:
        """The part has waited for the phase before the current one."""
        self.waits[part] = (self.phase - 1, clock[part])
        join(clock, self.released)

    def arrive(self, part: Hashable, clock: Clock) -> None:
        self._check()
        if self.missing == 0:
            raise Fault(f"{self.name} gets more arrivals than the {self.count} that end a phase")
        self._check_arrival(part, clock)
        self.arrived[part] = clock[part]
        self.missing -= 1
        self._gather(clock)

    def expect(self, part: Hashable, clock: Clock, count: int) -> None:
        """Announces bytes, which is an arrival."""
        self.bytes += count
        self.arrive(part, clock)

    def land(self, clock: Clock, count: int) -> None:
        """Bytes have come."""
        self._check()
        self.bytes -= count
        self._gather(clock)

    def _check(self) -> None:
        if not self.count:
            raise Fault(f"{self.name} is used before it is initialized")

    def _gather(self, clock: Clock) -> None:
        join(self.gathered, clock)
        if self.missing == 0 and self.bytes == 0:
            self._check_waits()
            join(self.released, self.gathered)
            self.phase += 1
            self.missing = self.count
            self.arrived, self.arrived_before = {}, self.arrived

    def _check_waits(self) -> None:
        """All must know of the end of the phase before: a wait cannot tell a phase from the next but one."""
        for part, (phase, act) in self.waits.items():
            if phase < self.phase - 1 or self.gathered.get(part, 0) < act:
                raise Fault(f"a phase of {self.name} ends while part {part} may still wait for the one before")

    def _check_arrival(self, part: Hashable, clock: Clock) -> None:
        """A part that arrives again must know that the phase is over to which it has arrived."""
        if part in self.arrived:
            raise Fault(f"part {part} arrives twice in a phase of {self.name}")
        if part not in self.arrived_before:
            return
        for other, act in self.arrived_before.items():
            if clock.get(other, 0) < act:
                raise Fault(f"part {part} arrives at {self.name} again and does not know that part {other} has arrived")
