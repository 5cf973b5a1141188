"""A user's Python file as a module, whether it stands alone or in a package."""

from __future__ import annotations

import importlib
import os
import sys
from types import ModuleType

from .modules import import_file
from .protocol import RequestError


def import_user_file(path: str) -> ModuleType:
    """Runs the file as Python does for an importer: what it imports beside it and in its package is found.

    Raises RequestError with the reason, and what the file raises.
    """
    root, parts = _in_package(path)
    before = list(sys.path)
    sys.path[:0] = [os.path.dirname(path), root]
    try:
        return _member(root, parts) if len(parts) > 1 and _is_free(root, parts[0]) else import_file(path)
    except ImportError as error:
        raise RequestError("unsupported", f"the file can't be imported: {error}") from None
    except SyntaxError as error:
        place = "" if error.lineno is None else f"line {error.lineno}: "
        raise RequestError("unsupported", f"the file is no Python: {place}{error.msg}") from None
    except SystemExit:
        raise RequestError("unsupported", "the file ends the process when it is imported") from None
    finally:
        sys.path[:] = before


def _in_package(path: str) -> tuple[str, list[str]]:
    """The folder that an import starts from, and the names that lead to the file from there."""
    folder, file = os.path.split(path)
    parts = [os.path.splitext(file)[0]]
    while os.path.isfile(os.path.join(folder, "__init__.py")) and os.path.basename(folder):
        folder, package = os.path.split(folder)
        parts.insert(0, package)
    return folder, parts


def _is_free(root: str, package: str) -> bool:
    """Whether a package's name is not that of another one which this process has, such as Triton itself."""
    known = sys.modules.get(package)
    return known is None or os.path.join(root, package) in getattr(known, "__path__", [])


def _member(root: str, parts: list[str]) -> ModuleType:
    try:
        return importlib.import_module(".".join(parts))
    except Exception:
        # The rest of a package may need what this machine lacks: the file and what it imports may not.
        for name in [name for name in sys.modules if name == parts[0] or name.startswith(f"{parts[0]}.")]:
            del sys.modules[name]
        for depth in range(1, len(parts)):
            package = ModuleType(".".join(parts[:depth]))
            package.__path__ = [os.path.join(root, *parts[:depth])]
            sys.modules[package.__name__] = package
        return importlib.import_module(".".join(parts))
