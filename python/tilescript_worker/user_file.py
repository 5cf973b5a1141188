"""Imports a user's Python file, alone or as a member of its package."""

from __future__ import annotations

import importlib
import os
import sys
from types import ModuleType

from .modules import import_file
from .protocol import RequestError


def import_user_file(path: str) -> ModuleType:
    """Imports the file. Modules next to it and in its package can be imported.

    Raises RequestError with the reason, and exceptions of the file.
    """
    saved_path = list(sys.path)
    try:
        return import_in_package(path)
    except ImportError as error:
        raise RequestError("unsupported", f"the file can't be imported: {error}") from None
    except SyntaxError as error:
        location = "" if error.lineno is None else f"line {error.lineno}: "
        raise RequestError("unsupported", f"the file is no Python: {location}{error.msg}") from None
    except SystemExit:
        raise RequestError("unsupported", "the file ends the process when it is imported") from None
    finally:
        sys.path[:] = saved_path


def import_in_package(path: str) -> ModuleType:
    """Imports the file. From then on, modules next to it and in its package can be imported."""
    root, names = _package_path(path)
    sys.path[:0] = [os.path.dirname(path), root]
    return _import_member(root, names) if len(names) > 1 and _is_name_free(root, names[0]) else import_file(path)


def _package_path(path: str) -> tuple[str, list[str]]:
    """The root folder of the import, and the names of the packages and the module."""
    folder, file = os.path.split(path)
    names = [os.path.splitext(file)[0]]
    while os.path.isfile(os.path.join(folder, "__init__.py")) and os.path.basename(folder):
        folder, package = os.path.split(folder)
        names.insert(0, package)
    return folder, names


def _is_name_free(root: str, package: str) -> bool:
    """True if no other package of this process has the name, such as Triton itself."""
    module = sys.modules.get(package)
    return module is None or os.path.join(root, package) in getattr(module, "__path__", [])


def _import_member(root: str, names: list[str]) -> ModuleType:
    try:
        return importlib.import_module(".".join(names))
    except Exception:
        # The package's __init__ may need modules that this machine lacks. Import the file without running it.
        for name in [name for name in sys.modules if name == names[0] or name.startswith(f"{names[0]}.")]:
            del sys.modules[name]
        for depth in range(1, len(names)):
            package = ModuleType(".".join(names[:depth]))
            package.__path__ = [os.path.join(root, *names[:depth])]
            sys.modules[package.__name__] = package
        return importlib.import_module(".".join(names))
