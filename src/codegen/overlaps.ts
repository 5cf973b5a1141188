/** Python that tells whether two tensors share memory: what a wrapper asks about an output that it is given. */
import type { FunctionDef } from "./py.js";
import { OVERLAPS } from "./wrapper-checks.js";

/**
 * Exact for what slicing one buffer gives: strides that each cover the axes inside them. Anything else whose bytes
 * overlap counts as sharing. The difference of two addresses is written in the strides as in a mixed-radix number; the
 * digits of two elements differ by less than the axes are long.
 */
export const overlapsFunctions: readonly FunctionDef[] = [
  {
    kind: "function",
    name: OVERLAPS,
    decorators: [],
    params: [{ name: "x" }, { name: "y" }],
    docstring: "Whether x and y share memory; for one tensor, whether two of its elements do.",
    body: [
      {
        kind: "verbatim",
        text: `if x.numel() == 0 or y.numel() == 0:
    return False
axes = sorted(zip(x.stride(), x.shape, y.stride(), y.shape), reverse=True)
axes = [axis for axis in axes if axis[1] > 1 or axis[3] > 1]
reach = 0
nested = True
for stride, size, _, _ in reversed(axes):
    nested = nested and stride > reach
    reach += stride * (size - 1)
if x is y:
    return not nested
width = x.element_size()
distance = y.data_ptr() - x.data_ptr()
length = sum(stride * (size - 1) for stride, size in zip(y.stride(), y.shape))
if distance >= (reach + 1) * width or -distance >= (length + 1) * y.element_size():
    return False
alike = all(axis[0] == axis[2] for axis in axes) and width == y.element_size()
if not (nested and alike and distance % width == 0):
    return True
return _reaches(distance // width, axes)`,
      },
    ],
  },
  {
    kind: "function",
    name: "_reaches",
    decorators: [],
    params: [{ name: "distance" }, { name: "axes" }],
    docstring: "Whether two elements of equally strided tensors lie this far apart.",
    body: [
      {
        kind: "verbatim",
        text: `if not axes:
    return distance == 0
(stride, before, _, after), *inner = axes
steps = (-distance // stride, -distance // stride + 1)
return any(
    -before < step < after and _reaches(distance + step * stride, inner)
    for step in steps
)`,
      },
    ],
  },
];
