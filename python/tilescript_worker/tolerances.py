"""How far an output may be from its float64 reference.

Generated from src/compiled/tolerance.ts by ``npm run docs``; edit that file instead.
"""

import torch

# Relative to the element, by the output's dtype. Every other dtype is compared exactly.
RELATIVE = {
    torch.float16: 0.001,
    torch.bfloat16: 0.01,
    torch.float32: 0.00001,
    torch.float64: 1e-12,
    torch.float8_e5m2: 0.25,
    torch.float8_e4m3fn: 0.125,
}
# What one rounding changes at most, relative to the value.
UNIT_ROUNDOFF = {
    torch.float32: 5.960464477539063e-8,
    torch.float16: 0.00048828125,
    torch.bfloat16: 0.00390625,
    torch.float8_e5m2: 0.125,
    torch.float8_e4m3fn: 0.0625,
    torch.float8_e4m3fnuz: 0.0625,
    torch.float8_e5m2fnuz: 0.125,
}
# The smallest numbers that a dtype tells apart.
SMALLEST = {
    torch.float16: 5.960464477539063e-8,
    torch.bfloat16: 1.1754943508222875e-38,
    torch.float32: 1.1754943508222875e-38,
    torch.float64: 2.2250738585072014e-308,
    torch.float8_e5m2: 0.0000152587890625,
    torch.float8_e4m3fn: 0.001953125,
}
# What rounding the operands of a product of float32 matrices to TF32 costs.
TF32 = 0.0009765625
# Units of rounding on the way, of the output's root mean square.
UNITS = 4
# No more than this part of the root mean square is taken for rounding.
MOST = 0.04
# Sums of up to this many terms are within the plain tolerances.
SHORT_SUM = 64
# No more than this part of the integers may differ where any may.
SHARE = 0.01
