"""Replaces packages that are not installed by placeholders, in processes with this folder in ``PYTHONPATH``.

A file that defines a kernel also imports what its host functions need. Packages of the file system, of Python, of
PyTorch and of Triton are never replaced.
"""

import importlib.abc
import importlib.machinery
import sys

NEVER = {*sys.stdlib_module_names, *sys.builtin_module_names, "torch", "triton", "sitecustomize", "usercustomize"}


class Placeholder(type(sys)):
    """A module, a class, a function or a decorator, whatever the file takes it for."""

    def __init__(self, name="absent"):
        super().__init__(name)
        self.__path__ = []

    def __getattr__(self, name):
        if name == "__version__":
            return "99.0"
        # An object with `fn` would be a decorated kernel.
        if name.startswith("__") or name == "fn":
            raise AttributeError(name)
        return Placeholder(f"{self.__name__}.{name}")

    def __call__(self, *args, **_):
        # A decorator without arguments returns the function.
        return args[0] if len(args) == 1 and callable(args[0]) else Placeholder()

    def __mro_entries__(self, _):
        return ()

    def __iter__(self):
        return iter(())

    def __getitem__(self, _):
        return Placeholder()

    def __index__(self):
        return 1

    def __or__(self, _):
        return Placeholder()

    __ror__ = __and__ = __add__ = __sub__ = __mul__ = __floordiv__ = __mod__ = __lshift__ = __rshift__ = __or__

    def __lt__(self, _):
        return False

    def __gt__(self, _):
        return True

    __le__, __ge__ = __lt__, __gt__


def is_asked_by_installed():
    """True if the import stands in an installed package, which knows what to do without an optional one."""
    frame = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    file = "" if frame is None else frame.f_code.co_filename
    return file.startswith(sys.base_prefix + "/lib") or "site-packages" in file


class Placeholders(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds every module that no other finder finds."""

    def find_spec(self, name, path=None, target=None):
        package = name.split(".")[0]
        # Packages such as torch_npu add other devices.
        is_kept = package in NEVER or package.startswith("torch_") or is_asked_by_installed()
        return None if is_kept else importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return Placeholder(spec.name)

    def exec_module(self, module):
        pass


sys.meta_path.append(Placeholders())
