"""A module with a launch cache where torch or Triton differs: ``plain_calls.py OWNER NAME [VALUE]``.

The attribute is deleted, or replaced by the value, before the module is imported. Triton's launcher calls the stand-in
of the driver.
"""

import ctypes
import importlib
import sys
import warnings

import torch
import triton

owner, name, *value = sys.argv[1:]
target = importlib.import_module(owner)
if value:
    setattr(target, name, value[0])
else:
    delattr(target, name)

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import summed

    # A module asks again at each launch, and warns once.
    x, y, z = (torch.randn(1000) for _ in range(3))
    torch.cuda.is_available = lambda: True
    torch.cuda.current_device = lambda: 0
    torch.cuda.get_device_capability = lambda *_: (9, 0)
    torch._C._cuda_getCurrentRawStream = lambda _: 7
    launches = ctypes.c_long.in_dll(ctypes.CDLL("libcuda.so.1"), "launches")
    counts = []
    for _ in range(3):
        summed._launch(summed.summed_kernel, (triton.cdiv(1000, 128),), (x, y, z), (1000,), x.device, BLOCK=128)
        counts.append(launches.value)

assert counts == [1, 2, 3], counts
assert summed._LAUNCHES == {}, summed._LAUNCHES
assert summed.kernel_fn is summed.summed is summed._checked
(warning,) = [each for each in caught if each.category is RuntimeWarning]
print(warning.message)
