"""Agent on a remote machine. The runner sends this file, and talks to it through standard input and output.

It imports only Python's standard library, because its Python may differ from the one that runs kernels. Messages are
lines of JSON. Lines to the runner start with a prefix that the runner chose, since a login shell may print too.
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

# Seconds without a message after which the runner counts as lost, even if the connection looks alive.
SILENCE = 300
PREFIX = "tilescript-module-"
DAY = 86_400


class Agent:
    """Serves messages from ``requests`` until they end. Then it kills its programs and removes its files."""

    def __init__(self, requests: BinaryIO, replies: int) -> None:
        self._requests = requests
        self._replies = replies
        self._lock = threading.Lock()
        self._prefix = b""
        self._last_message_time = time.monotonic()
        self._folder = ""
        self._file_count = 0
        self._programs: dict[int, subprocess.Popen[bytes]] = {}
        self._channels: dict[int, socket.socket] = {}

    def serve(self) -> None:
        """Answers until the runner closes its end."""
        try:
            self._prefix = self._requests.readline().strip()
            threading.Thread(target=self._watch, daemon=True).start()
            self._send({"ready": True, **self._facts()})
            for line in self._requests:
                self._last_message_time = time.monotonic()
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
            "place": self._write_module,
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
        data = b"\n" + self._prefix + json.dumps(message).encode() + b"\n"
        with self._lock:
            try:
                while data:
                    data = data[os.write(self._replies, data) :]
            except OSError:
                self._end()

    def _facts(self) -> dict[str, Any]:
        """Facts about this machine that the runner needs."""
        names = ("TILESCRIPT_PYTHON", "VIRTUAL_ENV", "XDG_CACHE_HOME", "PYTHONPATH")
        return {
            "home": os.path.expanduser("~"),
            "env": {name: os.environ[name] for name in names if name in os.environ},
            "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
            "platform": sys.platform,
        }

    def _write_module(self, message: dict[str, Any]) -> str:
        """Writes a file into a new temporary folder, which this process removes when it ends."""
        if not self._folder:
            sweep()
            self._folder = tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-")
        self._file_count += 1
        folder = os.path.join(self._folder, str(self._file_count))
        path = os.path.join(folder, message["name"])
        os.mkdir(folder)
        with open(path, "w", encoding="utf-8") as file:
            file.write(message["text"])
        return path

    def _lock_file(self, message: dict[str, Any]) -> bool:
        """Locks a file until this process ends. False if another process holds the lock."""
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
        """Starts a worker with a socket as its message channel."""
        number = message["program"]
        channel, remote_channel = socket.socketpair()
        channel.set_inheritable(False)
        try:
            program = self._spawn(message, remote_channel.fileno())
        except OSError as error:
            channel.close()
            code = errno.errorcode.get(error.errno or 0, "unknown")
            self._send({"program": number, "ended": {"exitCode": None, "signal": None, "unstarted": code}})
            return
        finally:
            remote_channel.close()
        self._programs[number], self._channels[number] = program, channel
        threading.Thread(target=self._read_lines, args=(number, channel), daemon=True).start()
        for name in ("stdout", "stderr"):
            self._forward(number, name, getattr(program, name))
        threading.Thread(target=self._report_end, args=(number, program), daemon=True).start()

    def _spawn(self, message: dict[str, Any], channel: int | None = None) -> subprocess.Popen[bytes]:
        """Starts a program in a new process group, without input."""
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
            # The program has ended. `_report_end` reports that.
            pass

    def _report_end(self, number: int, program: subprocess.Popen[bytes]) -> None:
        self._send({"program": number, "ended": self._wait(number, program)})

    def _wait(self, number: int, program: subprocess.Popen[bytes]) -> dict[str, Any]:
        code = program.wait()
        self._kill_group(program)
        # Wait for the last output. A surviving child may hold the streams open, so do not wait for their end.
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
    def _kill_group(program: subprocess.Popen[bytes]) -> None:
        try:
            os.killpg(program.pid, signal.SIGKILL)
        except OSError:
            pass

    def _watch(self) -> None:
        while time.monotonic() - self._last_message_time < SILENCE:
            time.sleep(5)
        self._end()

    def _end(self) -> None:
        for program in list(self._programs.values()):
            self._kill_group(program)
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
        os._exit(0)


def _key_of(folder: str) -> str:
    """A hash of the files in a folder; empty if the folder has none."""
    digest = hashlib.sha256()
    paths = []
    for parent, _, names in os.walk(folder):
        paths += [os.path.relpath(os.path.join(parent, name), folder) for name in names]
    for name in sorted(paths):
        with open(os.path.join(folder, name), "rb") as file:
            data = file.read()
        digest.update(f"{name}\0{len(data)}\0".encode() + data)
    return digest.hexdigest() if paths else ""


def _keep(folder: str, files: dict[str, str]) -> None:
    """Writes a folder atomically and replaces an older version."""
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    incoming = tempfile.mkdtemp(prefix="incoming-", dir=os.path.dirname(folder))
    try:
        for name, text in files.items():
            path = os.path.join(incoming, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8", newline="") as file:
                file.write(text)
        if os.path.isdir(folder):
            os.rename(folder, f"{incoming}-old")
        os.rename(incoming, folder)
    except OSError as error:
        # Another runner may have written the same at the same time.
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
    finally:
        shutil.rmtree(incoming, ignore_errors=True)
        shutil.rmtree(f"{incoming}-old", ignore_errors=True)


def _replace(message: dict[str, Any]) -> None:
    """Writes a file atomically."""
    incoming = f"{message['path']}.{os.getpid()}"
    with open(incoming, "w", encoding="utf-8") as file:
        file.write(message["text"])
    os.replace(incoming, message["path"])


def _write(message: dict[str, Any]) -> None:
    """Appends bytes to a file. The first chunk creates it."""
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
