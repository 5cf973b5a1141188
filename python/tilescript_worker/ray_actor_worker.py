"""A worker on a node of a Ray cluster. The actor that owns it needs only Python's standard library.

The worker is a separate process, so that a kernel that crashes or hangs becomes a reply. Ray loses the actor only if
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

# Time for Python to start. Torch is imported later, in the worker's own time limit.
START_SECONDS = 60
LOG_TAIL = 4000


class WorkerLost(Exception):
    """The worker sent no valid reply. ``reason`` is ``late``, ``ended`` or ``garbled``."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class RayActorWorker:
    """A Ray actor that owns a worker process and starts it on demand."""

    def __init__(self, device: str) -> None:
        self._device = device
        self._name = uuid.uuid4().hex
        sweep()
        self._folder = tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-")
        self._busy = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None
        self._buffer = b""
        self._ended = False

    def ask(self, name: str, request: dict[str, Any], module: str | None, seconds: float) -> dict[str, Any]:
        """The worker's reply, or the reason for its loss. ``module`` is the text of the request's module.

        An actor with another ``name`` rejects the request: Ray has restarted it, perhaps on another GPU.
        """
        if name != self._name:
            return {"lost": "moved"}
        with self._busy:
            if module is not None:
                request = {**request, "module": self._write_module(request["module"], module)}
            self._ended = False
            try:
                reply = self._exchange(request, seconds)
            except (WorkerLost, OSError) as error:
                return self._describe_loss(error.reason if isinstance(error, WorkerLost) else "ended")
            answer = {"reply": reply, "printed": self._printed()}
            if _is_damaging(reply):
                self._stop()
            return answer

    def where(self) -> dict[str, Any]:
        """The actor's name, host, node, Python, and the GPU that Ray assigned to it."""
        import ray

        gpus = ray.get_gpu_ids()
        gpu = str(gpus[0]) if gpus else None
        node = ray.get_runtime_context().get_node_id()
        where = {"host": socket.gethostname(), "node": node, "gpu": gpu}
        return {"name": self._name, "python": sys.executable, **where}

    def end(self) -> None:
        """Kills the worker, even during a request. The next request starts another one."""
        self._ended = True
        self._kill()

    def close(self) -> None:
        """Ends the worker and removes its files."""
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
            raise WorkerLost("garbled")
        return reply

    def _start(self) -> None:
        channel, remote_channel = socket.socketpair()
        arguments = ["--device", self._device, "--channel", str(remote_channel.fileno())]
        package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        path = os.pathsep.join(each for each in (package, os.environ.get("PYTHONPATH", "")) if each)
        with remote_channel, open(self._log, "ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tilescript_worker", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # Ray's copy of the package must not be written to.
                env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
                cwd=self._folder,
                start_new_session=True,
                pass_fds=(remote_channel.fileno(),),
            )
        self._channel, self._buffer = channel, b""
        if self._receive(START_SECONDS) != {"v": VERSION, "ready": True}:
            raise WorkerLost("garbled")

    def _receive(self, seconds: float) -> dict[str, Any]:
        """The next line of the worker."""
        assert self._channel is not None
        until = time.monotonic() + seconds
        while b"\n" not in self._buffer:
            self._channel.settimeout(max(until - time.monotonic(), 0.001))
            try:
                data = self._channel.recv(1 << 20)
            except TimeoutError:
                raise WorkerLost("late") from None
            if not data:
                raise WorkerLost("ended")
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        try:
            return dict(json.loads(line))
        except (ValueError, TypeError):
            raise WorkerLost("garbled") from None

    def _write_module(self, path: str, text: str) -> str:
        """Writes a module to a path that the worker can import. A path always has the same text."""
        file = os.path.join(self._folder, path)
        if not os.path.exists(file):
            os.makedirs(os.path.dirname(file), exist_ok=True)
            with open(f"{file}.new", "w", encoding="utf-8") as new:
                new.write(text)
            os.replace(f"{file}.new", file)
        return file

    def _describe_loss(self, how: str) -> dict[str, Any]:
        """Stops a worker that did not reply, and describes its end."""
        process = self._process
        code = None
        if process is not None:
            try:
                # A process that closed its channel is about to exit.
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
        """The end of the worker's output since the last request."""
        if not os.path.exists(self._log):
            return ""
        with open(self._log, "r+b") as file:
            file.seek(max(0, os.path.getsize(self._log) - LOG_TAIL))
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


def _is_damaging(reply: dict[str, Any]) -> bool:
    """True if the worker's process is unusable. Same rule as ``isDamaging`` in ``protocol.ts``."""
    return bool(reply["result"].get("corrupted") if reply["ok"] else reply["error"]["fatal"])
