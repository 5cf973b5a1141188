"""Starts workers on a machine for a runner elsewhere, which sent this file and speaks through these pipes.

It needs nothing but Python's own library: the Python that runs it need not be the one that runs kernels. Messages are
lines of JSON. Those to the runner begin with a word of its choice, since a login may print too.
"""

from __future__ import annotations

import base64
import errno
import hashlib
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
from collections.abc import Callable
from typing import Any, BinaryIO

# A runner that says nothing for so many seconds is gone, though its connection may look alive from here.
SILENCE = 300
PREFIX = "tilescript-module-"
DAY = 86_400


class Agent:
    """Serves messages from ``requests`` until they end; then nothing that it started or wrote is left."""

    def __init__(self, requests: BinaryIO, replies: int) -> None:
        self._requests = requests
        self._replies = replies
        self._lock = threading.Lock()
        self._word = b""
        self._heard = time.monotonic()
        self._folder = ""
        self._placed = 0
        self._programs: dict[int, subprocess.Popen] = {}
        self._channels: dict[int, socket.socket] = {}

    def serve(self) -> None:
        """Answers until the runner closes its end."""
        try:
            self._word = self._requests.readline().strip()
            threading.Thread(target=self._watch, daemon=True).start()
            self._send({"ready": True, **self._facts()})
            for line in self._requests:
                self._heard = time.monotonic()
                self._answer(json.loads(line))
        except (OSError, ValueError):
            # The connection broke, perhaps in the middle of a line.
            pass
        finally:
            self._end()

    def _answer(self, message: dict[str, Any]) -> None:
        if message["do"] == "line":
            self._write_line(message["program"], message["line"])
            return
        if message["do"] == "run":
            # It takes long; other messages go on.
            threading.Thread(target=self._reply, args=(self._run, message), daemon=True).start()
            return
        actions: dict[str, Callable[..., Any]] = {
            "alive": lambda _: None,
            "has": lambda each: _key_of(each["folder"]) == each["key"],
            "keep": lambda each: _keep(each["folder"], each["files"]),
            "exists": lambda each: os.path.exists(each["path"]),
            "free": lambda each: shutil.disk_usage(each["path"]).free,
            "make": lambda each: os.makedirs(each["path"], exist_ok=True),
            "lock": self._lock_file,
            "remove": lambda each: _remove(each["path"]),
            "place": self._place,
            "replace": _replace,
            "write": _write,
            "read": _read,
            "start": self._start,
            "kill": lambda each: self._kill(each["program"]),
        }
        self._reply(actions[message["do"]], message)

    def _reply(self, action: Callable[..., Any], message: dict[str, Any]) -> None:
        try:
            reply = {"ok": True, "result": action(message)}
        except OSError as error:
            code = errno.errorcode.get(error.errno or 0, "")
            reply = {"ok": False, "code": code, "path": str(error.filename or ""), "message": str(error)}
        self._send({"id": message["id"], **reply})

    def _send(self, message: dict[str, Any]) -> None:
        data = b"\n" + self._word + json.dumps(message).encode() + b"\n"
        with self._lock:
            try:
                while data:
                    data = data[os.write(self._replies, data) :]
            except OSError:
                self._end()

    def _facts(self) -> dict[str, Any]:
        """What the runner wants to know of this machine."""
        names = ("TILESCRIPT_PYTHON", "VIRTUAL_ENV", "XDG_CACHE_HOME", "PYTHONPATH")
        return {
            "home": os.path.expanduser("~"),
            "env": {name: os.environ[name] for name in names if name in os.environ},
            "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
            "platform": sys.platform,
        }

    def _place(self, message: dict[str, Any]) -> str:
        """Writes a file into a folder of its own, which goes with this process."""
        if not self._folder:
            sweep()
            self._folder = tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-")
        self._placed += 1
        folder = os.path.join(self._folder, str(self._placed))
        path = os.path.join(folder, message["name"])
        os.mkdir(folder)
        with open(path, "w", encoding="utf-8") as file:
            file.write(message["text"])
        return path

    def _lock_file(self, message: dict[str, Any]) -> bool:
        """Whether a file is locked now; it stays so until this process ends."""
        import fcntl

        file = os.open(message["path"], os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            return False
        return True

    def _run(self, message: dict[str, Any]) -> dict[str, Any]:
        """Runs a program to its end, and sends what it prints as it comes."""
        try:
            program = self._spawn(message)
        except OSError as error:
            return {"exitCode": None, "signal": None, "unstarted": errno.errorcode.get(error.errno or 0, "unknown")}
        self._programs[message["program"]] = program
        for name in ("stdout", "stderr"):
            self._forward(message["program"], name, getattr(program, name))
        return self._wait(message["program"], program)

    def _start(self, message: dict[str, Any]) -> None:
        """Starts a worker, whose messages go through a socket of their own."""
        number = message["program"]
        own, other = socket.socketpair()
        own.set_inheritable(False)
        try:
            program = self._spawn(message, other.fileno())
        except OSError as error:
            own.close()
            code = errno.errorcode.get(error.errno or 0, "unknown")
            self._send({"program": number, "ended": {"exitCode": None, "signal": None, "unstarted": code}})
            return
        finally:
            other.close()
        self._programs[number], self._channels[number] = program, own
        threading.Thread(target=self._read_lines, args=(number, own), daemon=True).start()
        for name in ("stdout", "stderr"):
            self._forward(number, name, getattr(program, name))
        threading.Thread(target=self._report_end, args=(number, program), daemon=True).start()

    def _spawn(self, message: dict[str, Any], channel: int | None = None) -> subprocess.Popen:
        """A program that leads a group of its own, without input."""
        arguments = [str(channel) if each is None else each for each in message["arguments"]]
        return subprocess.Popen(
            [message["command"], *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **message["env"]},
            cwd=os.path.expanduser("~"),
            start_new_session=True,
            pass_fds=() if channel is None else (channel,),
        )

    def _forward(self, number: int, name: str, stream: BinaryIO) -> None:
        def forward() -> None:
            for data in iter(lambda: os.read(stream.fileno(), 1 << 16), b""):
                self._send({"program": number, name: data.decode(errors="replace")})

        threading.Thread(target=forward, daemon=True).start()

    def _read_lines(self, number: int, channel: socket.socket) -> None:
        with channel.makefile("rb") as lines:
            try:
                for line in lines:
                    self._send({"program": number, "line": line.decode(errors="replace").rstrip("\n")})
            except OSError:
                pass

    def _write_line(self, number: int, line: str) -> None:
        try:
            self._channels[number].sendall(line.encode() + b"\n")
        except (KeyError, OSError):
            # It has ended, which is reported by itself.
            pass

    def _report_end(self, number: int, program: subprocess.Popen) -> None:
        self._send({"program": number, "ended": self._wait(number, program)})

    def _wait(self, number: int, program: subprocess.Popen) -> dict[str, Any]:
        code = program.wait()
        self._kill_group(program)
        # What it wrote last comes before its end; what it left behind may hold its streams open.
        time.sleep(0.1)
        self._programs.pop(number, None)
        self._channels.pop(number, None)
        name = signal.Signals(-code).name if code < 0 else None
        return {"exitCode": None if code < 0 else code, "signal": name}

    def _kill(self, number: int) -> None:
        program = self._programs.get(number)
        if program is not None:
            self._kill_group(program)

    @staticmethod
    def _kill_group(program: subprocess.Popen) -> None:
        try:
            os.killpg(program.pid, signal.SIGKILL)
        except OSError:
            pass

    def _watch(self) -> None:
        while time.monotonic() - self._heard < SILENCE:
            time.sleep(5)
        self._end()

    def _end(self) -> None:
        for program in list(self._programs.values()):
            self._kill_group(program)
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
        os._exit(0)


def _key_of(folder: str) -> str:
    """What the files of a folder hold, as one word; none where there is no such folder."""
    digest = hashlib.sha256()
    found = []
    for where, _, names in os.walk(folder):
        found += [os.path.relpath(os.path.join(where, name), folder) for name in names]
    for name in sorted(found):
        with open(os.path.join(folder, name), "rb") as file:
            data = file.read()
        digest.update(f"{name}\0{len(data)}\0".encode() + data)
    return digest.hexdigest() if found else ""


def _keep(folder: str, files: dict[str, str]) -> None:
    """Writes a folder completely or not at all. What lay there and was something else is replaced."""
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    made = tempfile.mkdtemp(prefix="incoming-", dir=os.path.dirname(folder))
    try:
        for name, text in files.items():
            path = os.path.join(made, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8", newline="") as file:
                file.write(text)
        if os.path.isdir(folder):
            os.rename(folder, f"{made}-old")
        os.rename(made, folder)
    except OSError as error:
        # Another runner may have written the same at the same time.
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
    finally:
        shutil.rmtree(made, ignore_errors=True)
        shutil.rmtree(f"{made}-old", ignore_errors=True)


def _replace(message: dict[str, Any]) -> None:
    """Writes a file completely or not at all."""
    incoming = f"{message['path']}.{os.getpid()}"
    with open(incoming, "w", encoding="utf-8") as file:
        file.write(message["text"])
    os.replace(incoming, message["path"])


def _write(message: dict[str, Any]) -> None:
    """Appends bytes to a file, which the first part makes."""
    with open(message["path"], "wb" if message["first"] else "ab") as file:
        file.write(base64.b64decode(message["data"]))


def _read(message: dict[str, Any]) -> str:
    with open(message["path"], "rb") as file:
        file.seek(message["from"])
        return base64.b64encode(file.read(message["most"])).decode()


def _remove(path: str) -> None:
    if os.path.isdir(path):
        shutil.rmtree(path, ignore_errors=True)
    elif os.path.exists(path):
        os.remove(path)


def sweep() -> None:
    """Removes what agents left that were killed. Only folders a day old: another container may have the same ids."""
    parent = tempfile.gettempdir()
    for name in os.listdir(parent):
        process = name[len(PREFIX) :].split("-")[0] if name.startswith(PREFIX) else ""
        path = os.path.join(parent, name)
        try:
            if process.isdigit() and not _is_running(int(process)) and time.time() - os.stat(path).st_mtime > DAY:
                shutil.rmtree(path, ignore_errors=True)
        except OSError:
            continue


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def main() -> None:
    """Keeps standard output for messages: what programs print there goes to standard error."""
    replies = os.dup(1)
    os.dup2(2, 1)
    Agent(sys.stdin.buffer, replies).serve()


if __name__ == "__main__":
    main()
