"""Runs a runner's requests on a Ray cluster: one actor for each GPU, or actors on the CPU that interpret or compile.

``python -m tilescript_worker.ray_cluster --address ADDRESS --device DEVICE --channel FD [--count N] [--compilers N]``.
Messages are lines of JSON, as a worker's are. The runner says which actor gets a request. Ray places actors, sends
them this package, and starts a lost one again where there is room; meanwhile its requests go to the others.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import threading
import time
from dataclasses import dataclass, field
from typing import Any, TextIO

from .parent_watch import end_with
from .protocol import VERSION
from .ray_actor_worker import Seat

# An actor that has not begun by then waits for what others of the cluster use: the first one, and the rest after it.
FIRST_SECONDS = 120
REST_SECONDS = 20
# The first import of torch on a node reads gigabytes.
HELLO_SECONDS = 180
# A request that has lost so many actors may be what ends them.
MOST_LOSSES = 3
# Where no actor is left, a node may come back within this time.
PATIENCE = 120
# So begins the address of a cluster that this machine is not part of. A server on the head node acts for it there.
CLIENT = "ray://"


class Unusable(Exception):
    """The cluster can't serve; the text goes to the user."""


@dataclass
class Actor:
    """An actor with its place, what it runs on, and how many requests it has.

    ``home`` is the node that it began on, and ``node`` the one that Ray has put it on since.
    """

    handle: Any
    compiles: bool = False
    name: str = ""
    place: str = ""
    home: str = ""
    node: str = ""
    python: str = ""
    hello: dict[str, Any] = field(default_factory=dict)
    is_there: bool = True
    load: int = 0
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def locate(self, number: int) -> None:
        """Waits until it runs."""
        found = await self.handle.where.remote()
        unit = f"cpu:{number}" if found["gpu"] is None else f"gpu:{found['gpu']}"
        self.name, self.place, self.python = found["name"], f"{found['host']} {unit}", found["python"]
        self.node = found["node"]
        self.home = self.home or self.node

    async def greet(self) -> dict[str, Any]:
        """What its worker runs on. Raises ``Unusable``."""
        greeting = {"v": VERSION, "id": 0, "type": "hello"}
        answer = await self.handle.ask.remote(self.name, greeting, None, HELLO_SECONDS)
        reply = answer.get("reply")
        if reply is None or not reply["ok"]:
            why = reply["error"]["message"] if reply else answer.get("printed") or answer["lost"]
            raise Unusable(f"on {self.place}, {self.python} can't be used: {why.strip().splitlines()[-1]}")
        return dict(reply["result"])


class Fleet:
    """Serves a runner's messages with the actors of a cluster."""

    def __init__(self, address: str, replies: TextIO) -> None:
        self._address = address
        # Whether requests fill a node's cache, so that no other node can answer them.
        self._by_node = False
        self._replies = replies
        self._actors: list[Actor] = []
        self._modules: dict[str, Any] = {}
        self._tasks: dict[asyncio.Task[None], int] = {}
        self._alone_since = 0.0

    def join(self, device: str, count: int | None, compilers: int | None) -> None:
        """Connects to the cluster and begins to start actors. Raises ``Unusable``.

        ``compilers`` is the most of them that compile on the CPUs of each node with a GPU.
        """
        try:
            import ray
        except ImportError as error:
            raise Unusable(f"this Python has no ray ({error})") from None
        _reach(self._address)
        package = os.path.dirname(os.path.abspath(__file__))
        environment = {"py_modules": [package], "env_vars": {"PYTHONDONTWRITEBYTECODE": "1"}}
        try:
            ray.init(self._address, runtime_env=environment, log_to_driver=False, logging_level="ERROR")
        except Exception as error:
            # Ray's own sentence says what differs: the address, a version, this machine's part in the cluster.
            raise Unusable(" ".join(str(error).split())) from None
        resources = ray.cluster_resources()
        gpus = int(resources.get("GPU", 0))
        if device == "auto" and not gpus:
            device = "interpreter"
        if device in ("cuda", "hip") and not gpus:
            raise Unusable("the cluster has no GPU; with #cpu:4 at its end the device is Triton's interpreter there")
        on_gpu = device not in ("interpreter", "compiler")
        needs = {"num_gpus": 1, "num_cpus": 0} if on_gpu else {"num_cpus": 1}
        most = gpus if on_gpu else int(resources.get("CPU", 0))
        if most == 0 or (count or 0) > most:
            needed = "one for each actor; name as many at most"
            raise Unusable(f"the cluster has {most} CPUs, {needed}, such as #cpu:{most}")
        seats = _seats(scheduling_strategy="SPREAD", **needs)
        self._actors = [Actor(seats.remote(device)) for _ in range(count or most)]
        if compilers is not None:
            self._by_node = True
            self._actors += _compilers(compilers)

    async def start(self) -> list[dict[str, Any]]:
        """Waits for the actors, and says what each runs on. Raises ``Unusable``."""
        placing = {asyncio.ensure_future(actor.locate(i)): actor for i, actor in enumerate(self._actors)}
        own = [task for task, actor in placing.items() if not actor.compiles]
        begun, _ = await asyncio.wait(own, timeout=FIRST_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        if not begun:
            raise Unusable(f"no actor was started within {FIRST_SECONDS} s; others may use the whole cluster")
        begun, waiting = await asyncio.wait(placing, timeout=REST_SECONDS)
        for task in waiting:
            import ray

            task.cancel()
            ray.kill(placing[task].handle)
        for task in begun:
            if error := task.exception():
                raise Unusable(f"an actor can't be started: {_first_line(error)}")
        self._actors = [actor for task, actor in placing.items() if task in begun]
        greetings = await asyncio.gather(*[actor.greet() for actor in self._actors])
        for actor, hello in zip(self._actors, greetings, strict=True):
            actor.hello = hello
        return [
            {"place": actor.place, "node": actor.home, "python": actor.python, "hello": actor.hello}
            for actor in self._actors
        ]

    def take(self, message: dict[str, Any]) -> None:
        """Serves one message of the runner."""
        if message["do"] == "place":
            import ray

            self._modules[message["path"]] = ray.put(message["text"])
        elif message["do"] == "cancel":
            for task, seat in self._tasks.items():
                if seat == message["seat"]:
                    task.cancel()
        else:
            task = asyncio.ensure_future(self._serve(message))
            self._tasks[task] = message["seat"]
            task.add_done_callback(self._tasks.pop)

    async def _serve(self, message: dict[str, Any]) -> None:
        asked = self._actors[message["seat"]]
        on = asked.place
        try:
            actor, answer = await self._answer(asked, message)
            on = actor.place
        except asyncio.CancelledError:
            answer = {"lost": "stopped"}
        except Exception as error:
            answer = {"lost": "gone", "printed": _first_line(error)}
        self.send({"id": message["id"], "on": on, **answer})

    async def _answer(self, asked: Actor, message: dict[str, Any]) -> tuple[Actor, dict[str, Any]]:
        """The answer of the actor that was asked, or of another of its kind while that one is lost."""
        from ray.exceptions import RayActorError

        request, losses = message["request"], 0
        while True:
            actor = await self._one_for(asked)
            actor.load += 1
            try:
                async with actor.turn:
                    if not actor.is_there:
                        continue
                    module = self._modules.get(request.get("module"))
                    try:
                        answer = await actor.handle.ask.remote(actor.name, request, module, message["seconds"])
                    except asyncio.CancelledError:
                        await _settled(actor.handle.end.remote())
                        raise
                if answer.get("lost") != "moved":
                    return actor, answer
                self._lose(actor)
            except RayActorError as error:
                losses += 1
                self._lose(actor)
                if losses == MOST_LOSSES:
                    raise Unusable(f"{losses} actors were lost while they ran it: {_first_line(error)}") from None
            finally:
                actor.load -= 1

    async def _one_for(self, asked: Actor) -> Actor:
        while True:
            same = [each for each in self._actors if self._are_alike(each, asked)]
            there = [each for each in same if each.is_there]
            if asked.is_there:
                return asked
            if there:
                return min(there, key=lambda each: each.load)
            if time.monotonic() - self._alone_since > PATIENCE:
                raise Unusable(f"no actor of its kind has come back within {PATIENCE} s")
            await asyncio.sleep(0.2)

    def _are_alike(self, one: Actor, other: Actor) -> bool:
        return _kind(one.hello) == _kind(other.hello) and (not self._by_node or one.home == other.home)

    def _lose(self, actor: Actor) -> None:
        """Leaves an actor alone until Ray has started it again, here or on another node."""
        if actor.is_there:
            actor.is_there, self._alone_since = False, time.monotonic()
            task = asyncio.ensure_future(self._wait_for(actor))
            self._tasks[task] = -1
            task.add_done_callback(self._tasks.pop)

    async def _wait_for(self, actor: Actor) -> None:
        from ray.exceptions import RayActorError

        while not actor.is_there:
            await asyncio.sleep(0.5)
            try:
                await actor.locate(self._actors.index(actor))
                # Ray knows numbers of GPUs. The one that it has found may be of another kind.
                is_same = _kind(await actor.greet()) == _kind(actor.hello)
                actor.is_there = is_same and (not self._by_node or actor.node == actor.home)
            except (RayActorError, Unusable):
                continue

    def send(self, message: dict[str, Any]) -> None:
        """Sends a line to the runner."""
        self._replies.write(json.dumps(message, allow_nan=False) + "\n")
        self._replies.flush()

    async def leave(self) -> None:
        """Ends the actors, with what they wrote."""
        import ray

        there = [actor.handle.close.remote() for actor in self._actors if actor.is_there]
        if there:
            await asyncio.wait([asyncio.ensure_future(_settled(each)) for each in there], timeout=5)
        ray.shutdown()


def _seats(**place: Any) -> Any:
    """What makes actors. Ray starts a lost one again. A call on it fails at once: others may be free to answer."""
    import ray

    return ray.remote(Seat).options(max_restarts=-1, max_task_retries=0, max_concurrency=4, **place)


def _compilers(most: int) -> list[Actor]:
    """Actors that compile on the CPUs of each node with a GPU, into the cache of that node."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    nodes = [(node["NodeID"], node["Resources"]) for node in ray.nodes() if node["Alive"]]
    return [
        Actor(_seats(num_cpus=1, scheduling_strategy=there).remote("compiler"), compiles=True)
        for there, has in [(NodeAffinitySchedulingStrategy(node, soft=False), has) for node, has in nodes]
        for _ in range(min(most, int(has.get("CPU", 0))) if has.get("GPU") else 0)
    ]


def _reach(address: str) -> None:
    """Raises ``Unusable`` where nothing answers at an address: Ray itself would try for minutes."""
    host, _, port = address.removeprefix(CLIENT).rpartition(":")
    if not host:
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
    except (OSError, OverflowError) as error:
        port_of_clients = "name the head node with the port of its server for clients, 10001 unless it chose another"
        how = port_of_clients if address.startswith(CLIENT) else "name the head node as `ray status` does"
        raise Unusable(f"nothing answers at {address} ({error}); {how}") from None


def _kind(hello: dict[str, Any]) -> tuple[str, dict[str, str]]:
    return hello["deviceName"], hello["versions"]


async def _settled(reference: Any) -> None:
    try:
        await reference
    except Exception:
        # It is gone already.
        pass


def _first_line(error: BaseException) -> str:
    cause = getattr(error, "cause", None)
    lines = str(cause if isinstance(cause, BaseException) else error).strip().splitlines()
    return lines[0].strip() if lines else type(error).__name__


async def _run(fleet: Fleet, requests: TextIO, options: argparse.Namespace) -> None:
    try:
        fleet.join(options.device, options.count, options.compilers)
        fleet.send({"ready": True, "seats": await fleet.start()})
    except Exception as error:
        fleet.send({"failed": _first_line(error)})
        return
    loop, over = asyncio.get_running_loop(), asyncio.Event()

    def read() -> None:
        for line in requests:
            loop.call_soon_threadsafe(fleet.take, json.loads(line))
        loop.call_soon_threadsafe(over.set)

    threading.Thread(target=read, daemon=True).start()
    await over.wait()
    await fleet.leave()


def main() -> None:
    """Serves until the runner closes its end."""
    parser = argparse.ArgumentParser(prog="tilescript_worker.ray_cluster")
    parser.add_argument("--address", required=True, help="what Ray calls the cluster")
    parser.add_argument("--device", choices=["auto", "cuda", "hip", "interpreter", "compiler"], default="auto")
    parser.add_argument("--count", type=int, help="the number of actors on the CPU")
    parser.add_argument("--compilers", type=int, help="the most on each node with a GPU; a request stays on its node")
    parser.add_argument("--channel", type=int, required=True, help="a file descriptor to read from and write to")
    options = parser.parse_args()
    os.set_inheritable(options.channel, False)
    requests = os.fdopen(options.channel, encoding="utf-8", closefd=False)
    replies = os.fdopen(os.dup(options.channel), "w", encoding="utf-8")
    end_with(os.getppid())
    asyncio.run(_run(Fleet(options.address, replies), requests, options))
    # Ray's threads may hold the process.
    os._exit(0)


if __name__ == "__main__":
    main()
