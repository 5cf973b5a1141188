"""Lists what cases would look up in Triton's cache on disk."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .launching import aim, call_on_zeros


def launches(request: dict[str, Any]) -> dict[str, Any]:
    """Serves a ``launches`` request: what each case would look up in Triton's cache, and whether it is there.

    A case that ends with an exception before it launches anything says so when it is run.
    """
    if "target" in request:
        aim(request["target"])
    return {"launches": [_lookups(case) for case in request["cases"]]}


def _lookups(request: dict[str, Any]) -> list[dict[str, Any]]:
    found = []

    def look_up(jit: Any, launch: Callable[..., Any], arguments: Any, options: Any) -> None:
        with _keys_instead(jit) as keys:
            try:
                launch(*arguments, warmup=True, **options)
            except _Stop:
                found.extend({"key": key, "cached": _is_cached(key, name)} for key, name in keys)

    try:
        call_on_zeros(request, look_up)
    except Exception:
        return found
    return found


class _Stop(Exception):
    """Ends a launch where it would compile."""


@contextmanager
def _keys_instead(jit: Any) -> Iterator[list[tuple[str, str]]]:
    """Inside a ``with``, the kernel's compiler only records what it would look up, and the name of the source."""
    from triton.runtime import driver

    # Created once for each device; after that ``compile`` is an attribute.
    _ = jit.device_caches[driver.active.get_current_device()]
    compiler, keys = jit.compile, []

    def note(src: Any, target: Any, options: dict[str, Any], **_: Any) -> None:
        keys.append((_key(src, target, options), src.name))
        raise _Stop

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
