"""Launches that depend on sizes and on the GPU, as wrappers make them; on Triton's interpreter."""

import unittest
import unittest.mock

import scaled
import torch
import warps


class Launches(unittest.TestCase):
    def launched(self, module, *args):
        """The grid and the options of a launch."""
        with unittest.mock.patch.object(module, "scaled_kernel", unittest.mock.MagicMock()) as kernel:
            module.kernel_fn(*args)
        (grid,), _ = kernel.__getitem__.call_args
        return grid, kernel.__getitem__.return_value.call_args.kwargs

    def test_the_config_follows_from_sizes(self):
        x = torch.randn(1000)
        grid, options = self.launched(scaled, x)
        self.assertEqual(grid, (16,))
        self.assertEqual(options, {"BLOCK": 64, "WIDE": True, "num_stages": 2, "num_warps": 2})
        grid, options = self.launched(scaled, x[:9])
        self.assertEqual(grid, (1,))
        self.assertEqual(options, {"BLOCK": 16, "WIDE": True, "num_stages": 2, "num_warps": 1})

    def test_the_grid_follows_from_the_gpu(self):
        x = torch.randn(1000)
        small = {"multi_processor_count": 3, "shared_memory_per_block_optin": 99_000}
        with unittest.mock.patch.object(scaled, "_INTERPRETED_GPU", small):
            grid, options = self.launched(scaled, x)
            self.assertEqual((grid, options["WIDE"]), ((3,), False))
            torch.testing.assert_close(scaled.kernel_fn(x), x * 2)

    def test_a_real_gpu_is_asked(self):
        asked = unittest.mock.Mock(multi_processor_count=7)
        with (
            unittest.mock.patch.object(scaled, "_INTERPRETED", False),
            unittest.mock.patch.object(torch.cuda, "get_device_properties", return_value=asked) as ask,
        ):
            self.assertEqual(scaled._gpu_property("cuda:1", "multi_processor_count", 132), 7)
        ask.assert_called_once_with("cuda:1")

    def test_every_property_is_one_of_pytorch(self):
        known = dir(torch._C._CudaDeviceProperties) if hasattr(torch._C, "_CudaDeviceProperties") else []
        names = ("multi_processor_count", "shared_memory_per_block_optin", "warp_size", "major", "minor")
        for name in names if known else ():
            self.assertIn(name, known)

    def test_options_out_of_range(self):
        with self.assertRaises(ValueError) as raised:
            warps.kernel_fn(torch.randn(3))
        self.assertEqual(str(raised.exception), "copied: num_warps must be a power of two up to 32, got 3")
        torch.testing.assert_close(warps.kernel_fn(torch.ones(4)), torch.ones(4))


if __name__ == "__main__":
    unittest.main()
