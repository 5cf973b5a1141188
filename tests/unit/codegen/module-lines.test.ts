/** What counts as a line of an emitted module, and to which part it belongs. */
import { expect, test } from "vitest";
import { linesByPart, ratioOf } from "../../../bench/module-lines.js";

const MODULE = `"""Adds one.

For tests."""
import torch
import triton
if triton.__version__ < "3.6":
    raise ImportError("old")

# The reach of offsets.
_REACH = 2**31


def _blocks():
    return [triton.Config({"BLOCK": 64})]


# Compiled for each block.
@triton.autotune(
    configs=_blocks(),
    key=[],
)
@triton.jit
def add_kernel(x, BLOCK):
    # Of one program.

    pass


@gluon.jit
def helper(x):
    return x


def add(x):
    """Adds."""
    add_kernel[(1,)](_checked(x))


@torch.library.custom_op("ns::add", mutates_args=())
def add_op(x):
    return add(x)


@add_op.register_fake
def _add_op_fake(x):
    return x


add_op.register_autograd(_add_backward)


def reference_fn(x):
    return x + 1


SHAPES = [{"N": 4}]


def _checked(x):
    return x


kernel_fn = add
`;

test("each line that is not empty belongs to a part", () => {
  const lines = linesByPart(MODULE);
  expect(lines).toEqual({ kernel: 5, head: 6, tuning: 9, wrapper: 4, operator: 7, helpers: 4, harness: 3 });
  expect(Object.values(lines).reduce((a, b) => a + b)).toBe(MODULE.split("\n").filter((line) => line !== "").length);
  expect(ratioOf(lines)).toBe((38 - 5) / 5);
});
