"""Remembered launches on a GPU: the binary of one call must serve no call that needs another.

Runs in a folder that holds emitted modules and nothing else of TileScript.
"""

import itertools
import unittest

import gemm
import torch
import vector_add


def matrix(rows, columns, dtype, offset, transposed):
    """Starts ``offset`` elements into a buffer, so that its address is a multiple of 16 bytes or not."""
    buffer = torch.randn(rows * columns + offset, device="cuda", dtype=dtype)[offset:]
    return buffer.view(columns, rows).T if transposed else buffer.view(rows, columns)


class Launches(unittest.TestCase):
    def test_products(self):
        sizes = [(64, 64, 64), (64, 1, 64), (1, 64, 1), (65, 63, 61), (32, 48, 80)]
        cases = list(
            itertools.product(sizes, (torch.float16, torch.bfloat16), (0, 1, 8), (0, 3), (False, True))
        )
        for _ in range(3):
            before = len(gemm._LAUNCHES)
            for (m, n, k), dtype, first, second, transposed in cases:
                a = matrix(m, k, dtype, first, transposed)
                b = matrix(k, n, dtype, second, not transposed)
                expected = a.double() @ b.double()
                tolerance = 1e-2 if dtype == torch.float16 else 8e-2
                torch.testing.assert_close(gemm.kernel_fn(a, b).double(), expected, rtol=tolerance, atol=tolerance)
        self.assertGreater(before, 0)
        self.assertEqual(len(gemm._LAUNCHES), before, "a third round launches nothing new")

    def test_sums(self):
        for _ in range(2):
            for n, offset in itertools.product((1, 2, 16, 1000, 1024, 4096), (0, 1, 4)):
                x = torch.randn(n + offset, device="cuda")[offset:]
                y = torch.randn(n, device="cuda")
                self.assertTrue(torch.equal(vector_add.kernel_fn(x, y), x + y))

    def test_a_graph_replays_them(self):
        a, b = (torch.randn(256, 256, device="cuda", dtype=torch.float16) for _ in "ab")
        out = torch.empty_like(a)
        gemm.kernel_fn(a, b, out=out)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            gemm.kernel_fn(a, b, out=out)
        a.copy_(torch.randn_like(a))
        out.zero_()
        graph.replay()
        torch.testing.assert_close(out.double(), a.double() @ b.double(), rtol=1e-2, atol=1e-1)

    def test_other_streams(self):
        x, y = (torch.randn(1 << 20, device="cuda") for _ in "xy")
        stream = torch.cuda.Stream()
        vector_add.kernel_fn(x, y)
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            z = vector_add.kernel_fn(x, y)
        stream.synchronize()
        self.assertTrue(torch.equal(z, x + y))

    def test_compiled(self):
        a, b = (torch.randn(128, 128, device="cuda", dtype=torch.float16) for _ in "ab")
        gemm.kernel_fn(a, b)
        compiled = torch.compile(lambda a, b: gemm.kernel_fn(a, b) + 1, fullgraph=True)
        torch.testing.assert_close(compiled(a, b), gemm.kernel_fn(a, b) + 1, rtol=1e-2, atol=1e-2)


if __name__ == "__main__":
    unittest.main()
