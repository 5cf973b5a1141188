/**
 * Autograd behavior of kernels without a gradient. Results require grad, as those of PyTorch's operators do, and a
 * backward pass through them raises an error. A result without a grad_fn would silently train a model incorrectly.
 */
import * as py from "../syntax/py-build.js";
import type { ClassDef, FunctionDef } from "../syntax/py.js";
import { helperFunction } from "../syntax/py-build.js";

/** The helper that tests if autograd records the call. */
export const RECORDS_GRADIENT = "_records_gradient";
/** Calls a kernel so that its results require grad. */
export const WITHOUT_GRADIENT = "_without_gradient";
/** Rejects a call that writes a caller's tensor whose gradient would be lost. */
export const REFUSE_GRADIENT = "_refuse_gradient";
/** Rejects a call of an operator whose result would have a tangent. */
export const REFUSE_FORWARD_MODE = "_refuse_forward_mode";
/** Makes an operator that writes the caller's tensors reject calls that autograd would record. */
export const REFUSE_RECORDING = "_refuse_recording";
const FUNCTION = "_WithoutGradient";

const recordsGradient = helperFunction(
  RECORDS_GRADIENT,
  "label *tensors",
  "Whether PyTorch would record a gradient of one of these.",
  `if torch.autograd.forward_ad._current_level >= 0:
    _refuse_tangents(label, tensors)
if torch.is_grad_enabled():
    for tensor in tensors:
        if isinstance(tensor, torch.Tensor) and tensor.requires_grad:
            return True
return False`,
);

const refuseTangents = helperFunction(
  "_refuse_tangents",
  "label tensors",
  "Refuses tensors with a tangent, which a kernel would drop.",
  `for tensor in tensors:
    if not isinstance(tensor, torch.Tensor):
        continue
    if torch.autograd.forward_ad.unpack_dual(tensor).tangent is not None:
        raise NotImplementedError(f"{label} has no forward-mode gradient")`,
);

/** torch.func unwraps its tensors, so an operator cannot see their tangents. */
const refuseForwardMode = helperFunction(
  REFUSE_FORWARD_MODE,
  "label *tensors",
  "Refuses a call whose results would have tangents, which an operator has not.",
  `if torch.autograd.forward_ad._current_level < 0:
    return
if torch._functorch.eager_transforms.JVP_NESTING > 0:
    raise NotImplementedError(f"{label} has no forward-mode gradient")
_refuse_tangents(label, tensors)`,
);

/**
 * PyTorch accepts no gradient formula for an operator that writes its arguments, and would drop their gradient. Kernels
 * for these dispatch keys take precedence over the `Autograd` kernel that PyTorch registers.
 */
export const refuseRecording = helperFunction(
  REFUSE_RECORDING,
  "operator",
  "Refuses calls of an operator whose gradient PyTorch would leave out.",
  `label = operator._name

def checked(keyset, *args):
    wanted = [x.requires_grad for x in args if isinstance(x, torch.Tensor)]
    if torch.is_grad_enabled() and any(wanted):
        raise RuntimeError(
            f"{label}: what is written to a given tensor has no gradient; "
            "call it under torch.no_grad()"
        )
    with torch._C._AutoDispatchBelowAutograd():
        others = keyset & torch._C._after_autograd_keyset
        return operator._opoverload.redispatch(others, *args)

for device in ("CPU", "CUDA", "Meta"):
    key = f"Autograd{device}"
    operator._lib.impl(label, checked, key, with_keyset=True)`,
);

const withoutGradient = helperFunction(
  WITHOUT_GRADIENT,
  "kernel inputs updated=() given=() **options",
  "Calls the kernel; a backward through its results is an error.",
  `if any(isinstance(tensor, torch.Tensor) for tensor in given):
    _refuse_gradient(kernel.__name__, *inputs, *given)
for tensor in updated:
    if tensor is not None and tensor.is_leaf and tensor.requires_grad:
        raise RuntimeError(
            f"{kernel.__name__}: a leaf that requires grad is updated in place; "
            "call it under torch.no_grad()"
        )
return ${FUNCTION}.apply(kernel, updated, options, *inputs)`,
);

function staticMethod(name: string, params: string, text: string): FunctionDef {
  return { ...helperFunction(name, params, "", text), docstring: undefined, decorators: [py.name("staticmethod")] };
}

const autogradFunction: ClassDef = {
  kind: "class",
  name: FUNCTION,
  decorators: [],
  bases: [py.dotted("torch.autograd.Function")],
  docstring: "A kernel whose gradient nobody has written.",
  body: [
    staticMethod("forward", "kernel updated options *inputs", "return kernel(*inputs, **options)"),
    staticMethod(
      "setup_context",
      "ctx inputs output",
      `kernel, updated, *_ = inputs
ctx.name = kernel.__name__
ctx.mark_dirty(*(tensor for tensor in updated if tensor is not None))`,
    ),
    staticMethod(
      "backward",
      "ctx *_",
      `raise RuntimeError(
    f"{ctx.name} has no backward; call it under torch.no_grad(), or inside a "
    "torch.autograd.Function that has one"
)`,
    ),
  ],
};

const refuseGradient = helperFunction(
  REFUSE_GRADIENT,
  "label *tensors",
  "Refuses to write where PyTorch would record a gradient.",
  `wanted = [x.requires_grad for x in tensors if isinstance(x, torch.Tensor)]
if torch.is_grad_enabled() and any(wanted):
    raise RuntimeError(
        f"{label}: a result that is written to a given tensor has no gradient; "
        "give none, or call it under torch.no_grad()"
    )`,
);

/** The helpers that the module mentions, with their dependencies. */
export function gradientHelpers(isMentioned: (name: string) => boolean): readonly (FunctionDef | ClassDef)[] {
  const records = isMentioned(RECORDS_GRADIENT) ? [recordsGradient] : [];
  const modes = isMentioned(REFUSE_FORWARD_MODE) ? [refuseForwardMode] : [];
  const tangents = records.length + modes.length > 0 ? [refuseTangents] : [];
  const calls = isMentioned(WITHOUT_GRADIENT) ? [withoutGradient, autogradFunction] : [];
  return [
    ...records,
    ...modes,
    ...tangents,
    ...calls,
    ...(calls.length > 0 || isMentioned(REFUSE_GRADIENT) ? [refuseGradient] : []),
  ];
}
