"""Casts of every code of the narrow dtypes, and of 65,536 of float32, by ml_dtypes and by torch, which must agree.

Writes {"from to": [operand, result]} in base64 to the file named last. Values beyond a float's range are clamped to it
first, as compiled Triton does for 8-bit floats; those beyond an integer's are 0 here and undefined there.
"""

import base64
import json
import sys
import warnings

import ml_dtypes
import numpy as np
import torch

warnings.simplefilter("ignore")
FP8 = {
    "float8e5": (ml_dtypes.float8_e5m2, torch.float8_e5m2),
    "float8e4nv": (ml_dtypes.float8_e4m3fn, torch.float8_e4m3fn),
    "float8e4b8": (ml_dtypes.float8_e4m3fnuz, torch.float8_e4m3fnuz),
    "float8e5b16": (ml_dtypes.float8_e5m2fnuz, torch.float8_e5m2fnuz),
}
FLOATS = {
    "float16": (np.float16, torch.float16),
    "bfloat16": (ml_dtypes.bfloat16, torch.bfloat16),
    "float32": (np.float32, torch.float32),
    "float64": (np.float64, torch.float64),
}
INTS = {
    name: (np.dtype(name).type, getattr(torch, name))
    for name in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
}
ALL = FP8 | FLOATS | INTS


def codes(dtype):
    """Every code of a dtype, or 65,536 of them from all over."""
    width = np.dtype(dtype).itemsize
    if width <= 2:
        return np.arange(2 ** (8 * width), dtype=f"u{width}").view(dtype)
    pick = np.random.default_rng(7)
    return pick.integers(0, 2 ** (8 * width), 65536, dtype=f"u{width}", endpoint=False).view(dtype)


def by_numpy(values, name):
    dtype = ALL[name][0]
    if name in INTS and values.dtype.kind not in "iu":
        wide = values.astype(np.float64)
        info = np.iinfo(dtype)
        inside = np.isfinite(wide) & (np.trunc(wide) >= float(info.min)) & (np.trunc(wide) < float(info.max) + 1)
        return np.where(inside, wide, 0).astype(dtype)
    if name in FP8:
        wide = values.astype(np.float32)
        most = np.float32(ml_dtypes.finfo(dtype).max)
        return np.where(np.isnan(wide), wide, np.clip(wide, -most, most)).astype(dtype)
    return values.astype(dtype)


def by_torch(values, source, name):
    width = values.dtype.itemsize
    given = torch.from_numpy(values.view(f"i{width}").copy()).view(ALL[source][1])
    if name in FP8:
        most = float(torch.finfo(ALL[name][1]).max)
        given = given.to(torch.float32).clamp(-most, most)
    result = given.to(ALL[name][1])
    return result.view(getattr(torch, f"int{8 * result.element_size()}")).numpy().view(ALL[name][0])


def same(a, b):
    a, b = a.astype(np.float64), b.astype(np.float64)
    return bool(np.all((a == b) & (np.signbit(a) == np.signbit(b)) | np.isnan(a) & np.isnan(b)))


def main():
    results, torn = {}, []
    for source in [*FP8, "float16", "bfloat16", "float32", "int8", "uint8", "int16", "uint16"]:
        values = codes(ALL[source][0])
        for name in ALL:
            if name == source or (name in FP8 and source not in FLOATS) or (source in FP8 and name not in FLOATS):
                continue
            if source in FP8 and name == "float64":
                continue
            result = by_numpy(values, name)
            if name not in INTS and not same(result, by_torch(values, source, name)):
                torn.append(f"{source} {name}")
            results[f"{source} {name}"] = [base64.b64encode(x.tobytes()).decode() for x in (values, result)]
    with open(sys.argv[-1], "w") as file:
        json.dump({"results": results, "torn": torn}, file)


main()
