"""What a wrapper does with outputs and sizes that a call may leave out; on Triton's interpreter."""

import unittest

import normed
import torch


def expected(x):
    rstd = torch.rsqrt(x.pow(2).mean(1) + 1e-6)
    return x * rstd[:, None], rstd


class Optional(unittest.TestCase):
    x = torch.randn(5, 48)

    def refuses(self, error, message, *args, **kwargs):
        with self.assertRaises(error) as raised:
            normed.kernel_fn(*args, **kwargs)
        self.assertEqual(str(raised.exception), message)

    def test_left_out(self):
        for asked in ({}, {"rstd": None}, {"rstd": False}):
            residual, y, rstd = normed.kernel_fn(self.x, **asked)
            self.assertIsNone(residual)
            self.assertIsNone(rstd)
            torch.testing.assert_close(y, expected(self.x)[0])

    def test_asked_for(self):
        _, y, rstd = normed.kernel_fn(self.x, rstd=True)
        torch.testing.assert_close((y, rstd), expected(self.x))

    def test_given(self):
        room = torch.full((5,), 7.0)
        _, _, rstd = normed.kernel_fn(self.x, rstd=room)
        self.assertIs(rstd, room)
        torch.testing.assert_close(room, expected(self.x)[1])
        message = "normed: rstd must have shape [M=5], got torch.Size([6])"
        self.refuses(ValueError, message, self.x, rstd=torch.zeros(6))
        message = "normed: rstd shares memory with residual; give one of its own"
        residual = torch.zeros(5, 48)
        self.refuses(ValueError, message, self.x, residual, rstd=residual[0, :5])

    def test_updated(self):
        residual = torch.randn(5, 48)
        before = residual.clone()
        updated, y, _ = normed.kernel_fn(self.x, residual)
        self.assertIs(updated, residual)
        torch.testing.assert_close(residual, before + self.x)
        torch.testing.assert_close(y, expected(residual)[0])
        message = "normed: residual has elements that share memory"
        self.refuses(ValueError, message, self.x, torch.zeros(1, 48).expand(5, 48))

    def test_sizes_of_optional_tensors(self):
        gain = torch.randn(48)
        for given in ({"gain": gain}, {"shift": gain}, {"gain": gain, "shift": gain}):
            _, y, _ = normed.kernel_fn(self.x, **given)
            ones, zeros = torch.ones(48), torch.zeros(48)
            want = expected(self.x)[0] * given.get("gain", ones) + given.get("shift", zeros)
            torch.testing.assert_close(y, want)
        message = "normed: shift must have shape [G=48], got torch.Size([47])"
        self.refuses(ValueError, message, self.x, gain=gain, shift=gain[:47])
        message = "normed: shift must have shape [G=0], got torch.Size([1, 48])"
        self.refuses(ValueError, message, self.x, shift=gain[None])
        message = "normed: a requirement does not hold: N == G or G == 0 with N = 48, G = 47"
        self.refuses(ValueError, message, self.x, shift=gain[:47])

    def test_empty(self):
        _, y, rstd = normed.kernel_fn(torch.zeros(0, 48), rstd=True)
        self.assertEqual((y.shape, rstd.shape), ((0, 48), (0,)))
        # Rows without elements still have a root.
        _, y, rstd = normed.kernel_fn(torch.zeros(3, 0))
        self.assertEqual((y.shape, rstd), ((3, 0), None))

    def test_gradients(self):
        x, rstd = self.x.clone().requires_grad_(), torch.zeros(5, requires_grad=True)
        calls = {
            "x": lambda: normed.kernel_fn(x, rstd=True),
            "rstd": lambda: normed.kernel_fn(self.x, rstd=rstd),
        }
        for key, call in calls.items():
            with self.assertRaisesRegex(RuntimeError, f"normed has no gradient for {key}; use torch.no_grad"):
                call()
            with torch.no_grad():
                torch.testing.assert_close(call()[1], expected(self.x)[0])


if __name__ == "__main__":
    unittest.main()
