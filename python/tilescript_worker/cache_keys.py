"""Lists the lookups of test cases in Triton's cache on disk."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .launching import call_on_zeros, set_target


def launches(request: dict[str, Any]) -> dict[str, Any]:
    """Serves a ``launches`` request: the lookups of each case in Triton's cache, and whether they hit.

    A case that raises before its first launch has no lookups. Running it reports the error.
    """
    if "target" in request:
        set_target(request["target"])
    return {"launches": [_lookups(case) for case in request["cases"]]}


def _lookups(request: dict[str, Any]) -> list[dict[str, Any]]:
    lookups = []

    def look_up(jit: Any, launch: Callable[..., Any], arguments: Any, options: Any) -> None:
        with _capture_keys(jit) as keys:
            try:
                launch(*arguments, warmup=True, **options)
            except _StopLaunch:
                lookups.extend({"key": key, "cached": _is_cached(key, name)} for key, name in keys)

    try:
        call_on_zeros(request, look_up)
    except Exception:
        return lookups
    return lookups


class _StopLaunch(Exception):
    """Stops a launch before it compiles."""


@contextmanager
def _capture_keys(jit: Any) -> Iterator[list[tuple[str, str]]]:
    """Inside a ``with``, records the cache key and the name of each source instead of compiling."""
    from triton.runtime import driver

    # Created once for each device; after that ``compile`` is an attribute.
    _ = jit.device_caches[driver.active.get_current_device()]
    compiler, keys = jit.compile, []

    def note(src: Any, target: Any, options: dict[str, Any], **_: Any) -> None:
        keys.append((_key(src, target, options), src.name))
        raise _StopLaunch

    jit.compile = note
    try:
        yield keys
    finally:
        jit.compile = compiler


def _key(src: Any, target: Any, options: dict[str, Any]) -> str:
    """The name of a kernel's folder in Triton's cache, as ``triton.compile`` computes it."""
    from triton._C.libtriton import get_cache_invalidating_env_vars
    from triton.compiler import make_backend
    from triton.runtime.cache import get_cache_key

    backend = make_backend(target)
    parsed = backend.parse_options(dict(options, **src.parse_options()))
    key = get_cache_key(src, backend, parsed, env_vars=get_cache_invalidating_env_vars())
    return hashlib.sha256(key.encode()).hexdigest()


def _is_cached(key: str, name: str) -> bool:
    from triton.runtime.cache import get_cache_manager

    metadata = f"{name[:150]}.json"
    return metadata in (get_cache_manager(key).get_group(metadata) or {})
