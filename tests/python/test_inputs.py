"""Tensors that notice reads and writes past their end."""

import os
import tempfile
import unittest

import torch

from tilescript_worker.inputs import POISON_COUNT, Guarded, changed_elements, draw, dtype_of, flat, values_of
from tilescript_worker.invoke import GuardedMemory


def spec(layout: str | list[int], shape: list[int], dtype: str = "float32") -> dict:
    return {"shape": shape, "dtype": dtype, "layout": layout, "fill": {"kind": "normal"}}


class Inputs(unittest.TestCase):
    def test_values_of_a_file_lie_by_the_strides_that_were_given(self) -> None:
        for dtype, values in (("float32", [1.5, -2.0]), ("int64", [2**60, -1]), ("int1", [1, 0])):
            with self.subTest(dtype), tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "x.in")
                expected = torch.tensor(values).to(dtype_of(dtype)).reshape(1, 2)
                expected.view(torch.uint8).numpy().tofile(path)
                given = {**spec([7, 3], [1, 2], dtype), "fill": {"kind": "file", "path": path}}
                guarded = Guarded.from_spec(given, "cpu", draw(given, 0))
                self.assertTrue(torch.equal(guarded.tensor, expected))
                self.assertEqual(guarded.tensor.stride(), (7, 3))

    def test_layouts_hold_the_same_values(self) -> None:
        for layout in ("contiguous", "transposed", "sliced", "offset"):
            with self.subTest(layout):
                values = draw(spec(layout, [3, 5]), 1)
                guarded = Guarded.from_spec(spec(layout, [3, 5]), "cpu", values)
                self.assertTrue(torch.equal(guarded.tensor, values))
                self.assertEqual(guarded.tensor.is_contiguous(), layout in ("contiguous", "offset"))
                self.assertFalse(guarded.is_damaged(include_inside=True))

    def test_elements_are_flat_however_they_lie(self) -> None:
        for layout in ("contiguous", "transposed", "sliced", "offset", [8, 3]):
            # PyTorch takes a tensor of one element for contiguous, whatever its strides are.
            for shape in ([3, 5], [1, 1], [0, 2]):
                with self.subTest(layout=layout, shape=shape):
                    values = draw(spec(layout, shape), 1)
                    tensor = Guarded.from_spec(spec(layout, shape), "cpu", values).tensor
                    self.assertTrue(torch.equal(flat(tensor), values.reshape(-1)))
                    self.assertEqual(changed_elements(tensor, values), 0)
                    self.assertEqual(changed_elements(tensor, values + 1), values.numel())

    def test_writes_outside_are_seen(self) -> None:
        for layout in ("contiguous", "sliced"):
            guarded = Guarded.from_spec(spec(layout, [4]), "cpu", torch.zeros(4))
            guarded.tensor.add_(1)
            self.assertFalse(guarded.is_damaged(include_inside=False))
            self.assertTrue(guarded.is_damaged(include_inside=True))
            step = guarded.tensor.stride(0)
            past = guarded.tensor.as_strided((1,), (1,), guarded.tensor.storage_offset() + 4 * step)
            past.fill_(1)
            self.assertTrue(guarded.is_damaged(include_inside=False))

    def test_what_lies_behind_one_tensor_shows_behind_another(self) -> None:
        for dtype in ("float32", "float16", "bfloat16", "float64", "float8e5", "float8e4nv", "int8", "int64", "int1"):
            with self.subTest(dtype):
                given = {**spec("contiguous", [4], dtype), "fill": {"kind": "integers", "low": 0, "high": 2}}
                left, right = (Guarded.from_spec(given, "cpu", draw(given, 0), mark) for mark in range(2))
                behind = [each.tensor.as_strided((5,), (1,), each.tensor.storage_offset()) for each in (left, right)]
                behind[1].copy_(behind[0])
                self.assertTrue(right.is_damaged(include_inside=False))

    def test_a_read_past_the_end_gives_nan(self) -> None:
        guarded = Guarded.from_spec(spec("contiguous", [4]), "cpu", torch.zeros(4))
        wider = guarded.tensor.as_strided((5,), (1,), guarded.tensor.storage_offset())
        self.assertTrue(bool(wider[4].isnan()))

    def test_a_seed_means_the_same_values(self) -> None:
        self.assertTrue(torch.equal(draw(spec("sliced", [7]), 3), draw(spec("contiguous", [7]), 3)))
        self.assertFalse(torch.equal(draw(spec("contiguous", [7]), 3), draw(spec("contiguous", [7]), 4)))

    def test_special_lines_lie_along_their_axis(self) -> None:
        def drawn(kind: str, dtype: str = "float32") -> torch.Tensor:
            fill = {"kind": "normal" if "float" in dtype else "integers", "low": -8, "high": 8, "special": [kind]}
            return draw({**spec("contiguous", [7, 7], dtype), "fill": fill}, 0)

        for values in (drawn("rows"), drawn("columns").T):
            self.assertTrue((values[0] == 1.5).all())
            self.assertEqual(values[1].max(), 100)
            self.assertLess(values[2].max(), 0)
            self.assertEqual(values[3, 1::2].tolist(), [2**-149] * 3)
            self.assertTrue((values[4] == 1.5).all())
        for values in (drawn("offset rows"), drawn("offset columns").T):
            self.assertGreater(values[::2].min(), 24)
            self.assertLess(values[1::2].max(), 8)
        self.assertEqual(drawn("-infinity rows").isinf().sum(1).tolist(), [7, 0] * 3 + [7])
        for values in (drawn("cancelling rows"), drawn("cancelling columns").T):
            self.assertGreater(values[0, :4].min(), 2**12)
            self.assertLess(values[0, 4:].max(), 2**-6)
            self.assertLess(values[1, :4].max(), 2**-6)
            self.assertGreater(values[1, 4:].min(), 2**12)
        integers = drawn("rows", "int8")
        self.assertTrue((integers[0] == 1).all())
        self.assertLess(integers[1].max(), 0)
        self.assertTrue(drawn("-infinity rows", "float8e5").to(torch.float32).isfinite().all())

    def test_values_lie_in_their_range(self) -> None:
        values = draw({**spec("contiguous", [500]), "fill": {"kind": "uniform", "low": -2, "high": 0}}, 1)
        self.assertTrue(bool(((values >= -2) & (values <= 0)).all()))
        self.assertLess(float(values.mean()), -0.5)

    def test_allocated_memory_is_poisoned_and_guarded(self) -> None:
        like = torch.zeros(3, 2).T
        with GuardedMemory() as memory:
            made = [torch.empty(3), torch.empty_like(like), like.new_empty(3), torch.empty_strided((3,), (2,))]
            ints = torch.empty(3, dtype=torch.int8)
            nothing = torch.empty(0, 4)
        for tensor in made:
            self.assertTrue(bool(tensor.isnan().all()))
        self.assertEqual(made[1].stride(), like.stride())
        self.assertTrue(all(value > 127 - POISON_COUNT for value in ints.tolist()))
        self.assertEqual(nothing.shape, (0, 4))
        made[0].fill_(1)
        self.assertFalse(memory.is_damaged)
        made[0].as_strided((4,), (1,)).fill_(1)
        self.assertTrue(memory.is_damaged)

    def test_a_module_draws_what_its_author_describes(self) -> None:
        class Module:
            @staticmethod
            def draw_inputs(n: int, device: str) -> torch.Tensor:
                return torch.rand(n, device=device)

        inputs = [{**spec("contiguous", [5], "float16"), "python": name} for name in ("x", "y")]
        request = {"inputs": inputs, "seed": 7, "drawn": {"arguments": {"n": 5}, "tensors": ["y"]}}
        state = torch.get_rng_state()
        values = values_of(request, Module)
        self.assertTrue(torch.equal(values["x"], draw(inputs[0], 7)))
        self.assertTrue(bool((values["y"] >= 0).all()))
        self.assertEqual(values["y"].dtype, torch.float16)
        self.assertTrue(torch.equal(values["y"], values_of(request, Module)["y"]))
        self.assertTrue(torch.equal(state, torch.get_rng_state()))

    def test_every_dtype(self) -> None:
        for dtype in ("float16", "bfloat16", "float64", "float8e5", "float8e4nv", "int8", "uint8", "int64", "int1"):
            with self.subTest(dtype):
                fill = {"kind": "integers", "low": 0, "high": 2} if "int" in dtype else {"kind": "normal"}
                values = draw({"shape": [4], "dtype": dtype, "fill": fill}, 0)
                guarded = Guarded.from_spec({"shape": [4], "dtype": dtype}, "cpu", values)
                self.assertFalse(guarded.is_damaged(include_inside=True))


if __name__ == "__main__":
    unittest.main()
