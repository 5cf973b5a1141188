"""Products with 4-bit weights, for gluon.py. PyTorch multiplies by the same weights in float16."""

from __future__ import annotations

from typing import Any

#: What is timed: the module, M = N = K, and the dtype.
TIMED = [("int4_gemm", 4096, "float16"), ("int4_gemm", 8192, "float16")]
NAMES = {name for name, *_ in TIMED}
DTYPES = ("float16",)
#: Rows of the weights that share a scale.
GROUP = 128
#: Sizes M, N, K as in gluon.py, of whole groups.
SHAPES = [
    (512, 512, 512),
    (1000, 776, 384),
    (129, 1032, 128),
    (77, 264, 256),
    (1, 8, 128),
    (4096, 512, 1024),
    (300, 2056, 4224),
]


class Problem:
    """Inputs for one size, and what PyTorch computes of them."""

    def __init__(self, name: str, shape: tuple[int, int, int], dtype: str) -> None:
        import torch

        m, n, k = shape
        torch.manual_seed(m + n + k)
        self.shape, self.kind = (m, n), getattr(torch, dtype)
        self.options = {"GROUP_SIZE": GROUP}

        def words(*size: int) -> Any:
            return torch.randint(-(2**31), 2**31, size, device="cuda", dtype=torch.int32)

        a = torch.randn(m, k, device="cuda", dtype=self.kind)
        packed, zeros = words(k // 8, n), words(k // GROUP, n // 8)
        scales = (torch.rand(k // GROUP, n, device="cuda") / 8 + 0.01).half()
        self.inputs = (a, packed, scales, zeros)
        #: What the copy engine loads.
        self.copied = (a, packed)
        shifts = 4 * torch.arange(8, device="cuda", dtype=torch.int32)
        values = ((packed[:, None] >> shifts[:, None]) & 15).reshape(k // GROUP, GROUP, n)
        zero = ((zeros[:, :, None] >> shifts) & 15).reshape(k // GROUP, 1, n)
        self.weights = ((values - zero) * scales[:, None]).half().reshape(k, n)

    def reference(self, wide: bool) -> Any:
        import torch

        factors = (self.inputs[0], self.weights)
        return torch.matmul(*[x.float() for x in factors]) if wide else torch.matmul(*factors)

    def rivals(self) -> dict[str, Any]:
        return {}
