"""Which of two kernels a wrapper launches that times both, of a module with a warp-specialized kernel.

The plain kernel runs on Triton's interpreter. No Hopper GPU is needed: a function that multiplies matrices stands for the
specialized kernel, and a list of times for the clock.
"""

import threading
import time
import unittest
import unittest.mock
import warnings

import gemm
import torch
import triton


cpu_milliseconds = gemm._cpu_milliseconds


def others_may_launch():
    found = []

    def look():
        found.append(gemm._TUNING_LOCK.acquire(blocking=False))
        if found[0]:
            gemm._TUNING_LOCK.release()

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    return found[0]


class Specialized:
    """Computes what the specialized kernel computes, and counts its launches."""

    launches = 0
    error = None
    #: Whether another thread could launch meanwhile.
    shared = False

    def __getitem__(self, grid):
        def launch(a, b, c, *sizes):
            self.launches += 1
            self.shared = self.shared or others_may_launch()
            if self.error:
                raise self.error
            c.base.copy_(a.base @ b.base)

        return launch


class Chosen(unittest.TestCase):
    def setUp(self):
        self.timed = []
        self.times = {"_specialized": 1.0, "_plain": 2.0}
        self.gpu = "one"
        self.specialized = Specialized()
        self.stand_in(gemm, "_is_specialized", lambda *_: True)
        self.stand_in(gemm, "gemm_specialized_kernel", self.specialized)
        self.stand_in(triton.testing, "do_bench", self.bench)
        self.cpu = {"_specialized": 0.0, "_plain": 0.0}
        self.stand_in(gemm, "_cpu_milliseconds", lambda launch: self.cpu[launch.__name__])
        self.stand_in(torch.cuda, "is_current_stream_capturing", lambda: False)
        self.stand_in(torch.cuda, "get_device_name", lambda _: self.gpu)
        gemm._FASTER.clear()

    def stand_in(self, owner, name, value):
        patch = unittest.mock.patch.object(owner, name, value)
        patch.start()
        self.addCleanup(patch.stop)

    def bench(self, call, **_):
        self.assertFalse(others_may_launch())
        call()
        self.timed.append(call.__name__)
        time = self.times[call.__name__]
        return time if isinstance(time, float) else time[self.timed.count(call.__name__) - 1]

    def call(self, m=16, dtype=torch.float16):
        """Whether a call, which must be right, launches the specialized kernel after whatever is timed."""
        a, b = torch.randn(m, 32, dtype=dtype), torch.randn(32, 16, dtype=dtype)
        before, timed = self.specialized.launches, self.timed.count("_specialized")
        c = gemm.gemm(a, b)
        torch.testing.assert_close(c, a @ b, rtol=1e-2, atol=1e-2)
        return self.specialized.launches - before - (self.timed.count("_specialized") - timed) == 1

    def test_launches_the_faster_one_and_times_each_key_once(self):
        self.assertTrue(self.call())
        self.assertEqual(self.timed, ["_specialized", "_plain"] * 3)
        self.assertTrue(self.call())
        self.assertEqual(len(self.timed), 6)
        self.times["_plain"] = 0.5
        self.assertTrue(self.call())
        self.assertFalse(self.call(m=24))
        self.assertEqual(len(self.timed), 12)
        self.assertFalse(self.call(m=24))
        self.assertEqual(len(self.timed), 12)

    def test_a_launch_that_takes_the_cpu_longer_than_the_gpu_counts_as_slow(self):
        self.cpu["_specialized"] = 1.9
        self.assertTrue(self.call())
        self.cpu["_specialized"] = 2.1
        self.assertFalse(self.call(m=24))
        self.cpu["_plain"] = 3.0
        self.assertTrue(self.call(m=32))

    def test_the_cpu_is_timed_while_it_launches(self):
        launches = []
        with unittest.mock.patch.object(torch.cuda, "synchronize", lambda: launches.clear()):
            took = cpu_milliseconds(lambda: (launches.append(0), time.sleep(0.002)))
        self.assertEqual(len(launches), 10)
        self.assertGreaterEqual(took, 2)
        self.assertLess(took, 20)

    def test_dtypes_are_timed_apart(self):
        self.call()
        # Triton's interpreter computes bfloat16 wrongly, so the specialized kernel's stand-in takes both places.
        patch = unittest.mock.patch.object(triton, "has_bfloat16", True, create=True)
        patch.start()
        self.addCleanup(patch.stop)
        plain = unittest.mock.MagicMock()
        plain.__getitem__.return_value = lambda a, b, c, *_: c.copy_(a @ b)
        self.stand_in(gemm, "gemm_kernel", plain)
        self.call(dtype=torch.bfloat16)
        self.assertEqual(len(self.timed), 12)
        self.assertEqual([key[-1] for key in gemm._FASTER], [torch.float16, torch.bfloat16])

    def test_one_slow_round_decides_nothing(self):
        self.times["_specialized"] = [1.0, 9.0, 1.0]
        self.assertTrue(self.call())

    def test_a_graph_that_is_recorded_first_has_the_plain_kernel_and_decides_nothing(self):
        torch.cuda.is_current_stream_capturing = lambda: True
        self.assertFalse(self.call())
        self.assertEqual((self.timed, gemm._FASTER), ([], {}))
        torch.cuda.is_current_stream_capturing = lambda: False
        self.assertTrue(self.call())
        torch.cuda.is_current_stream_capturing = lambda: True
        self.assertTrue(self.call())

    def test_gpus_of_other_kinds_are_timed_apart(self):
        self.call()
        self.gpu = "two"
        self.times["_plain"] = 0.5
        self.assertFalse(self.call())
        self.gpu = "one"
        self.assertTrue(self.call())
        self.assertEqual(len(self.timed), 12)

    def test_one_thread_at_a_time_launches_the_specialized_one(self):
        self.call()
        self.assertFalse(self.specialized.shared)
        self.assertTrue(others_may_launch())

    def test_one_that_fails_is_told_once_and_never_launched_again(self):
        self.specialized.error = triton.runtime.errors.OutOfResources(300000, 232448, "shared memory")
        with self.assertWarnsRegex(RuntimeWarning, "^gemm: the plain kernel is launched, .*OutOfResources.*300000"):
            self.call()
        launches = self.specialized.launches
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.call()
        self.assertEqual(self.specialized.launches, launches)
        self.assertTrue(others_may_launch())

    def test_who_interrupts_the_timing_decides_nothing(self):
        self.specialized.error = KeyboardInterrupt()
        with self.assertRaises(KeyboardInterrupt):
            self.call()
        self.specialized.error = None
        self.assertTrue(self.call())

    def test_what_cannot_be_specialized_is_not_timed(self):
        gemm._is_specialized = lambda *_: False
        self.assertFalse(self.call())
        self.assertEqual(self.timed, [])


if __name__ == "__main__":
    unittest.main()
