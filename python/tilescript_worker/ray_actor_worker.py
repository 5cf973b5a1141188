"""A worker on a node of a Ray cluster. An actor has one, and needs nothing but Python's own library itself.

The worker is a process of its own. So a kernel that crashes or hangs is an answer, and Ray loses the actor only where
its node fails.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from typing import Any

from .agent import PREFIX, sweep
from .protocol import VERSION

# Python starts in a fraction of a second; torch is imported later. In the worker's own time, not in a kernel's.
START_SECONDS = 60
TAIL = 4000


class Lost(Exception):
    """No answer came: ``how`` is ``late``, ``ended`` or ``garbled``."""

    def __init__(self, how: str) -> None:
        super().__init__(how)
        self.how = how


class Seat:
    """Asks a worker, which is started when it is needed."""

    def __init__(self, device: str) -> None:
        self._device = device
        self._name = uuid.uuid4().hex
        sweep()
        self._folder = tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-")
        self._busy = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None
        self._rest = b""
        self._ended = False

    def ask(self, name: str, request: dict[str, Any], module: str | None, seconds: float) -> dict[str, Any]:
        """The worker's reply, or how it was lost. ``module`` is the text of the module that the request names.

        A seat that ``name`` does not mean works on nothing: Ray has put it in another's place, perhaps on another GPU.
        """
        if name != self._name:
            return {"lost": "moved"}
        with self._busy:
            if module is not None:
                request = {**request, "module": self._placed(request["module"], module)}
            self._ended = False
            try:
                reply = self._exchange(request, seconds)
            except (Lost, OSError) as error:
                return self._lost(error.how if isinstance(error, Lost) else "ended")
            answer = {"reply": reply, "printed": self._printed()}
            if _damages(reply):
                self._stop()
            return answer

    def where(self) -> dict[str, Any]:
        """The seat's name, its node and that one's name, its Python, and the GPU that Ray gave to this actor."""
        import ray

        gpus = ray.get_gpu_ids()
        gpu = str(gpus[0]) if gpus else None
        node = ray.get_runtime_context().get_node_id()
        where = {"host": socket.gethostname(), "node": node, "gpu": gpu}
        return {"name": self._name, "python": sys.executable, **where}

    def end(self) -> None:
        """Ends the worker, whatever it does. The next request gets another one."""
        self._ended = True
        self._kill()

    def close(self) -> None:
        """Leaves nothing on the node."""
        self.end()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _exchange(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        if self._process is None or self._process.poll() is not None:
            self._stop()
            self._start()
        assert self._channel is not None
        self._channel.settimeout(seconds)
        self._channel.sendall(json.dumps(request).encode() + b"\n")
        reply = self._receive(seconds)
        if reply.get("id") != request["id"]:
            raise Lost("garbled")
        return reply

    def _start(self) -> None:
        own, other = socket.socketpair()
        arguments = ["--device", self._device, "--channel", str(other.fileno())]
        package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        path = os.pathsep.join(each for each in (package, os.environ.get("PYTHONPATH", "")) if each)
        with other, open(self._log, "ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tilescript_worker", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # Where Ray keeps the package, nothing may be written.
                env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
                cwd=self._folder,
                start_new_session=True,
                pass_fds=(other.fileno(),),
            )
        self._channel, self._rest = own, b""
        if self._receive(START_SECONDS) != {"v": VERSION, "ready": True}:
            raise Lost("garbled")

    def _receive(self, seconds: float) -> dict[str, Any]:
        """The next line of the worker."""
        assert self._channel is not None
        until = time.monotonic() + seconds
        while b"\n" not in self._rest:
            self._channel.settimeout(max(until - time.monotonic(), 0.001))
            try:
                data = self._channel.recv(1 << 20)
            except TimeoutError:
                raise Lost("late") from None
            if not data:
                raise Lost("ended")
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        try:
            return dict(json.loads(line))
        except (ValueError, TypeError):
            raise Lost("garbled") from None

    def _placed(self, path: str, text: str) -> str:
        """Writes a module where the worker can import it. A path has one text."""
        file = os.path.join(self._folder, path)
        if not os.path.exists(file):
            os.makedirs(os.path.dirname(file), exist_ok=True)
            with open(f"{file}.new", "w", encoding="utf-8") as new:
                new.write(text)
            os.replace(f"{file}.new", file)
        return file

    def _lost(self, how: str) -> dict[str, Any]:
        """What is known of a worker without an answer, which is over then."""
        process = self._process
        code = None
        if process is not None:
            try:
                # What closed its channel is about to end.
                code = process.wait(1 if how == "ended" else 0)
            except subprocess.TimeoutExpired:
                code = None
        self._stop()
        if self._ended:
            how, code = "stopped", None
        signal_name = signal.Signals(-code).name if code is not None and code < 0 else None
        exit_code = code if code is not None and code >= 0 else None
        ending = {"exitCode": exit_code, "signal": signal_name, "closed": code is None}
        return {"lost": how, **ending, "printed": self._printed()}

    @property
    def _log(self) -> str:
        return os.path.join(self._folder, "printed")

    def _printed(self) -> str:
        """The end of what the worker has printed since it was asked last."""
        if not os.path.exists(self._log):
            return ""
        with open(self._log, "r+b") as file:
            file.seek(max(0, os.path.getsize(self._log) - TAIL))
            text = file.read().decode(errors="replace")
            file.truncate(0)
        return text

    def _stop(self) -> None:
        self._kill()
        if self._process is not None:
            self._process.wait()
        if self._channel is not None:
            self._channel.close()
        self._process = self._channel = None

    def _kill(self) -> None:
        process = self._process
        if process is not None:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except OSError:
                pass


def _damages(reply: dict[str, Any]) -> bool:
    """Whether the worker can't be trusted any more; ``isDamaging`` of ``protocol.ts`` says the same."""
    return bool(reply["result"].get("corrupted") if reply["ok"] else reply["error"]["fatal"])
