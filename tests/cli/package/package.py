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
    assert function is module.kernel_fn is getattr(module, kernel), kernel
    # A stub is Python, so it can be asked for its signatures.
    stub = {}
    exec((root / "kernels" / f"{kernel}.pyi").read_text(encoding="utf-8"), stub)
    assert stub["kernel_fn"] is stub[kernel]
    assert inspect.signature(stub[kernel]) == inspect.signature(function), kernel
    for each in ("reference_fn", "get_inputs"):
        said, real = inspect.signature(stub[each]), inspect.signature(getattr(module, each))
        assert list(said.parameters) == list(real.parameters), (kernel, each)
        for parameter in said.parameters.values():
            assert parameter.default == real.parameters[parameter.name].default, (kernel, each)
print("ok")
