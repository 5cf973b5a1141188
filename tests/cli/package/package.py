"""What pip has installed of a package: ``package.py NAME KERNEL…``."""

import importlib
import inspect
import pathlib
import sys

name, *kernels = sys.argv[1:]
package = importlib.import_module(name)
root = pathlib.Path(package.__file__).parent

assert sorted(package.__all__) == sorted(kernels), package.__all__
assert (root / "py.typed").is_file()
for kernel in kernels:
    module = importlib.import_module(f"{name}.kernels.{kernel}")
    function = getattr(package, kernel)
    assert function is getattr(module, kernel), kernel
    assert not {"kernel_fn", "reference_fn", "get_inputs", "SHAPES"} & {*vars(module)}, kernel
    # A stub is Python, so it can be asked for its signatures.
    stub = {}
    exec((root / "kernels" / f"{kernel}.pyi").read_text(encoding="utf-8"), stub)
    assert inspect.signature(stub[kernel]) == inspect.signature(function), kernel
assert importlib.import_module(f"{name}.kernels._runtime").__version__
print("ok")
