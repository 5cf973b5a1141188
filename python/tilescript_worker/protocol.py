"""Newline-delimited JSON messages. ``src/runtime/worker/protocol.ts`` defines their types."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from typing import Any, TextIO

VERSION = 13

Handler = Callable[[dict[str, Any]], dict[str, Any]]


class RequestError(Exception):
    """A request that the worker does not understand or can't serve; its text goes to the user as it is."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def number(value: float) -> float | str:
    """JSON has no NaN and no infinities, and JavaScript no more than 53 bits; these travel as strings."""
    if isinstance(value, int) and abs(value) > 2**53:
        return str(value)
    value = float(value)
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return value


def serve(requests: TextIO, replies: TextIO, make_handlers: Callable[[], dict[str, Handler]]) -> None:
    """Answers each line of ``requests`` with one line, until ``shutdown`` or the end of input.

    The handlers are created on the first request, so that a failing import of torch becomes a reply.
    """
    served_by = os.getpid()
    handlers: dict[str, Handler] | None = None
    _send(replies, {"v": VERSION, "ready": True})
    for line in requests:
        request = json.loads(line)
        reply: dict[str, Any] = {"v": VERSION, "id": request["id"]}
        if request["type"] == "shutdown":
            _send(replies, {**reply, "ok": True, "result": {}})
            return
        try:
            if request["v"] != VERSION:
                raise RequestError("protocol", f"the worker speaks version {VERSION}, the request is {request['v']}")
            if handlers is None:
                handlers = make_handlers()
            if request["type"] not in handlers:
                raise RequestError("protocol", f"unknown request type {request['type']!r}")
            reply |= {"ok": True, "result": handlers[request["type"]](request)}
        except RequestError as error:
            reply |= {"ok": False, "error": {"kind": error.kind, "message": str(error), "frames": [], "fatal": False}}
        except BaseException as error:
            # The kernel's module may also raise SystemExit.
            from .failures import describe

            reply |= {"ok": False, "error": describe(error, request.get("module"))}
        if os.getpid() != served_by:
            # The kernel's module has forked, and this is the child: the parent answers.
            os._exit(0)
        _send(replies, reply)


def _send(replies: TextIO, reply: dict[str, Any]) -> None:
    replies.write(json.dumps(reply, allow_nan=False) + "\n")
    replies.flush()
