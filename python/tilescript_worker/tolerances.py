"""How far an output may be from its float64 reference: (rtol, atol) by dtype.

Generated from src/contract/tolerance.ts by ``npm run docs``; edit that file instead.
"""

import torch

# By the dtype of the output. Every other dtype is compared exactly.
ELEMENTWISE = {
    torch.float16: (0.001, 0.001),
    torch.bfloat16: (0.01, 0.01),
    torch.float32: (0.00001, 0.00001),
    torch.float64: (1e-12, 1e-12),
    torch.float8_e5m2: (0.25, 0.25),
    torch.float8_e4m3fn: (0.125, 0.125),
}
# Products of float32 matrices run in TF32, whose inputs keep 10 bits of mantissa.
TF32 = (0.01, 0.1)
# Sums of up to this many terms are within the plain tolerances.
SHORT_SUM = 64
