/** Functions at the end of an emitted module that its wrapper calls, each left out where nothing does. */
import * as py from "./py-build.js";
import type { FunctionDef } from "./py.js";
import { BEYOND_INT32, CHECK_CHOICE, CHECK_MEMORY, CHECK_OUT, CHECK_TYPE } from "./wrapper-checks.js";

const helper = (name: string, params: string, docstring: string, text: string): FunctionDef => ({
  kind: "function",
  name,
  decorators: [],
  params: params.split(" ").map((each) => ({ name: each })),
  docstring,
  body: [{ kind: "verbatim", text }],
});

const checkOut = helper(
  CHECK_OUT,
  "label out shape dtype device others",
  "The tensor that a result is to be written to, if it can be.",
  `if out.shape != shape:
    raise ValueError(
        f"{label} must have shape {list(shape)}, got {list(out.shape)}"
    )
if out.dtype != dtype:
    raise TypeError(f"{label} must be {dtype}, got {out.dtype}")
if out.device != device:
    raise ValueError(f"{label} must be on {device}, got {out.device}")
_check_memory(label, out, others)
return out`,
);

const checkMemory = helper(
  CHECK_MEMORY,
  "label written others",
  "Refuses to write a tensor that overlaps itself or another.",
  `if not written.is_contiguous() and _overlaps(written, written):
    raise ValueError(
        f"{label} has elements that share memory, with shape {list(written.shape)} "
        f"and strides {list(written.stride())}; give a tensor of its own"
    )
for name, other in others.items():
    if _overlaps(written, other):
        raise ValueError(
            f"{label} shares memory with {name}; give a tensor of its own"
        )`,
);

/**
 * Exact for what slicing one buffer gives: strides that each cover the axes inside them. Anything else whose bytes
 * overlap counts as sharing. The difference of two addresses is written in the strides as in a mixed-radix number; the
 * digits of two elements differ by less than the axes are long.
 */
const overlaps = helper(
  "_overlaps",
  "x y",
  "Whether x and y share memory; for one tensor, whether two of its elements do.",
  `if x.numel() == 0 or y.numel() == 0:
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
);

const reaches = helper(
  "_reaches",
  "distance axes",
  "Whether two elements of equally strided tensors lie this far apart.",
  `if not axes:
    return distance == 0
(stride, before, _, after), *inner = axes
steps = (-distance // stride, -distance // stride + 1)
return any(
    -before < step < after and _reaches(distance + step * stride, inner)
    for step in steps
)`,
);

const beyondInt32: FunctionDef = {
  ...helper(BEYOND_INT32, "label", "The error for a tensor whose offsets do not fit int32.", ""),
  body: [
    py.returns(
      py.call(
        "ValueError",
        py.fString(
          { value: py.name("label") },
          " spans more elements than int32 offsets reach; build the kernel with { offsets: tl.int64 } for it",
        ),
      ),
    ),
  ],
};

const checkChoice = helper(
  CHECK_CHOICE,
  "label value *choices",
  "Refuses a value that is none of the choices.",
  `if value not in choices:
    error = ValueError if isinstance(value, type(choices[0])) else TypeError
    allowed = " or ".join(map(repr, choices))
    raise error(f"{label} must be {allowed}, got {value!r}")`,
);

const checkType = helper(
  CHECK_TYPE,
  "label value *types",
  "Refuses a value of another type; True and False are no integers here.",
  `if type(value) not in types:
    raise TypeError(f"{label} must be of type {types[0].__name__}, got {value!r}")`,
);

/** The functions that a module needs, given what its wrapper mentions. */
export function helperFunctions(isMentioned: (name: string) => boolean): readonly FunctionDef[] {
  const memory = isMentioned(CHECK_OUT) || isMentioned(CHECK_MEMORY) ? [checkMemory, overlaps, reaches] : [];
  return [
    ...(isMentioned(CHECK_CHOICE) ? [checkChoice] : []),
    ...(isMentioned(CHECK_TYPE) ? [checkType] : []),
    ...(isMentioned(BEYOND_INT32) ? [beyondInt32] : []),
    ...(isMentioned(CHECK_OUT) ? [checkOut] : []),
    ...memory,
  ];
}
