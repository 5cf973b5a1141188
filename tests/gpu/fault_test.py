"""Known faults of compilers and GPUs that only a run shows. A failure means that a fault is gone."""

import unittest

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def count_up(y_ptr, R, C: tl.constexpr, STAGES: tl.constexpr):
    c = tl.arange(0, C)
    for r in tl.range(1, R, 1, num_stages=STAGES):
        tl.store(y_ptr + r * C + c, tl.load(y_ptr + (r - 1) * C + c) + 1)


@triton.jit
def count_up_by_products(y_ptr, R):
    i = tl.arange(0, 32)
    tile = i[:, None] * 32 + i[None, :]
    identity = (i[:, None] == i[None, :]).to(tl.float16)
    for r in range(1, R):
        before = tl.load(y_ptr + (r - 1) * 1024 + tile)
        tl.store(y_ptr + r * 1024 + tile, (tl.dot(before, identity) + 1).to(tl.float16))


@triton.jit
def fill(y_desc):
    y_desc.store([0, 384], tl.full([32, 128], 7, tl.int8))


class PipelinedLoad(unittest.TestCase):
    def rows(self, stages):
        y = torch.zeros(32, 128, device="cuda")
        count_up[(1,)](y, 32, 128, stages)
        return y[:, 0].tolist()

    def products(self, stages):
        y = torch.zeros(32, 32, 32, device="cuda", dtype=torch.float16)
        count_up_by_products[(1,)](y, 32, num_stages=stages)
        return y[:, 0, 0].tolist()

    def test_loads_precede_stores_of_the_iteration_before(self):
        for count in (self.rows, self.products):
            self.assertEqual(count(1), list(range(32)))
            self.assertNotEqual(count(3), list(range(32)))


class TmaStoreTail(unittest.TestCase):
    @unittest.skipUnless(
        torch.version.hip is None and torch.cuda.get_device_capability()[0] >= 9,
        "the GPU has no TMA",
    )
    def test_a_store_writes_past_a_row_of_466_bytes(self):
        memory = torch.zeros(32, 512, device="cuda", dtype=torch.int8)
        fill[(1,)](TensorDescriptor(memory, [32, 466], [512, 1], [32, 128]))
        self.assertEqual(memory[:, 466:].count_nonzero(dim=1).tolist(), [14] * 32)


if __name__ == "__main__":
    unittest.main()
