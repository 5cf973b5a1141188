/** A kernel's call inside an operator: what it is given is looked at here, and what it gives stands for new tensors. */
import { fail, type Location } from "../diagnostics.js";
import { captureLocation } from "../ir/callsite.js";
import type { Elem } from "../ir/dtype.js";
import type { KernelIR, Param, TensorParam } from "../ir/nodes.js";
import type { Launch, Launched, TorchArgument, TorchNode } from "../ir/reference.js";
import { isTorchNode } from "../ir/reference.js";
import { argument, tensorProxy } from "./torch-proxy.js";
import type { KernelDefinition } from "./kernel.js";

/** What is known of a tensor before anything runs: the names of its sizes, and its dtype. */
export interface Described {
  readonly dims: readonly (string | number | undefined)[];
  readonly dtype: Elem | undefined;
}

/** What keeps the calls of one operator. */
export interface LaunchRecorder {
  readonly name: string;
  kernel(definition: KernelDefinition): KernelIR;
  launched(launch: Launch): void;
  describe(node: TorchNode): Described | undefined;
  describeAs(node: TorchNode, described: Described): void;
  /** Whether it is a tensor that the caller of the operator gave. */
  isInput(node: TorchNode): boolean;
}

let recorder: LaunchRecorder | undefined;

/** Runs `body`, in which kernels may be called. */
export function launching<T>(into: LaunchRecorder, body: () => T): T {
  const before = recorder;
  recorder = into;
  try {
    return body();
  } finally {
    recorder = before;
  }
}

/** What `kernel.call(…)` does: an object with a tensor for each output of the kernel. */
export function launch(definition: KernelDefinition, given: Readonly<Record<string, unknown>>): object {
  const at = captureLocation();
  const { name } = definition;
  const into = recorder ?? fail("call", `${name}.call: a kernel is called inside op(…) only`, at);
  if (typeof given !== "object" || given === null)
    fail("call", `${name}.call: give the arguments by name, ${name}.call({ x })`, at);
  const kernel = into.kernel(definition);
  const args = Object.fromEntries(
    Object.entries(given).flatMap(([key, value]) => (value === undefined ? [] : [[key, argument(value, at)] as const])),
  );
  checkArguments(kernel, args, into, at);
  const { sizes, typeOf } = bindTypes(kernel, args, into, at);
  const call: Launch = { kind: "launch", kernel, args, sizes, at };
  into.launched(call);
  const results = {};
  for (const param of kernel.params) {
    if (param.kind !== "tensor" || param.role !== "out") continue;
    let node: Launched | undefined;
    const get = (): unknown => {
      // Here, because the author's name for it is the one that takes it out of the object.
      node ??= { kind: "launched", launch: call, output: param.name, at: captureLocation() };
      into.describeAs(node, typeOf(param));
      return tensorProxy(node, at);
    };
    Object.defineProperty(results, param.name, { enumerable: true, get });
  }
  return results;
}

function checkArguments(
  kernel: KernelIR,
  args: Readonly<Record<string, TorchArgument>>,
  into: LaunchRecorder,
  at: Location | undefined,
): void {
  const { name, params } = kernel;
  const taken = params.filter(isArgument);
  for (const key of Object.keys(args))
    if (!taken.some((param) => param.name === key))
      fail("call", `${name}.call: ${key} is no argument; those are ${taken.map((p) => p.name).join(", ")}`, at);
  for (const param of taken) {
    const value = args[param.name];
    if (value === undefined && isRequired(kernel, param))
      fail("call", `${name}.call: ${param.name} is missing; give ${name}.call({ ${param.name}, … })`, at);
    if (param.kind !== "tensor" || value === undefined || value === null) continue;
    if (!isTorchNode(value)) fail("call", `${name}.call: ${param.name} must be a tensor`, at);
    if (param.role === "inout" && into.isInput(value))
      fail(
        "call",
        `${name}.call: it would change ${param.name}, which the caller of ${into.name} owns; give a copy, ${param.name}.clone()`,
        at,
      );
  }
}

function isArgument(param: Param): boolean {
  if (param.kind === "tensor") return param.role !== "out";
  if (param.kind === "size") return !param.derived;
  return param.kind !== "constexpr" || param.from === "argument" || param.from === "dim";
}

/** Whether nothing but the caller decides it: no default, no shape of another argument. */
function isRequired({ params }: KernelIR, param: Param): boolean {
  if (param.kind === "tensor" || param.kind === "pointer") return param.given === undefined;
  if (param.kind !== "size" && param.default !== undefined) return false;
  const isSize = param.kind === "size" || (param.kind === "constexpr" && param.from === "dim");
  const binds = (other: Param): boolean =>
    other.kind === "tensor" && other.role !== "out" && !other.optional && other.dimNames.includes(param.name);
  return !(isSize && params.some(binds));
}

/** Compares shapes and dtypes with the kernel's, as far as they are known, and gives those of its outputs. */
function bindTypes(
  { name, params }: KernelIR,
  args: Readonly<Record<string, TorchArgument>>,
  into: LaunchRecorder,
  at: Location | undefined,
): { readonly sizes: Launch["sizes"]; readonly typeOf: (param: TensorParam) => Described } {
  const sizes = new Map<string, string | number>();
  const dtypes = new Map<string, Elem>();
  for (const param of params) {
    const value = args[param.name];
    if (param.kind === "constexpr" && param.variable && isTorchNode(value)) {
      const chosen = dtypeOf(value, into);
      if (chosen !== undefined) dtypes.set(param.variable.name, chosen);
    }
    if (param.kind !== "tensor" || !isTorchNode(value)) continue;
    const known = into.describe(value);
    if (!known) continue;
    const shape = `[${known.dims.map((dim) => dim ?? "?").join(", ")}]`;
    const wanted = `[${param.dimNames.join(", ")}]`;
    if (known.dims.length !== param.dimNames.length)
      fail("call", `${name}.call: ${param.name} is ${wanted}, and is given a tensor of shape ${shape}`, at);
    param.dimNames.forEach((dim, axis) => {
      const size = known.dims[axis];
      const bound = typeof dim === "number" ? dim : sizes.get(dim);
      if (size !== undefined && bound !== undefined && bound !== size)
        fail(
          "call",
          `${name}.call: ${param.name} is ${wanted} with ${dim} = ${bound}, and is given a tensor of shape ${shape}`,
          at,
        );
      if (size !== undefined && typeof dim === "string") sizes.set(dim, size);
    });
    if (known.dtype === undefined) continue;
    const bound = typeof param.dtype === "string" ? param.dtype : dtypes.get(param.dtype.name);
    const allowed = bound ?? param.dtype;
    if (!includes(allowed, known.dtype))
      fail(
        "call",
        `${name}.call: ${param.name} is ${words(allowed)}, and is given ${words(known.dtype)}; cast it, .to(…)`,
        at,
      );
    if (typeof param.dtype !== "string") dtypes.set(param.dtype.name, known.dtype);
  }
  for (const { name: size } of params) {
    const value = args[size];
    if (typeof value === "number") sizes.set(size, value);
    // A size of the operator, as it is.
    if (isTorchNode(value) && value.kind === "input" && !into.describe(value)) sizes.set(size, value.name);
  }
  return {
    sizes: Object.fromEntries(sizes),
    typeOf: (param) => ({
      dims: param.dimNames.map((dim) => (typeof dim === "number" ? dim : sizes.get(dim))),
      dtype: typeof param.dtype === "string" ? param.dtype : dtypes.get(param.dtype.name),
    }),
  };
}

/** The dtype that an argument names: torch's, or that of a tensor. */
function dtypeOf(node: TorchNode, into: LaunchRecorder): Elem | undefined {
  if (node.kind === "dtype") return node.name;
  return node.kind === "attribute" && node.name === "dtype" ? into.describe(node.of)?.dtype : undefined;
}

const membersOf = (elem: Elem): readonly string[] => (typeof elem === "string" ? [elem] : elem.members);
const words = (elem: Elem): string => membersOf(elem).join(" or ");

/** Whether every dtype that the argument may have is one that the kernel takes. */
export function includes(allowed: Elem, given: Elem): boolean {
  return membersOf(given).every((member) => membersOf(allowed).includes(member));
}
