/** Helper functions of the launch cache, identical in every emitted module. */
import type { ClassDef, FunctionDef, Statement } from "../syntax/py.js";
import * as py from "../syntax/py-build.js";
import { helperFunction } from "../syntax/py-build.js";
import { LAUNCH, LAUNCHES } from "./helpers.js";

/** The original wrapper and launch function, before both are replaced. */
export const CHECKED_WRAPPER = "_checked";
const PLAIN_LAUNCH = "_plain_launch";
/** The replacements. */
export const CACHED_WRAPPER = "_repeated";
const RECORDED_LAUNCH = "_told_launch";
/** The helpers that the replacement of the wrapper calls. */
export const IS_SPECIAL = "_is_special";
export const RECORD_CALL = "_keep";
/** Standard library modules that these functions import. */
export const LAUNCH_CACHE_IMPORTS: readonly string[] = ["functools", "threading"];
/** The thread-local list of recorded launches. */
export const RECORDED_LAUNCHES = "_TOLD";
/** Versions of Triton with which the launcher is tested. */
const TESTED_VERSIONS = ["3.6.", "3.7.", "3.8.", "3.9."];

const recordedLaunchesClass: ClassDef = {
  kind: "class",
  name: "_Told",
  decorators: [],
  bases: [py.dotted("threading.local")],
  docstring: "The launches of a thread, while it asks for them.",
  body: [py.assign(py.name("launches"), py.none)],
};

const recordedLaunch = helperFunction(
  RECORDED_LAUNCH,
  "kernel grid tensors numbers / *others **options",
  `What ${LAUNCH} does; a launch is told to who asks.`,
  `found = ${PLAIN_LAUNCH}(kernel, grid, tensors, numbers, *others, **options)
if found and ${RECORDED_LAUNCHES}.launches is not None:
    ${RECORDED_LAUNCHES}.launches.append((kernel, tensors, numbers, *found))`,
);

const recordCall = helperFunction(
  RECORD_CALL,
  "key given / *arguments **outputs",
  `Calls the wrapper, and keeps what it launches for later calls of the key.

Nothing is kept without a key, nor for a call that a plan is kept for.

The first call of a key leaves only the key: a number may never come again. A wrapper that calls itself, for a gradient or for another GPU, tells no launch.`,
  `kept = ${LAUNCHES}.get(key)
if kept is None and key is not None:
    if len(${LAUNCHES}) >= 4096:
        ${LAUNCHES}.clear()
    ${LAUNCHES}[key] = ()
if kept is None or len(kept) == 8 or any(check(*given) for check, *_ in kept):
    return ${CHECKED_WRAPPER}(*arguments, **outputs)
told = ${RECORDED_LAUNCHES}.launches = []
try:
    results = ${CHECKED_WRAPPER}(*arguments, **outputs)
finally:
    ${RECORDED_LAUNCHES}.launches = None
if len(told) == 1:
    ${LAUNCHES}[key] = (*kept, *_plans(given, results, *told[0]))
return results`,
);

const cachedLaunches = helperFunction(
  "_plans",
  "given results kernel tensors numbers binary grid constants",
  `What later calls need to launch the same: one plan, or none.

A plan without a kernel says that Triton's launcher is not of a known form, so that the launch is never made this way.`,
  `if any(x.data_ptr() % 16 for x in tensors):
    return
if any(type(x) not in (torch.Tensor, torch.nn.Parameter) for x in given):
    return
try:
    torch._C._increment_version(())
    check = _guard(given)
except (AttributeError, ImportError, RuntimeError, TypeError):
    return
if not check(*given):
    return
index = given[0].device.index
is_only = torch.cuda.device_count() == 1
try:
    launch = _launcher(binary, grid, len(tensors), (*numbers, *constants), index)
except (AttributeError, RuntimeError, TypeError, ValueError):
    launch = None
needs_no_grad = any(x.requires_grad for x in given)
state = (kernel if launch else None, is_only, index, needs_no_grad)
sizes = [_end(x) - x.data_ptr() for x in tensors]
made = results if isinstance(results, tuple) else (results,)
empty = [
    x
    if x is None
    else functools.partial(
        torch.empty_strided, x.shape, x.stride(), dtype=x.dtype, device=x.device
    )
    for x in made
]
yield check, state, sizes, empty, launch`,
);

const guard = helperFunction(
  "_guard",
  "tensors",
  `A function that says whether others differ from these in address and values alone.

It compares what torch.compile guards a graph's inputs by: type, dtype, device, sizes, strides, requires_grad, and all by which PyTorch chooses an implementation.`,
  `from torch._C._dynamo.guards import TensorGuards

guards = TensorGuards(*tensors, dynamic_dims_sizes=None, dynamic_dims_strides=None)
return guards.check`,
);

/**
 * This code does not depend on the argument order of a Triton version. `binary.run` is Triton's Python launcher. It
 * calls a C function and adds its own arguments before, between and after the given ones.
 */
const launcher = helperFunction(
  "_launcher",
  "binary grid count numbers device",
  `A function of addresses that makes the launch, or None if there can be none.

It calls the function in C that Triton's launcher calls, with the same arguments, which a copy of the launcher shows. Hooks are left out: there is none to hear of it.`,
  `shown, calls = object.__new__(type(binary.run)), []
for name, value in vars(binary.run).items():
    if name.endswith(("scratch_size", "_enabled")) and value:
        return None
    setattr(shown, name, value)
launch, shown.launch = shown.launch, lambda *given: calls.append(given)
if not isinstance(launch, type(len)):
    return None
stream, *silent = marks = [object() for _ in range(4)]
arguments = [*(object() for _ in range(count)), *numbers]
shown(*grid, stream, binary.function, binary.packed_metadata, *silent, *arguments)
(given,) = calls
is_packed = isinstance(given[-1], tuple) and len(given[-1]) == len(arguments)
fixed = given[:-1] if is_packed else given[: -len(arguments)]
last = given[-1] if is_packed else given[len(fixed) :]
is_known = all(x is y for x, y in zip(last, arguments))
if not is_known or sum(any(x is mark for mark in marks) for x in fixed) != 4:
    return None
place = next(i for i, x in enumerate(fixed) if x is stream)
fixed = [None if any(x is mark for mark in silent) else x for x in fixed]
before, after = fixed[:place], fixed[place + 1 :]

def call(*addresses):
    stream = torch._C._cuda_getCurrentRawStream(device)
    if is_packed:
        launch(*before, stream, *after, (*addresses, *numbers))
    else:
        launch(*before, stream, *after, *addresses, *numbers)

call.binary = binary
return call`,
);

const isSpecial = helperFunction(
  IS_SPECIAL,
  "wanted kernel is_only device needs_no_grad",
  "Whether a call asks for more than a launch, or for another kernel's.",
  `runtime = triton.knobs.runtime
try:
    is_heard = runtime.launch_enter_hook.calls or runtime.launch_exit_hook.calls
except AttributeError:
    return True
return (
    is_heard
    or kernel is not wanted
    or not (is_only or torch._C._cuda_getDevice() == device)
    or torch._C._len_torch_dispatch_stack() > 0
    or torch.autograd.forward_ad._current_level >= 0
    or (needs_no_grad and torch.is_grad_enabled())
)`,
);

/** The definitions of the launch cache: helpers, the cached call, and the statement that installs it. */
export function launchCacheBlock(wrapper: string, cachedCall: FunctionDef): readonly Statement[] {
  const pair = (first: string, second: string) => py.tuple(py.name(first), py.name(second));
  const isTested = py.call("triton.__version__.startswith", py.tuple(...TESTED_VERSIONS.map(py.string)));
  const test = py.boolOp("and", py.dotted("torch.version.cuda"), py.unary("not", py.name("_INTERPRETED")), isTested);
  return [
    recordedLaunchesClass,
    py.comment("Repeated calls: the rest of the module makes them cost what their launch costs."),
    py.assign(py.name(RECORDED_LAUNCHES), py.call("_Told")),
    py.assign(pair(CHECKED_WRAPPER, PLAIN_LAUNCH), pair(wrapper, LAUNCH)),
    cachedCall,
    isSpecial,
    recordCall,
    recordedLaunch,
    cachedLaunches,
    guard,
    launcher,
    {
      kind: "if",
      branches: [{ test, body: [py.assign(pair(wrapper, LAUNCH), pair(CACHED_WRAPPER, RECORDED_LAUNCH))] }],
    },
  ];
}
