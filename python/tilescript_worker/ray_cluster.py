"""Runs a runner's requests on a Ray cluster: one actor for each GPU, or actors on the CPU that interpret or compile.

``python -m tilescript_worker.ray_cluster --address ADDRESS --device DEVICE --channel FD [--count N] [--compilers N]``.
Messages are lines of JSON, as a worker's are. The runner selects the actor of a request. Ray places actors, sends them
this package, and restarts a lost one if the cluster has capacity. Meanwhile its requests go to the others.
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

from .parent_watch import exit_with_parent
from .protocol import VERSION
from .ray_actor_worker import RayActorWorker

# Time limits for the first actor and for the others. Other users may occupy the cluster.
FIRST_ACTOR_SECONDS = 120
OTHER_ACTORS_SECONDS = 20
# Time for `hello`. The first import of torch on a node reads gigabytes.
HELLO_SECONDS = 180
# A request that has lost this many actors may be the cause.
MAX_LOSSES = 3
# Time for a node to return after the last actor was lost.
RECOVERY_SECONDS = 120
# Prefix of the address of a cluster that this machine does not belong to. It names the Ray client server.
CLIENT_SCHEME = "ray://"


class ClusterError(Exception):
    """The cluster can't serve; the text goes to the user."""


@dataclass
class Actor:
    """An actor: its location, its device, and its number of requests.

    ``home`` is its first node, and ``node`` its current one.
    """

    handle: Any
    is_compiler: bool = False
    name: str = ""
    location: str = ""
    home: str = ""
    node: str = ""
    python: str = ""
    hello: dict[str, Any] = field(default_factory=dict)
    is_available: bool = True
    load: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def locate(self, number: int) -> None:
        """Waits until the actor runs."""
        actor_info = await self.handle.where.remote()
        unit = f"cpu:{number}" if actor_info["gpu"] is None else f"gpu:{actor_info['gpu']}"
        self.name, self.location, self.python = actor_info["name"], f"{actor_info['host']} {unit}", actor_info["python"]
        self.node = actor_info["node"]
        self.home = self.home or self.node

    async def greet(self) -> dict[str, Any]:
        """The worker's reply to ``hello``. Raises ``ClusterError``."""
        greeting = {"v": VERSION, "id": 0, "type": "hello"}
        answer = await self.handle.ask.remote(self.name, greeting, None, HELLO_SECONDS)
        reply = answer.get("reply")
        if reply is None or not reply["ok"]:
            why = reply["error"]["message"] if reply else answer.get("printed") or answer["lost"]
            raise ClusterError(f"on {self.location}, {self.python} can't be used: {why.strip().splitlines()[-1]}")
        return dict(reply["result"])


class RayCluster:
    """Serves a runner's messages with the actors of a cluster."""

    def __init__(self, address: str, replies: TextIO) -> None:
        self._address = address
        # True if requests fill the cache of a node, so that no other node can serve them.
        self._by_node = False
        self._replies = replies
        self._actors: list[Actor] = []
        self._modules: dict[str, Any] = {}
        self._tasks: dict[asyncio.Task[None], int] = {}
        self._alone_since = 0.0

    def join(self, device: str, count: int | None, compilers: int | None) -> None:
        """Connects to the cluster and creates the actors. Raises ``ClusterError``.

        ``compilers`` is the maximum number of compiling actors on the CPUs of each node with a GPU.
        """
        try:
            import ray
        except ImportError as error:
            raise ClusterError(f"this Python has no ray ({error})") from None
        _check_address(self._address)
        package = os.path.dirname(os.path.abspath(__file__))
        environment = {"py_modules": [package], "env_vars": {"PYTHONDONTWRITEBYTECODE": "1"}}
        try:
            ray.init(self._address, runtime_env=environment, log_to_driver=False, logging_level="ERROR")
        except Exception as error:
            # Ray's message names the cause: the address, a version, or this machine's role.
            raise ClusterError(" ".join(str(error).split())) from None
        resources = ray.cluster_resources()
        gpus = int(resources.get("GPU", 0))
        if device == "auto" and not gpus:
            device = "interpreter"
        if device in ("cuda", "hip") and not gpus:
            raise ClusterError(
                "the cluster has no GPU; with #cpu:4 at its end the device is Triton's interpreter there"
            )
        on_gpu = device not in ("interpreter", "compiler")
        needs = {"num_gpus": 1, "num_cpus": 0} if on_gpu else {"num_cpus": 1}
        max_count = gpus if on_gpu else int(resources.get("CPU", 0))
        if max_count == 0 or (count or 0) > max_count:
            advice = "one for each actor; name as many at most"
            raise ClusterError(f"the cluster has {max_count} CPUs, {advice}, such as #cpu:{max_count}")
        seats = _actor_class(scheduling_strategy="SPREAD", **needs)
        self._actors = [Actor(seats.remote(device)) for _ in range(count or max_count)]
        if compilers is not None:
            self._by_node = True
            self._actors += _compilers(compilers)

    async def start(self) -> list[dict[str, Any]]:
        """Waits for the actors and describes them. Raises ``ClusterError``."""
        placing = {asyncio.ensure_future(actor.locate(i)): actor for i, actor in enumerate(self._actors)}
        primary_tasks = [task for task, actor in placing.items() if not actor.is_compiler]
        started_tasks, _ = await asyncio.wait(
            primary_tasks, timeout=FIRST_ACTOR_SECONDS, return_when=asyncio.FIRST_COMPLETED
        )
        if not started_tasks:
            raise ClusterError(f"no actor was started within {FIRST_ACTOR_SECONDS} s; others may use the whole cluster")
        started_tasks, pending_tasks = await asyncio.wait(placing, timeout=OTHER_ACTORS_SECONDS)
        for task in pending_tasks:
            import ray

            task.cancel()
            ray.kill(placing[task].handle)
        for task in started_tasks:
            if error := task.exception():
                raise ClusterError(f"an actor can't be started: {_first_line(error)}")
        self._actors = [actor for task, actor in placing.items() if task in started_tasks]
        greetings = await asyncio.gather(*[actor.greet() for actor in self._actors])
        for actor, hello in zip(self._actors, greetings, strict=True):
            actor.hello = hello
        return [
            {"place": actor.location, "node": actor.home, "python": actor.python, "hello": actor.hello}
            for actor in self._actors
        ]

    def handle_message(self, message: dict[str, Any]) -> None:
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
        requested = self._actors[message["seat"]]
        location = requested.location
        try:
            actor, answer = await self._answer(requested, message)
            location = actor.location
        except asyncio.CancelledError:
            answer = {"lost": "stopped"}
        except Exception as error:
            answer = {"lost": "gone", "printed": _first_line(error)}
        self.send({"id": message["id"], "on": location, **answer})

    async def _answer(self, requested: Actor, message: dict[str, Any]) -> tuple[Actor, dict[str, Any]]:
        """The answer of the requested actor, or of an equivalent one while that actor is lost."""
        from ray.exceptions import RayActorError

        request, losses = message["request"], 0
        while True:
            actor = await self._select_actor(requested)
            actor.load += 1
            try:
                async with actor.lock:
                    if not actor.is_available:
                        continue
                    module = self._modules.get(request.get("module"))
                    try:
                        answer = await actor.handle.ask.remote(actor.name, request, module, message["seconds"])
                    except asyncio.CancelledError:
                        await _ignore_failure(actor.handle.end.remote())
                        raise
                if answer.get("lost") != "moved":
                    return actor, answer
                self._lose(actor)
            except RayActorError as error:
                losses += 1
                self._lose(actor)
                if losses == MAX_LOSSES:
                    raise ClusterError(f"{losses} actors were lost while they ran it: {_first_line(error)}") from None
            finally:
                actor.load -= 1

    async def _select_actor(self, requested: Actor) -> Actor:
        while True:
            candidates = [each for each in self._actors if self._is_same_kind(each, requested)]
            there = [each for each in candidates if each.is_available]
            if requested.is_available:
                return requested
            if there:
                return min(there, key=lambda each: each.load)
            if time.monotonic() - self._alone_since > RECOVERY_SECONDS:
                raise ClusterError(f"no actor of its kind has come back within {RECOVERY_SECONDS} s")
            await asyncio.sleep(0.2)

    def _is_same_kind(self, actor: Actor, requested: Actor) -> bool:
        return _device_key(actor.hello) == _device_key(requested.hello) and (
            not self._by_node or actor.home == requested.home
        )

    def _lose(self, actor: Actor) -> None:
        """Excludes an actor until Ray has restarted it, on this or another node."""
        if actor.is_available:
            actor.is_available, self._alone_since = False, time.monotonic()
            task = asyncio.ensure_future(self._wait_for(actor))
            self._tasks[task] = -1
            task.add_done_callback(self._tasks.pop)

    async def _wait_for(self, actor: Actor) -> None:
        from ray.exceptions import RayActorError

        while not actor.is_available:
            await asyncio.sleep(0.5)
            try:
                await actor.locate(self._actors.index(actor))
                # Ray may have assigned a different GPU model.
                is_same = _device_key(await actor.greet()) == _device_key(actor.hello)
                actor.is_available = is_same and (not self._by_node or actor.node == actor.home)
            except (RayActorError, ClusterError):
                continue

    def send(self, message: dict[str, Any]) -> None:
        """Sends a line to the runner."""
        self._replies.write(json.dumps(message, allow_nan=False) + "\n")
        self._replies.flush()

    async def leave(self) -> None:
        """Ends the actors and removes their files."""
        import ray

        closing = [actor.handle.close.remote() for actor in self._actors if actor.is_available]
        if closing:
            await asyncio.wait([asyncio.ensure_future(_ignore_failure(each)) for each in closing], timeout=5)
        ray.shutdown()


def _actor_class(**placement: Any) -> Any:
    """The actor class. Ray restarts a lost actor. Calls on it fail at once, so that another actor can serve them."""
    import ray

    return ray.remote(RayActorWorker).options(max_restarts=-1, max_task_retries=0, max_concurrency=4, **placement)


def _compilers(max_per_node: int) -> list[Actor]:
    """Actors that compile on the CPUs of each node with a GPU, into the cache of that node."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    nodes = [(node["NodeID"], node["Resources"]) for node in ray.nodes() if node["Alive"]]
    return [
        Actor(_actor_class(num_cpus=1, scheduling_strategy=strategy).remote("compiler"), is_compiler=True)
        for strategy, node_resources in [
            (NodeAffinitySchedulingStrategy(node, soft=False), node_resources) for node, node_resources in nodes
        ]
        for _ in range(min(max_per_node, int(node_resources.get("CPU", 0))) if node_resources.get("GPU") else 0)
    ]


def _check_address(address: str) -> None:
    """Raises ``ClusterError`` if the address does not respond: Ray itself would retry for minutes."""
    host, _, port = address.removeprefix(CLIENT_SCHEME).rpartition(":")
    if not host:
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
    except (OSError, OverflowError) as error:
        port_of_clients = "name the head node with the port of its server for clients, 10001 unless it chose another"
        remedy = port_of_clients if address.startswith(CLIENT_SCHEME) else "name the head node as `ray status` does"
        raise ClusterError(f"nothing answers at {address} ({error}); {remedy}") from None


def _device_key(hello: dict[str, Any]) -> tuple[str, dict[str, str]]:
    return hello["deviceName"], hello["versions"]


async def _ignore_failure(reference: Any) -> None:
    try:
        await reference
    except Exception:
        # The actor is already gone.
        pass


def _first_line(error: BaseException) -> str:
    cause = getattr(error, "cause", None)
    lines = str(cause if isinstance(cause, BaseException) else error).strip().splitlines()
    return lines[0].strip() if lines else type(error).__name__


async def _run(cluster: RayCluster, requests: TextIO, options: argparse.Namespace) -> None:
    try:
        cluster.join(options.device, options.count, options.compilers)
        cluster.send({"ready": True, "seats": await cluster.start()})
    except Exception as error:
        cluster.send({"failed": _first_line(error)})
        return
    loop, over = asyncio.get_running_loop(), asyncio.Event()

    def read() -> None:
        for line in requests:
            loop.call_soon_threadsafe(cluster.handle_message, json.loads(line))
        loop.call_soon_threadsafe(over.set)

    threading.Thread(target=read, daemon=True).start()
    await over.wait()
    await cluster.leave()


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
    exit_with_parent(os.getppid())
    asyncio.run(_run(RayCluster(options.address, replies), requests, options))
    # Ray's threads may keep the process alive.
    os._exit(0)


if __name__ == "__main__":
    main()
