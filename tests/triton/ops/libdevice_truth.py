"""What functions of libdevice are by mathematics: with mpmath to 60 digits, with fractions, and with Python's integers.

Writes {"results"} to the file named last, as `libdevice_gpu.py` does; float results are float64 for float32 functions too
("d" after the arrow stands for both), so that their rounding is the reader's.
"""

import json
import math
import struct
import sys
from fractions import Fraction

import mpmath as mp
from libdevice_grid import operands, pack

mp.mp.dps = 60
INF = float("inf")
SMOOTH = {
    "acos": mp.acos, "acosh": mp.acosh, "asin": mp.asin, "asinh": mp.asinh, "atan": mp.atan, "atanh": mp.atanh,
    "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)), "cos": mp.cos, "cosh": mp.cosh, "cospi": mp.cospi, "erf": mp.erf,
    "erfc": mp.erfc, "erfcinv": lambda x: mp.erfinv(1 - x), "erfcx": lambda x: mp.exp(x * x) * mp.erfc(x),
    "erfinv": mp.erfinv, "exp": mp.exp, "exp10": lambda x: mp.mpf(10) ** x, "exp2": lambda x: mp.mpf(2) ** x,
    "expm1": mp.expm1, "j0": mp.j0, "j1": mp.j1, "cylBesselI0": lambda x: mp.besseli(0, x),
    "cylBesselI1": lambda x: mp.besseli(1, x), "lgamma": lambda x: mp.log(abs(mp.gamma(x))), "log": mp.log,
    "log10": mp.log10, "log1p": mp.log1p, "log2": lambda x: mp.log(x, 2), "normcdf": mp.ncdf,
    "normcdfinv": lambda x: -mp.sqrt(2) * mp.erfinv(1 - 2 * x), "rcbrt": lambda x: mp.sign(x) / mp.cbrt(abs(x)),
    "rsqrt": lambda x: 1 / mp.sqrt(x), "sin": mp.sin, "sinh": mp.sinh, "sinpi": mp.sinpi, "sqrt": mp.sqrt,
    "tan": mp.tan, "tanh": mp.tanh, "tgamma": mp.gamma, "y0": lambda x: mp.bessely(0, x), "y1": lambda x: mp.bessely(1, x),
    "atan2": mp.atan2, "fdim": lambda x, y: max(x - y, mp.mpf(0)), "hypot": mp.hypot, "rhypot": lambda x, y: 1 / mp.hypot(x, y),
    "norm3d": lambda *x: mp.sqrt(mp.fsum(x, squared=True)), "norm4d": lambda *x: mp.sqrt(mp.fsum(x, squared=True)),
    "rnorm3d": lambda *x: 1 / mp.sqrt(mp.fsum(x, squared=True)), "rnorm4d": lambda *x: 1 / mp.sqrt(mp.fsum(x, squared=True)),
    "jn": mp.besselj, "yn": mp.bessely, "ldexp": lambda x, n: mp.ldexp(x, int(n)), "scalbn": lambda x, n: mp.ldexp(x, int(n)),
    "pow": lambda x, y: x**y,
}
EXACT = {
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "fma": lambda x, y, z: x * y + z,
    "div": lambda x, y: x / y, "rcp": lambda x: 1 / x,
}


# These are known where their operands are large; of the others mpmath would sum very long series there.
FAR = set("acosh asinh atan cbrt cos cospi log log10 log1p log2 rcbrt rsqrt sin sinpi sqrt tan atan2 fdim hypot rhypot".split())
FAR |= set("norm3d norm4d rnorm3d rnorm4d ldexp scalbn".split())


def value(name, function, given):
    """The nearest float64, or None where the function has a pole, an edge or no real value."""
    if not all(math.isfinite(x) and (name in FAR or abs(x) < 1e4) for x in given):
        return None
    # CUDA gives NaN for negative orders; mpmath has no -0.
    if name in ("jn", "yn") and given[0] < 0 or name == "atan2" and given[0] == 0:
        return None
    try:
        exact = function(*[mp.mpf(x) for x in given])
        if isinstance(exact, mp.mpc) or not mp.isfinite(exact):
            return None
        return float(exact)
    except (ValueError, ZeroDivisionError, OverflowError, mp.libmp.NoConvergence):
        return None


def neighbors(letter, exact):
    """The floats of a dtype on both sides of a number, which are one if it is such a float."""
    step = (lambda x, to: struct.unpack("f", struct.pack("I", after32(x, to)))[0]) if letter == "f" else math.nextafter
    near = float(exact) if letter == "d" else struct.unpack("f", struct.pack("f", float(exact)))[0]
    low = near if Fraction(near) <= exact else step(near, -INF)
    return low, low if Fraction(low) == exact else step(low, INF)


def after32(x, to):
    code = struct.unpack("I", struct.pack("f", x))[0]
    if x == 0:
        return 1 if to > 0 else 0x80000001
    return code + (1 if (x > 0) == (to > 0) else -1)


def directed(op, mode, letter, given):
    least = 2.0**-126 if letter == "f" else 0
    flushed = [math.copysign(0.0, x) if abs(x) < least else x for x in given]
    if not all(math.isfinite(x) for x in flushed):
        return None
    try:
        exact = EXACT[op](*[Fraction(x) for x in flushed])
        low, high = neighbors(letter, exact)
    except (ZeroDivisionError, OverflowError):
        return None
    if exact == 0 or not (math.isfinite(low) and math.isfinite(high)):
        return None
    down, up = exact - Fraction(low), Fraction(high) - exact
    even = struct.unpack("Q" if letter == "d" else "I", struct.pack(letter, low))[0] % 2 == 0
    nearest = low if down < up or (down == up and even) else high
    chosen = {"n": nearest, "z": low if exact > 0 else high, "d": low, "u": high}[mode]
    return chosen if abs(chosen) >= least else None


def main():
    results = {}
    for name, function in SMOOTH.items():
        letters = {"jn": "i?", "yn": "i?", "ldexp": "?i", "scalbn": "?i", "norm3d": "???", "rnorm3d": "???", "norm4d": "????", "rnorm4d": "????"}
        pattern = letters.get(name, "??" if name in ("atan2", "fdim", "hypot", "rhypot", "pow") else "?")
        for letter in "fd":
            given = operands(name, pattern.replace("?", letter))
            wanted = [value(name, function, lane) for lane in zip(*given)]
            results[f"{name} {pattern.replace('?', letter)}->{letter}"] = [
                *[pack(kind, values) for kind, values in zip(pattern.replace("?", letter), given)],
                pack("d", [math.nan if x is None else x for x in wanted]),
            ]
    for op in EXACT:
        count = {"fma": 3, "rcp": 1}.get(op, 2)
        for mode in "nzdu":
            for letter in "fd":
                name = f"{op}R{mode}"
                given = operands(name, letter * count)
                wanted = [directed(op, mode, letter, lane) for lane in zip(*given)]
                results[f"{name} {letter * count}->{letter}"] = [
                    *[pack(letter, values) for values in given],
                    pack("d", [math.nan if x is None else x for x in wanted]),
                ]
    with open(sys.argv[-1], "w") as file:
        json.dump({"results": results}, file)


main()
