"""The order in which the parts of a program and the engines run: one at a time, chosen by an `Order` at each step."""

from __future__ import annotations

import itertools
import queue
import random
import threading
from collections.abc import Callable
from .faults import Fault

#: Steps of one program, each with a choice; more are a loop that never ends.
MOST_STEPS = 400_000


class Order:
    """Chooses who runs next: anyone, or the first of a rank among those that can."""

    def __init__(self, text: str):
        """`random 7`, `rank 7` for a drawn rank, or a rank: of `producer`, `engines`, `consumers`, `0`, `1`, `2`."""
        self.kind, _, self.rest = text.partition(" ")
        if self.kind not in ("random", "rank"):
            self.kind, self.rest = "given", text
        self.random = random.Random(text)
        self.rank: list[str] | None = None

    def begin(self, parts: int) -> None:
        """Makes the rank of so many parts, the last of which produces, and of the engines."""
        consumers = [str(i) for i in range(parts - 1)]
        names = [*consumers, str(parts - 1), "engines"]
        if self.kind == "rank":
            self.rank = self.random.sample(names, len(names))
        if self.kind == "given":
            known = {"producer": [names[-2]], "engines": ["engines"], "consumers": consumers}
            known |= {name: [name] for name in consumers}
            wanted = [name for word in self.rest.split() for name in known.get(word, [])]
            self.rank = list(dict.fromkeys([*wanted, *names]))

    def choose(self, parts: list[Part], tasks: list[Task]) -> Part | Task:
        if self.rank is None:
            return self.random.choice([*parts, *tasks])
        best: Part | Task | None = None
        for name in self.rank:
            if name == "engines":
                best = self.random.choice(tasks) if tasks else None
            else:
                best = next((part for part in parts if part.name == name), None)
            if best is not None:
                return best
        raise AssertionError("somebody can run")


class Task:
    """What an engine does by itself, at a time that nobody knows."""

    def __init__(self, act: Callable[[], None]):
        self.act = act


class Stopped(BaseException):
    """Ends the other parts where one has failed."""


class Part:
    """A group of warps that runs one function."""

    def __init__(self, index: int, warps: int, body: Callable[[], None]):
        self.index = index
        self.name = str(index)
        self.warps = warps
        self.body = body
        self.waits: Callable[[], bool] | None = None
        self.waits_for = ""
        #: Holds something when it is the part's turn.
        self.turn: queue.SimpleQueue[None] = queue.SimpleQueue()
        self.ended = False


class Scheduler:
    """Runs parts in threads, of which one runs at a time."""

    def __init__(self, order: Order):
        self.order = order
        self.tasks: list[Task] = []
        self.parts: list[Part] = []
        self.current: Part | None = None
        self.error: BaseException | None = None
        self.stops = False
        self.steps = itertools.count()
        self.over: queue.SimpleQueue[None] = queue.SimpleQueue()

    def run(self, parts: list[Part]) -> None:
        self.parts = parts
        self.order.begin(len(parts))
        threads = [threading.Thread(target=self._thread, args=(part,), daemon=True) for part in parts]
        for thread in threads:
            thread.start()
        self._hand_on(None)
        self.over.get()
        for thread in threads:
            thread.join()
        if self.error is not None:
            raise self.error

    def pause(self, until: Callable[[], bool] | None = None, what: str = "") -> None:
        """Lets others run; the current part goes on when it is chosen, and `until` holds."""
        part = self.current
        if part is None:
            if until is not None and not until():
                raise Fault(f"{what} waits for what nobody does")
            return
        part.waits, part.waits_for = until, what
        self._hand_on(part)
        part.waits = None

    def do_all(self) -> None:
        """Does what engines still have to do."""
        while self.tasks:
            self._do(self.order.random.choice(self.tasks))

    def _do(self, task: Task) -> None:
        self.tasks.remove(task)
        task.act()

    def _thread(self, part: Part) -> None:
        part.turn.get()
        try:
            if not self.stops:
                part.body()
        except Stopped:
            pass
        except BaseException as error:  # noqa: BLE001
            self._stop(error)
        part.ended = True
        if not self.stops:
            try:
                self._hand_on(part)
            except BaseException as error:  # noqa: BLE001
                self._stop(error)
        if all(each.ended for each in self.parts):
            self.over.put(None)

    def _stop(self, error: BaseException) -> None:
        if self.error is None:
            self.error = error
        self.stops = True
        for part in self.parts:
            part.turn.put(None)

    def _hand_on(self, part: Part | None) -> None:
        """Chooses who runs next, from the thread of the part that runs now, and waits there for the part's own turn."""
        while True:
            if next(self.steps) > MOST_STEPS:
                raise Fault(f"the program does not end within {MOST_STEPS} steps")
            ready = [each for each in self.parts if not each.ended and (each.waits is None or each.waits())]
            if not ready and not self.tasks:
                if all(each.ended for each in self.parts):
                    return
                raise Fault(f"nobody goes on: {self._waiting()}")
            chosen = self.order.choose(ready, self.tasks)
            if isinstance(chosen, Task):
                self._do(chosen)
                continue
            self.current = chosen
            if chosen is part:
                return
            chosen.turn.put(None)
            if part is None or part.ended:
                return
            part.turn.get()
            if self.stops:
                raise Stopped
            return

    def _waiting(self) -> str:
        return "; ".join(f"part {each.name} waits for {each.waits_for}" for each in self.parts if not each.ended)
