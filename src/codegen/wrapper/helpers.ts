/** Helper functions of the wrapper, at the end of an emitted module. Unused ones are omitted. */
import { ALLOCATE, CHECK_DESCRIPTOR } from "./descriptors.js";
import type { ClassDef, FunctionDef } from "../syntax/py.js";
import { argumentHelpers, CHECK_TENSOR, checkTensor } from "./argument-helpers.js";
import { CHECK_GPU, checkGpu } from "./environment-checks.js";
import { gradientHelpers } from "./gradient-helpers.js";
import { helperFunction } from "../syntax/py-build.js";
import { IS_TRACED } from "./checks.js";
import { GPU_PROPERTY, INTERPRETER_GPU } from "./launch.js";
import { CHECK_MEMORY, CHECK_OUT } from "./outputs.js";

/** The helper that launches a kernel. */
export const LAUNCH = "_launch";
const LAUNCH_KEY = "_launch_key";
/** The table of cached launches. */
export const LAUNCHES = "_LAUNCHES";
/**
 * Makes a launch visible to torch.compile. PyTorch searches the source for this name to find the kernels of an
 * operator.
 */
export const WRAP_TRITON = "wrap_triton";

const checkOut = helperFunction(
  CHECK_OUT,
  "label out shape dtype device others",
  "The tensor that a result is to be written to, if it can be.",
  `_check_tensor(label, out)
if out.shape != shape:
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

const checkMemory = helperFunction(
  CHECK_MEMORY,
  "label written others",
  "Refuses to write what overlaps itself or another tensor; tells autograd of it.",
  `start = written.data_ptr()
if written.is_contiguous():
    end = start + written.nbytes
elif _nest(_axes(written.stride(), written.shape)):
    end = _end(written)
else:
    raise ValueError(
        f"{label} has elements that share memory, with shape {list(written.shape)} "
        f"and strides {list(written.stride())}; give a tensor of its own"
    )
for name, other in others.items():
    if other is None or other.data_ptr() >= end or _end(other) <= start:
        continue
    if _overlaps(written, other, other.data_ptr() - start):
        raise ValueError(
            f"{label} shares memory with {name}; give a tensor of its own"
        )
torch.autograd.graph.increment_version(written)`,
);

/**
 * Element overlap of tensors whose byte ranges overlap. It is exact for slices of one buffer: equal strides, each
 * larger than the extent of the inner axes. All other cases count as overlap. The address difference is decomposed by
 * the strides like a mixed-radix number. The tensors overlap if every digit is smaller than the length of its axis.
 */
const overlaps = helperFunction(
  "_overlaps",
  "x y distance",
  "Whether x and y, distance bytes apart, may have elements in common.",
  `if x.numel() == 0 or y.numel() == 0:
    return False
axes = _axes(x.stride(), x.shape, y.shape)
steps, rest = divmod(distance, x.element_size())
alike = x.stride() == y.stride() and x.element_size() == y.element_size()
return not alike or rest > 0 or not _nest(axes) or _reaches(steps, axes)`,
);

const end = helperFunction(
  "_end",
  "x",
  "The address of the byte after the last of x.",
  `if x.is_contiguous():
    return x.data_ptr() + x.nbytes
last = sum(stride * (size - 1) for stride, size in zip(x.stride(), x.shape))
return x.data_ptr() + (last + 1) * x.element_size()`,
);

const axes = helperFunction(
  "_axes",
  "strides *shapes",
  "Axes longer than 1, each as (stride, *lengths), in falling order.",
  `axes = zip(strides, *shapes)
return sorted((axis for axis in axes if max(axis[1:]) > 1), reverse=True)`,
);

const nest = helperFunction(
  "_nest",
  "axes",
  "Whether each stride steps over all that the axes inside it reach.",
  `reach = 0
for stride, *lengths in reversed(axes):
    if stride <= reach:
        return False
    reach += stride * (max(lengths) - 1)
return True`,
);

const reaches = helperFunction(
  "_reaches",
  "distance axes",
  "Whether elements of two equally strided tensors lie this far apart.",
  `if not axes:
    return distance == 0
(stride, before, after), *inner = axes
steps = (-distance // stride, -distance // stride + 1)
return any(
    -before < step < after and _reaches(distance + step * stride, inner)
    for step in steps
)`,
);

/**
 * `kernel[grid](…)` spends most of its time on the lookup of the binary, and the autotuner on that of the config. The
 * launch cache calls the compiled kernel directly, as in Triton's tutorial on fused softmax. It is bypassed under
 * torch.compile, which traces the launch itself, and in the interpreter, which has no binaries.
 */
const launch = helperFunction(
  LAUNCH,
  "kernel grid tensors numbers / *others **options",
  `Launches kernel[grid](*tensors, *numbers, **options).

Triton takes long to find the binary for a call. This function remembers the
binary and the grid of each call, and uses them again for calls alike. others
tell such calls apart beside the arguments: the device, the dtypes, and the
sizes that set the grid but are not passed to the kernel.`,
  `if _INTERPRETED or torch.compiler.is_compiling():
    kernel[grid](*tensors, *numbers, **options)
    return None
key = id(kernel), *others, *${LAUNCH_KEY}(tensors, numbers, options)
found = ${LAUNCHES}.get(key)
if found:
    binary, place, constants = found
    binary[place](*tensors, *numbers, *constants)
    return found
chosen = {}

def chosen_grid(meta):
    chosen.update(meta)
    return grid(meta) if callable(grid) else grid

binary = kernel[chosen_grid](*tensors, *numbers, **options)
constants = tuple(chosen.values())[len(tensors) + len(numbers) :]
found = binary, (*chosen_grid(chosen), 1, 1)[:3], constants
if len(${LAUNCHES}) >= 4096:
    ${LAUNCHES}.clear()
${LAUNCHES}[key] = found
return found`,
);

/**
 * The specialization of `triton.runtime.jit`, slightly finer: integers by value and addresses modulo 16. Floats are
 * specialized by type only.
 */
const launchKey = (hasFloats: boolean): FunctionDef =>
  helperFunction(
    LAUNCH_KEY,
    "tensors numbers options",
    "What Triton compiles for, given dtypes: equal keys are launches of one binary.",
    `places = [x if x is None else x.data_ptr() % 16 for x in tensors]
${hasFloats ? "numbers = [float if type(number) is float else number for number in numbers]\n" : ""}\
return *places, *numbers, *options.values()`,
  );

const checkDescriptor = helperFunction(
  CHECK_DESCRIPTOR,
  "label tensor axis",
  "Refuses a tensor whose blocks the GPU's copy engine cannot address.",
  `if 0 in tensor.shape:
    raise ValueError(f"{label} must have elements, got shape {list(tensor.shape)}")
size, strides = tensor.element_size(), tensor.stride()
if strides[axis] != 1:
    raise ValueError(
        f"{label} must have stride 1 on axis {axis}, got strides {list(strides)}; "
        "call .contiguous() first"
    )
if any(s * size % 16 for i, s in enumerate(strides) if i != axis):
    raise ValueError(
        f"{label} must have strides of a multiple of 16 bytes on all axes but "
        f"{axis}, got {list(strides)} elements of {size} bytes; pad the tensor"
    )
if tensor.data_ptr() % 16 != 0:
    raise ValueError(
        f"{label} must start at a multiple of 16 bytes; call .clone() first"
    )`,
);

const allocate = helperFunction(
  ALLOCATE,
  "size alignment stream",
  "Memory for the descriptors that a kernel makes while it runs.",
  `return torch.empty(size, device="cuda", dtype=torch.int8)`,
);

const gpuProperty = helperFunction(
  GPU_PROPERTY,
  "device name",
  "What torch.cuda.get_device_properties says of the GPU that a launch is for.",
  `if _INTERPRETED:
    return ${INTERPRETER_GPU}[name]
return getattr(torch.cuda.get_device_properties(device), name)`,
);

const isTraced = helperFunction(
  IS_TRACED,
  "tensor",
  "Whether a graph is being made, whose tensors have no addresses.",
  "return type(tensor) not in (torch.Tensor, torch.nn.Parameter)",
);

/** A check that skips tensors of a graph that is being traced. */
const skipIfTraced = (check: FunctionDef, tensor: string): FunctionDef => ({
  ...check,
  body: [{ kind: "verbatim", text: `if ${IS_TRACED}(${tensor}):\n    return` }, ...check.body],
});

/** The helpers that a module needs. `hasFloats`: it passes floats to kernels. `isCaching`: it caches launches. */
export function helperFunctions(
  isMentioned: (name: string) => boolean,
  hasFloats: boolean,
  isCaching: boolean,
): readonly (FunctionDef | ClassDef)[] {
  const isTraceable = isMentioned(IS_TRACED);
  const memory =
    isMentioned(CHECK_OUT) || isMentioned(CHECK_MEMORY)
      ? [isTraceable ? skipIfTraced(checkMemory, "written") : checkMemory, overlaps, end, axes, nest, reaches]
      : isCaching
        ? [end]
        : [];
  return [
    ...(isTraceable ? [isTraced] : []),
    ...(isMentioned(LAUNCH) ? [launch, launchKey(hasFloats)] : []),
    ...(isMentioned(CHECK_DESCRIPTOR) ? [checkDescriptor] : []),
    ...(isMentioned(ALLOCATE) ? [allocate] : []),
    ...(isMentioned(GPU_PROPERTY) ? [gpuProperty] : []),
    ...(isMentioned(CHECK_GPU) ? [checkGpu] : []),
    ...gradientHelpers(isMentioned),
    ...(isMentioned(CHECK_TENSOR) || isMentioned(CHECK_OUT)
      ? [isTraceable ? skipIfTraced(checkTensor, "tensor") : checkTensor]
      : []),
    ...argumentHelpers(isMentioned, isTraceable),
    ...(isMentioned(CHECK_OUT) ? [checkOut] : []),
    ...memory,
  ];
}
