"""Triton decides when it is imported whether it interprets, so the device is chosen first."""

import subprocess
import sys
import unittest


class Handlers(unittest.TestCase):
    def test_triton_is_not_loaded_before_the_device_is_chosen(self) -> None:
        script = "import sys, tilescript_worker.handlers; sys.exit('triton' in sys.modules)"
        self.assertEqual(subprocess.run([sys.executable, "-c", script], check=False).returncode, 0)


if __name__ == "__main__":
    unittest.main()
