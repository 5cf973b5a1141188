"""Operands that functions of libdevice are compared on: special values, then values at all scales, always the same.

A letter stands for a dtype: i int32, u uint32, l int64, v uint64, f float32, d float64, b int1. `n` and `e` are int32 as
orders and exponents are.
"""

import random
import struct

LANES = 64
FORMAT = {"f": "f", "d": "d", "i": "i", "u": "I", "l": "q", "v": "Q", "n": "i", "e": "i", "b": "?"}


def floats(letter):
    pick = random.Random(7)
    single = letter == "f"
    tiny, least, most = (2.0**-149, 2.0**-126, 2.0**127 * (2 - 2.0**-23)) if single else (5e-324, 2.0**-1022, 1.7976931348623157e308)
    special = [0.0, -0.0, float("inf"), -float("inf"), float("nan"), tiny, -least / 2, least, -least, most, -most]
    plain = [1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.25, 2.0, 3.0, -7.0, 10.0, 1 / 3, 0.75, 1e-3, 2.0**31, -(2.0**31), 2.0**24 + 1]
    near = [pick.uniform(-1, 1) for _ in range(13)] + [pick.uniform(0, 30) for _ in range(14)]
    wide = [pick.choice([-1, 1]) * 10.0 ** pick.uniform(-12, 12) for _ in range(8)]
    values = special + plain + near + wide
    return [struct.unpack("f", struct.pack("f", x))[0] if single else x for x in values]


def integers(bits, signed):
    pick = random.Random(7)
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    special = [0, 1, 2, 3, 255, 256, 0x3210, 0x7654, 2**24 - 1, 2**24 + 1, low, low + 1, high, high - 1, 2 ** (bits - 2)]
    small = [-1, -2, -255] if signed else [17, 18, 19]
    wide = [pick.randint(low, high) >> pick.randint(0, bits - 2) for _ in range(LANES - len(special) - len(small))]
    return special + small + wide


GRIDS = {
    "f": floats("f"),
    "d": floats("d"),
    "i": integers(32, True),
    "u": integers(32, False),
    "l": integers(64, True),
    "v": integers(64, False),
    "n": [i % 16 - 2 for i in range(LANES)],
    "e": [i * 7 % 321 - 160 for i in range(LANES)],
}

ORDERS = {"jn": "nf nd", "yn": "nf nd", "ldexp": "fe de", "scalbn": "fe de"}


def operands(name, letters):
    """The values of each operand, lane by lane: each grid in an order of its own, so that many pairs meet."""
    for kinds in ORDERS.get(name, letters).split():
        if kinds[-1] == letters[-1] or kinds[0] == letters[0]:
            letters = kinds
            break
    if name == "pow" and letters[-1] == "i":
        letters = letters[0] + "n"
    return [[GRIDS[kind][(i * (2 * k + 1) + 11 * k) % LANES] for i in range(LANES)] for k, kind in enumerate(letters)]


def pack(letter, values):
    """Values as one hexadecimal string, little-endian."""
    return struct.pack(f"<{len(values)}{FORMAT[letter]}", *values).hex()
