"""Products of 8-bit floats, for gluon.py: with a scale for each row and column, or for each block of 128."""

from __future__ import annotations

from typing import Any

#: What is timed: the module, M = N = K, and where products are summed.
TIMED = [
    ("fp8_gemm", 8192, "promoted"),
    ("fp8_gemm", 4096, "promoted"),
    ("fp8_gemm", 8192, "fast"),
    ("fp8_gemm", 4096, "fast"),
    ("fp8_gemm_block_scaled", 8192, "promoted"),
    ("fp8_gemm_block_scaled", 4096, "promoted"),
]
NAMES = {name for name, *_ in TIMED}
#: Sizes M, N, K as in gluon.py, of which PyTorch takes multiples of 16.
SHAPES = [
    (512, 512, 512),
    (1000, 784, 336),
    (129, 1040, 80),
    (77, 272, 16),
    (1, 16, 64),
    (4096, 512, 1024),
    (300, 2064, 4112),
]
#: How the tensor cores' sums are added up.
DTYPES = ("promoted", "fast")
GROUP = 128


class Problem:
    """Inputs for one size, and what PyTorch computes of them."""

    def __init__(self, name: str, shape: tuple[int, int, int], how: str) -> None:
        import torch

        m, n, k = shape
        self.has_blocks = name == "fp8_gemm_block_scaled"
        if self.has_blocks:
            # The copy engine takes rows of scales whose length is a multiple of 16 bytes.
            m = -(-m // 4) * 4
        torch.manual_seed(m + n + k)
        self.shape, self.kind = (m, n), torch.bfloat16
        self.is_fast = how == "fast"
        self.options = {} if self.has_blocks else {"FAST_ACCUM": self.is_fast}

        def scales(*size: int) -> Any:
            return torch.rand(*size, device="cuda") + 0.5

        a, b = (torch.randn(rows, k, device="cuda").to(torch.float8_e4m3fn) for rows in (m, n))
        self.tensors = (a, b)
        #: What the copy engine loads.
        self.copied = (a, b)
        if self.has_blocks:
            groups = -(-k // GROUP)
            self.scales = scales(groups, m), scales(-(-n // GROUP), groups)
            self.copied = (a, b, self.scales[0])
            self.inputs = (a, self.scales[0], b, self.scales[1], self.kind)
        else:
            self.scales = scales(m), scales(n)
            self.inputs = (a, b, *self.scales, self.kind)

    def reference(self, wide: bool) -> Any:
        # cuBLAS takes block scales of groups by four only; elsewhere the rounded result stands for it.
        if not wide and not (self.has_blocks and self.scales[1].shape[1] % 4):
            return self._of_torch()
        (a, b), (x, y) = self.tensors, self._spread()
        exact = ((a.double() * x) @ (b.double() * y).T).float()
        return exact if wide else exact.to(self.kind)

    def _spread(self) -> tuple[Any, Any]:
        """The scale of each element."""
        (a, b), (x, y) = self.tensors, self.scales
        if not self.has_blocks:
            return x[:, None], y[:, None]
        width = a.shape[1]
        across = y.repeat_interleave(GROUP, 1)[:, :width]
        return x.T.repeat_interleave(GROUP, 1)[:, :width], across.repeat_interleave(GROUP, 0)[: len(b)]

    def _of_torch(self) -> Any:
        import torch
        from torch.nn.functional import ScalingType, scaled_mm

        (a, b), (x, y) = self.tensors, self.scales
        if self.has_blocks:
            kinds = ScalingType.BlockWise1x128, ScalingType.BlockWise128x128
            return scaled_mm(a, b.T, x.T, kinds[0], y.T, kinds[1], output_dtype=self.kind)
        options = {"out_dtype": self.kind, "use_fast_accum": self.is_fast}
        return torch._scaled_mm(a, b.T, scale_a=x[:, None], scale_b=y[None], **options)

    def rivals(self) -> dict[str, Any]:
        """cuBLAS with one scale for each tensor, which computes less."""
        import torch

        if self.has_blocks:
            return {}
        (a, b), one = self.tensors, torch.ones((), device="cuda")
        options = {"out_dtype": self.kind, "use_fast_accum": self.is_fast}
        return {"torch, a scale a tensor": lambda: torch._scaled_mm(a, b.T, scale_a=one, scale_b=one, **options)}
