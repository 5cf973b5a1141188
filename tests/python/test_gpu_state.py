"""What nvidia-smi prints of a GPU, read."""

from __future__ import annotations

import unittest

from tilescript_worker.gpu_state import parse


class State(unittest.TestCase):
    def test_reads_every_field(self) -> None:
        printed = "580.159.04, 1980, 1980, 3201, 0x0000000000000000, 41, 214.33\n"
        self.assertEqual(
            parse(printed),
            {
                "driver": "580.159.04",
                "sm_mhz": 1980.0,
                "max_sm_mhz": 1980.0,
                "memory_mhz": 3201.0,
                "limited_by": "0x0000000000000000",
                "celsius": 41.0,
                "watts": 214.33,
            },
        )

    def test_leaves_out_what_is_unknown(self) -> None:
        found = parse("580.1, 1980, [N/A], [Not Supported], 0x4, 41, [N/A]")
        self.assertEqual(found, {"driver": "580.1", "sm_mhz": 1980.0, "limited_by": "0x4", "celsius": 41.0})

    def test_takes_nothing_else_for_a_state(self) -> None:
        self.assertIsNone(parse("No devices were found"))
        self.assertIsNone(parse(""))


if __name__ == "__main__":
    unittest.main()
