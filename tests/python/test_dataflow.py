"""Triton's IR compared as graphs: what may differ, and what the comparison has to see."""

import unittest

from tilescript_worker.dataflow import difference

NAMES = ["x", "y", "n"]

KERNEL = """
module {
  tt.func public @k(%arg0: !tt.ptr<f32>, %arg1: !tt.ptr<f32>, %arg2: i32) attributes {noinline = false} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant 0.000000e+00 : f32
    %a = tt.load %arg0 : !tt.ptr<f32>
    %0:2 = scf.for %i = %c0 to %arg2 step %c1 iter_args(%s = %zero, %p = %a) -> (f32, f32)  : i32 {
      %t = scf.for %j = %c0 to %arg2 step %c1 iter_args(%u = %s) -> (f32)  : i32 {
        %d = arith.subi %i, %j : i32
        %f = arith.sitofp %d : i32 to f32
        %v = arith.addf %u, %f : f32
        scf.yield %v : f32
      }
      %m = arith.mulf %p, %t : f32
      scf.yield %t, %m : f32, f32
    }
    tt.store %arg0, %0#0 : !tt.ptr<f32>
    %b = tt.load %arg1 : !tt.ptr<f32>
    %e = arith.addf %0#1, %b : f32
    %c = arith.cmpf ogt, %e, %zero : f32
    %r = scf.if %c -> (f32) {
      scf.yield %e : f32
    } else {
      %w = arith.mulf %e, %b : f32
      scf.yield %w : f32
    }
    tt.store %arg1, %r : !tt.ptr<f32>
    tt.return
  }
}
"""


def compared(text: str, names: list[str] = NAMES) -> tuple[str, str] | None:
    return difference(KERNEL, NAMES, text, names)


class DataflowTest(unittest.TestCase):
    def test_equal(self) -> None:
        self.assertIsNone(compared(KERNEL))

    def test_names_and_the_order_of_pure_operations_do_not_matter(self) -> None:
        renamed = KERNEL.replace("%arg", "%q").replace("%zero", "%cst_7").replace("%t ", "%99 ").replace("%t,", "%99,")
        renamed = renamed.replace("%t :", "%99 :")
        first, second = "    %c0 = arith.constant 0 : i32\n", "    %c1 = arith.constant 1 : i32\n"
        self.assertIsNone(compared(renamed.replace(first + second, second + first)))

    def test_operands_that_commute(self) -> None:
        self.assertIsNone(compared(KERNEL.replace("arith.addf %u, %f", "arith.addf %f, %u")))
        self.assertIsNotNone(compared(KERNEL.replace("arith.subi %i, %j", "arith.subi %j, %i")))

    def test_single_bits(self) -> None:
        def of(line: str) -> str:
            more = f"    %k = arith.cmpf olt, %e, %b : f32\n    %both = {line}\n    %r = scf.if %both"
            return KERNEL.replace("    %r = scf.if %c", more)

        product = of("arith.muli %c, %k : i1")
        self.assertIsNone(difference(product, NAMES, of("arith.andi %c, %k : i1"), NAMES))
        self.assertIsNotNone(difference(product, NAMES, of("arith.ori %c, %k : i1"), NAMES))
        wide = KERNEL.replace("arith.subi %i, %j", "arith.muli %i, %j")
        self.assertIsNotNone(difference(wide, NAMES, wide.replace("arith.muli", "arith.andi"), NAMES))

    def test_the_order_of_what_a_loop_carries(self) -> None:
        swapped = KERNEL.replace("iter_args(%s = %zero, %p = %a)", "iter_args(%p = %a, %s = %zero)")
        swapped = swapped.replace("scf.yield %t, %m", "scf.yield %m, %t").replace("%0#0", "%0#9")
        self.assertIsNone(compared(swapped.replace("%0#1", "%0#0").replace("%0#9", "%0#1")))

    def test_the_order_of_carried_types(self) -> None:
        head = "tt.func public @k(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %n: i32) attributes {noinline = false} {\n"
        constants = "%c0 = arith.constant 0 : i32\n%c1 = arith.constant 1 : i32\n%z = arith.constant 0.0 : f32\n"
        body = "%f = arith.addf %s, %z : f32\n%j = arith.addi %q, %i : i32\n"
        loop = "scf.for %i = %c0 to %n step %c1 iter_args"
        one = f"%r:2 = {loop}(%s = %z, %q = %c0) -> (f32, i32)  : i32 {{\n{body}scf.yield %f, %j : f32, i32\n}}\n"
        two = f"%r:2 = {loop}(%q = %c0, %s = %z) -> (i32, f32)  : i32 {{\n{body}scf.yield %j, %f : i32, f32\n}}\n"
        end = "tt.store %x, {} : !tt.ptr<f32>\ntt.return\n}}\n"
        left = head + constants + one + end.format("%r#0")
        self.assertIsNone(difference(left, NAMES, head + constants + two + end.format("%r#1"), NAMES))
        self.assertIsNotNone(difference(left, NAMES, head + constants + two + end.format("%r#0"), NAMES))

    def test_results_with_names_of_their_own(self) -> None:
        def halves(left: str, right: str) -> str:
            used = f"%{left}, %{right} = tt.split %both : tensor<8x2xf32> -> tensor<8xf32>\n"
            used += "%g = arith.subf %l, %r : f32\n"
            both = "%both = tt.splat %b : f32 -> tensor<8x2xf32>\n"
            return KERNEL.replace("    %r = scf.if", both + used + "%r2 = scf.if").replace("%arg1, %r ", "%arg1, %g ")

        one = halves("l", "r")
        self.assertIsNone(difference(one, NAMES, one.replace("%l", "%outLHS").replace("%r ", "%outRHS "), NAMES))
        self.assertIsNotNone(difference(one, NAMES, halves("r", "l"), NAMES))

    def test_blocks_are_branches(self) -> None:
        """A return in a branch of a function that Triton inlines leaves basic blocks."""
        branch = KERNEL[KERNEL.index("    %r = scf.if") : KERNEL.index("    tt.store %arg1")]
        end = KERNEL[KERNEL.index("    tt.store %arg1") : KERNEL.index("    tt.return")]
        blocks = f"""
    cf.cond_br %c, ^bb2(%e : f32), ^bb1
  ^bb1:  // pred: ^bb0
    %w = arith.mulf %e, %b : f32
    cf.br ^bb2(%w : f32)
  ^bb2(%r: f32):  // 2 preds: ^bb0, ^bb1
{end}"""
        of_blocks = KERNEL.replace(branch + end, blocks)
        self.assertIsNone(compared(of_blocks))
        # Triton moves the operation that both branches end with behind them.
        moved = KERNEL.replace("scf.yield %e : f32", "%h = arith.mulf %e, %zero : f32\n scf.yield %h : f32")
        shared = blocks.replace("^bb2(%e", "^bb3(%zero").replace("%w = arith.mulf %e, %b : f32", "")
        last = "^bb3(%b : f32)\n^bb3(%s: f32):\n%r = arith.mulf %e, %s : f32\ncf.br ^bb2"
        shared = shared.replace("^bb2(%w : f32)", last)
        shared = shared.replace("^bb2(%r: f32):", "^bb2:")
        self.assertIsNone(difference(moved, NAMES, KERNEL.replace(branch + end, shared), NAMES))
        changes = [
            ("^bb2(%e", "^bb2(%b"),
            ("%e, %b", "%b, %b"),
            ("^bb2(%w", "^bb2(%e"),
            ("store %arg1, %r", "store %arg1, %e"),
        ]
        for before, after in changes:
            with self.subTest(after):
                self.assertIn(before, blocks)
                self.assertIsNotNone(compared(KERNEL.replace(branch + end, blocks.replace(before, after))))

    def test_blocks_that_return(self) -> None:
        head = "tt.func public @k(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %n: i1) attributes {noinline = false} {\n"
        blocks = "cf.cond_br %n, ^bb1, ^bb2\n^bb1:\ntt.return\n^bb2:\n%a = tt.load %x : f32\n"
        blocks += "tt.store %y, %a : f32\ntt.return\n}\n"
        self.assertIsNone(difference(head + blocks, NAMES, head + blocks.replace("bb1", "bb9"), NAMES))
        for before, after in [("^bb1, ^bb2", "^bb2, ^bb1"), ("%y, %a", "%x, %a")]:
            self.assertIsNotNone(difference(head + blocks, NAMES, head + blocks.replace(before, after), NAMES))

    def test_calls_in_branches(self) -> None:
        """Triton inlines no function of several blocks into a branch; it calls it."""
        call = "%w = tt.call @scaled(%e, %b) : (f32, f32) -> f32"
        function = """
  tt.func private @scaled(%p: f32, %q: f32) -> f32 attributes {noinline = false} {
    %z = arith.constant 0.000000e+00 : f32
    %t = arith.cmpf ogt, %q, %z : f32
    cf.cond_br %t, ^bb1, ^bb2
  ^bb1:
    tt.return %p : f32
  ^bb2:
    %s = arith.mulf %p, %q : f32
    tt.return %s : f32
  }
}
"""
        inlined = """%t = arith.cmpf ogt, %b, %zero : f32
      %w = scf.if %t -> (f32) {
        scf.yield %e : f32
      } else {
        %s = arith.mulf %e, %b : f32
        scf.yield %s : f32
      }"""
        original = KERNEL.replace("%w = arith.mulf %e, %b : f32", call).removesuffix("}\n") + function
        emitted = KERNEL.replace("%w = arith.mulf %e, %b : f32", inlined)
        self.assertIsNone(difference(original, NAMES, emitted, NAMES))
        changes = [("arith.mulf", "arith.addf"), ("scf.yield %s", "scf.yield %b"), ("ogt, %b", "olt, %b")]
        for before, after in changes:
            with self.subTest(after):
                self.assertIn(before, inlined)
                changed = emitted.replace(inlined, inlined.replace(before, after))
                self.assertIsNotNone(difference(original, NAMES, changed, NAMES))
        # A function that is never inlined stays a call.
        apart = original.replace("-> f32 attributes {noinline = false}", "-> f32 attributes {noinline = true}")
        self.assertIsNotNone(difference(apart, NAMES, emitted, NAMES))

    def test_concatenation_in_any_order(self) -> None:
        head = "tt.func public @k(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %n: i32) attributes {noinline = false} {\n"
        head += "%i = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>\n"
        head += "%j = arith.addi %i, %i : tensor<4xi32>\n"
        end = "tt.store %y, %c : tensor<8xi32>\ntt.return\n}\n"
        reordered = "%c = tt.cat %i, %j : tensor<4xi32> -> tensor<8xi32>\n"
        ordered = """%p = tt.join %i, %j : tensor<4xi32> -> tensor<4x2xi32>
%t = tt.trans %p {order = array<i32: 1, 0>} : tensor<4x2xi32> -> tensor<2x4xi32>
%c = tt.reshape %t : tensor<2x4xi32> -> tensor<8xi32>
"""
        self.assertIsNone(difference(head + reordered + end, NAMES, head + ordered + end, NAMES))
        swapped = head + ordered.replace("%i, %j", "%j, %i") + end
        self.assertIsNotNone(difference(head + reordered + end, NAMES, swapped, NAMES))

    def test_names_in_strings(self) -> None:
        line = "    %b = tt.elementwise_inline_asm "
        line += '"mov $0, %laneid;" {constraints = "=r", pure = true} %c1 : i32 -> f32\n'
        assembly = KERNEL.replace("    %b = tt.load %arg1 : !tt.ptr<f32>\n", line)
        self.assertIsNone(difference(assembly, NAMES, assembly, NAMES))
        self.assertIsNotNone(difference(assembly, NAMES, assembly.replace("%laneid", "%warpid"), NAMES))

    def test_changes(self) -> None:
        changes = [
            ("arith.mulf %p, %t", "arith.addf %p, %t"),
            ("scf.yield %t, %m", "scf.yield %m, %t"),
            ("(%s = %zero, %p = %a)", "(%s = %a, %p = %a)"),
            ("%c1 = arith.constant 1", "%c1 = arith.constant 2"),
            ("arith.cmpf ogt", "arith.cmpf oge"),
            ("arith.cmpf ogt, %e, %zero", "arith.cmpf ogt, %zero, %e"),
            ("scf.yield %w", "scf.yield %b"),
            ("tt.store %arg0, %0#0", "tt.store %arg0, %0#1"),
            ("tt.store %arg1, %r", "tt.store %arg0, %r"),
            ("    tt.store %arg1, %r : !tt.ptr<f32>\n", ""),
            ("iter_args(%u = %s)", "iter_args(%u = %p)"),
            ("%j = %c0 to %arg2", "%j = %c1 to %arg2"),
        ]
        for before, after in changes:
            with self.subTest(after):
                self.assertIn(before, KERNEL)
                self.assertIsNotNone(compared(KERNEL.replace(before, after)))

    def test_a_load_stays_behind_a_store(self) -> None:
        store = "    tt.store %arg0, %0#0 : !tt.ptr<f32>\n"
        load = "    %b = tt.load %arg1 : !tt.ptr<f32>\n"
        self.assertIsNotNone(compared(KERNEL.replace(store + load, load + store)))

    def test_arguments_are_told_apart_by_their_names(self) -> None:
        self.assertIsNotNone(compared(KERNEL, ["y", "x", "n"]))

    def test_the_difference_names_the_operations(self) -> None:
        found = compared(KERNEL.replace("arith.subi %i, %j", "arith.addi %i, %j"))
        self.assertEqual(found, ("arith.subi %, % : i32", "arith.addi %, % : i32"))

    def test_addresses_of_views_are_sums(self) -> None:
        """``x + row * n + cols`` in one order or another, and masks before or after an axis is added."""
        head = """
module {
  tt.func public @k(%x: !tt.ptr<f32>, %row: i32, %n: i32) {
    %cols = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
    %ns = tt.splat %n : i32 -> tensor<16xi32>
"""
        tail = "    tt.return\n  }\n}\n"
        names = ["x", "row", "n"]
        stepwise = """
    %at = tt.addptr %x, %row : !tt.ptr<f32>, i32
    %p = tt.splat %at : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
    %q = tt.addptr %p, %cols : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
"""
        summed = """
    %rows = tt.splat %row : i32 -> tensor<16xi32>
    %at = arith.addi %rows, %cols : tensor<16xi32>
    %p = tt.splat %x : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
    %q = tt.addptr %p, %at : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
"""
        mask = "    %m = arith.cmpi slt, %cols, %ns : tensor<16xi32>\n"
        stored = "    %v = tt.load %q, %m : tensor<16x!tt.ptr<f32>>\n    tt.store %q, %v : tensor<16x!tt.ptr<f32>>\n"
        one, other = (head + mask + each + stored + tail for each in (stepwise, summed))
        self.assertIsNotNone(difference(one, names, other, names))
        self.assertIsNone(difference(one, names, other, names, views=[]))
        for wrong in (other.replace("%rows, %cols", "%rows, %rows"), other.replace("%rows, %cols", "%cols, %ns")):
            self.assertIsNotNone(difference(one, names, wrong, names, views=[]))

        zero = "    %zero = arith.constant dense<0.000000e+00> : tensor<16xf32>\n"
        filled = other.replace(mask, mask + zero).replace("tt.load %q, %m", "tt.load %q, %m, %zero")
        self.assertIsNone(difference(one, names, filled, names, views=["x"]))
        for views, text in (([], filled), (["n"], filled), (["x"], filled.replace("0.000000e+00", "1.000000e+00"))):
            self.assertIsNotNone(difference(one, names, text, names, views=views))
        # What the original leaves open may be 0, and nothing else the other way round.
        self.assertIsNotNone(difference(filled, names, one, names, views=["x"]))

    def test_masks_that_always_hold_are_none(self) -> None:
        head = """
module {
  tt.func public @k(%x: !tt.ptr<f32>) {
    %cols = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
    %p = tt.splat %x : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
    %q = tt.addptr %p, %cols : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
    %zero = arith.constant dense<0.000000e+00> : tensor<16xf32>
"""
        mask = """
    %n = arith.constant dense<16> : tensor<16xi32>
    %m = arith.cmpi slt, %cols, %n : tensor<16xi32>
"""
        masked = """
    %v = tt.load %q, %m, %zero : tensor<16x!tt.ptr<f32>>
    tt.store %q, %v, %m : tensor<16x!tt.ptr<f32>>
"""
        plain = masked.replace(", %m, %zero", "").replace(", %m", "")
        tail = "    tt.return\n  }\n}\n"
        one, other = head + mask + masked + tail, head + plain + tail
        self.assertIsNotNone(difference(one, ["x"], other, ["x"]))
        self.assertIsNone(difference(one, ["x"], other, ["x"], views=[]))
        for wrong in ("dense<15>", "dense<0>", "dense<-1>"):
            self.assertIsNotNone(difference(one.replace("dense<16>", wrong), ["x"], other, ["x"], views=[]))
        for wrong in ("sgt", "sge", "eq", "ne", "ult"):
            self.assertIsNotNone(difference(one.replace("slt", wrong), ["x"], other, ["x"], views=[]))
        # A range that starts elsewhere, or is moved.
        moved = one.replace(
            "%m = arith.cmpi slt, %cols", "%o = arith.addi %cols, %n : tensor<16xi32>\n    %m = arith.cmpi slt, %o"
        )
        self.assertIsNotNone(difference(moved, ["x"], other, ["x"], views=[]))

    def test_axes_of_length_1(self) -> None:
        """A tile of one number is that number, and of two axes of length 1 either may be the new one."""
        head = """
module {
  tt.func public @k(%x: !tt.ptr<f32>, %row: i32) {
    %cols = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
    %one = tt.make_range {end = 1 : i32, start = 0 : i32} : tensor<1xi32>
    %c = tt.expand_dims %cols {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>
    %r = tt.expand_dims %one {axis = 1 : i32} : tensor<1xi32> -> tensor<1x1xi32>
    %rb = tt.broadcast %r : tensor<1x1xi32> -> tensor<1x16xi32>
    %rows = tt.splat %row : i32 -> tensor<1x16xi32>
    %p = tt.splat %x : !tt.ptr<f32> -> tensor<1x1x16x!tt.ptr<f32>>
"""
        number = "    %at = arith.addi %rows, %c : tensor<1x16xi32>\n"
        tile = "    %s = arith.addi %rows, %rb : tensor<1x16xi32>\n    %at = arith.addi %s, %c : tensor<1x16xi32>\n"
        tail = """
    %e = tt.expand_dims %at {axis = 0 : i32} : tensor<1x16xi32> -> tensor<1x1x16xi32>
    %q = tt.addptr %p, %e : tensor<1x1x16x!tt.ptr<f32>>, tensor<1x1x16xi32>
    %v = tt.load %q : tensor<1x1x16x!tt.ptr<f32>>
    tt.store %q, %v : tensor<1x1x16x!tt.ptr<f32>>
    tt.return
  }
}
"""
        one, other = head + number + tail, head + tile + tail.replace("{axis = 0", "{axis = 1")
        names = ["x", "row"]
        self.assertIsNotNone(difference(one, names, other, names))
        self.assertIsNone(difference(one, names, other, names, views=[]))
        for wrong in (("end = 1 ", "end = 2 "), ("end = 1 : i32, start = 0", "end = 2 : i32, start = 1")):
            self.assertIsNotNone(difference(one, names, other.replace(*wrong), names, views=[]))
        self.assertIsNotNone(difference(one, names, other.replace("%s, %c", "%s, %rows"), names, views=[]))

    def test_axes_of_what_is_computed_for_each_element(self) -> None:
        head = """
module {
  tt.func public @k(%x: !tt.ptr<f32>, %n: i32) {
    %cols = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
"""
        before = """
    %c = tt.expand_dims %cols {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
    %ns = tt.splat %n : i32 -> tensor<16x1xi32>
    %m = arith.cmpi slt, %c, %ns : tensor<16x1xi32>
"""
        after = """
    %ns = tt.splat %n : i32 -> tensor<16xi32>
    %c = arith.cmpi slt, %cols, %ns : tensor<16xi32>
    %m = tt.expand_dims %c {axis = 1 : i32} : tensor<16xi1> -> tensor<16x1xi1>
"""
        tail = '    tt.assert %m, "" : tensor<16x1xi1>\n    tt.return\n  }\n}\n'
        one, other = (head + each + tail for each in (before, after))
        names = ["x", "n"]
        self.assertIsNotNone(difference(one, names, other, names))
        self.assertIsNone(difference(one, names, other, names, views=[]))
        for wrong in (other.replace("slt", "sle"), other.replace("axis = 1", "axis = 0").replace("16x1", "1x16")):
            self.assertIsNotNone(difference(one, names, wrong, names, views=[]))


if __name__ == "__main__":
    unittest.main()
