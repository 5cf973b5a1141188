/** A kernel's call inside an operator: checks its arguments, and stands for the tensors that it makes. */
import type { KernelLaunch } from "../ir/operator-ir.js";
import { optionalSizes } from "../analysis/optional-sizes.js";
import { fail, type Location } from "../diagnostics/diagnostic.js";
import { kernelCall } from "../diagnostics/catalog/operator-codes.js";
import { captureLocation, readingProperty } from "../diagnostics/callsite.js";
import type { Elem } from "../types/dtype.js";
import { isMemoryParam, isSizeParam, type KernelIR, type Param, type TensorParam, tensorsOf } from "../ir/nodes.js";
import {
  whyAsked,
  whyBound,
  whyDecided,
  whyMissing,
  whyNumber,
  whyOutput,
  whyTensor,
  whyUnknown,
} from "../params/kernel-call-types.js";
import { isTorchNode, type Launched, type TorchArgument, type TorchNode } from "../torch/node.js";
import { argument, reportNode, tensorProxy } from "../torch/proxy.js";
import type { KernelDefinition } from "./definition.js";

/** A tensor as known before anything runs: the names of its sizes, and its dtype. */
export interface AbstractTensor {
  readonly dims: readonly (string | number | undefined)[];
  readonly dtype: Elem | undefined;
}

/** Collects the calls of one operator. */
export interface LaunchRecorder {
  readonly name: string;
  kernel(definition: KernelDefinition): KernelIR;
  describe(node: TorchNode): AbstractTensor | undefined;
  describeAs(node: TorchNode, described: AbstractTensor): void;
  /** Whether the operator's caller passed this tensor. */
  isInput(node: TorchNode): boolean;
  /** The tensor that an operator must not change whose memory this has, or may have: a view, a cast, a gradient. */
  ownedBy(node: TorchNode): string | undefined;
}

let recorder: LaunchRecorder | undefined;

/** Runs `body`, which may call kernels. */
export function withLaunchRecorder<T>(into: LaunchRecorder, body: () => T): T {
  const before = recorder;
  recorder = into;
  try {
    return body();
  } finally {
    recorder = before;
  }
}

/** The implementation of `kernel.call(…)`. Gives an object with a tensor for each output of the kernel. */
export function launch(definition: KernelDefinition, given: Readonly<Record<string, unknown>>): object {
  const at = captureLocation();
  const { name } = definition;
  const into = recorder ?? fail(kernelCall.outside(name), at);
  if (typeof given !== "object" || given === null) fail(kernelCall.byName(name), at);
  const kernel = into.kernel(definition);
  const args = Object.fromEntries(
    Object.entries(given).flatMap(([key, value]) => (value === undefined ? [] : [[key, argument(value, at)] as const])),
  );
  checkArguments(kernel, args, into, at);
  const { sizes, typeOf } = bindTypes(kernel, args, into, at);
  const call: KernelLaunch = reportNode({ kind: "launch", kernel, args, sizes, at });
  const results = {};
  for (const param of kernel.params) {
    if (param.kind !== "tensor" || param.role !== "out" || (param.optional && args[param.name] !== true)) continue;
    let node: Launched | undefined;
    const get = (): unknown => {
      // Made on access, where the author names the variable that takes it.
      const here = () => readingProperty(param.name, () => captureLocation());
      node ??= { kind: "launched", launch: call, output: param.name, at: here() };
      into.describeAs(node, typeOf(param));
      return tensorProxy(node, at);
    };
    Object.defineProperty(results, param.name, { enumerable: true, get });
  }
  return new Proxy(results, {
    get: (target, key, receiver) => {
      // Some readers test for a promise by its `then`.
      if (typeof key === "string" && key !== "then" && !(key in target))
        fail(kernelCall.noOutput(name, key, Object.keys(target)), captureLocation());
      return Reflect.get(target, key, receiver) as unknown;
    },
  });
}

function checkArguments(
  kernel: KernelIR,
  args: Readonly<Record<string, TorchArgument>>,
  into: LaunchRecorder,
  at: Location | undefined,
): void {
  const { name, params } = kernel;
  const problem = [
    ...Object.keys(args).map((key) => whyNoArgument(kernel, key)),
    ...params.filter(isArgument).map((param) => whyArgument(kernel, param, args[param.name], into)),
  ].find((sentence) => sentence !== "");
  if (problem !== undefined) fail(kernelCall.rule(problem), at);
  for (const param of tensorsOf(kernel, "inout")) {
    const value = args[param.name];
    const owned = isTorchNode(value) ? into.ownedBy(value) : undefined;
    if (owned !== undefined) fail(kernelCall.changesInput(name, param.name, owned, into.name), at);
  }
}

function whyNoArgument({ name, params }: KernelIR, key: string): string {
  const param = params.find((each) => each.name === key);
  if (!param) return whyUnknown(name, key);
  if (isBound(param, params)) return whyBound(name, key);
  if (isArgument(param)) return "";
  return param.kind === "tensor" ? whyOutput(name, key) : whyDecided(name, key);
}

function whyArgument(kernel: KernelIR, param: Param, value: TorchArgument | undefined, into: LaunchRecorder): string {
  const { name } = kernel;
  if (value === undefined) return isRequired(kernel, param) ? whyMissing(name, param.name) : "";
  const kind = isTorchNode(value) ? isTensor(value, into) : false;
  if (isAsked(param)) return value === true ? "" : whyAsked(name, param.name);
  if (param.kind === "tensor")
    return kind !== false || (value === null && param.optional) ? "" : whyTensor(name, param.name);
  return kind === true || value === null || Array.isArray(value) ? whyNumber(name, param.name) : "";
}

/** Whether it is a tensor, as far as known before anything runs. */
function isTensor(node: TorchNode, into: LaunchRecorder): boolean | undefined {
  switch (node.kind) {
    case "input":
      return into.isInput(node) || into.describe(node) !== undefined;
    case "launched":
      return true;
    case "arithmetic":
    case "dtype":
      return false;
    case "attribute":
      return ["dtype", "device", "shape"].includes(node.name) ? false : undefined;
    case "method":
      return node.name === "size" ? false : undefined;
    default:
      return undefined;
  }
}

function isArgument(param: Param): boolean {
  if (param.kind === "tensor") return param.role !== "out" || isAsked(param);
  if (param.kind === "size") return !param.derived;
  if (param.kind === "device") return false;
  return param.kind !== "constexpr" || param.from === "argument" || param.from === "dim";
}

/** An output that the call may ask for. */
function isAsked(param: Param): boolean {
  return param.kind === "tensor" && param.role === "out" && param.optional;
}

/** Whether the caller must give it: it has no default, and no other argument's shape sets it. */
function isRequired({ params }: KernelIR, param: Param): boolean {
  if (isMemoryParam(param)) return param.given === undefined;
  if (param.kind === "device") return false;
  if (param.kind !== "size" && param.default !== undefined) return false;
  return !isBound(param, params);
}

/** Whether it is a size that an input has, and if that one may be left out, that no required tensor has. */
function isBound(param: Param, params: readonly Param[]): boolean {
  const isSize = isSizeParam(param);
  const binds = (other: Param): boolean =>
    other.kind === "tensor" && other.role !== "out" && !other.optional && other.dimNames.includes(param.name);
  return isSize && (params.some(binds) || optionalSizes({ params }).some((each) => each.param === param));
}

/** Compares the known shapes and dtypes with the kernel's, and gives those of its outputs. */
function bindTypes(
  { name, params }: KernelIR,
  args: Readonly<Record<string, TorchArgument>>,
  into: LaunchRecorder,
  at: Location | undefined,
): { readonly sizes: KernelLaunch["sizes"]; readonly typeOf: (param: TensorParam) => AbstractTensor } {
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
      fail(kernelCall.rank(name, param.name, wanted, shape, axesInWords(param.dimNames.length)), at);
    param.dimNames.forEach((dim, axis) => {
      const size = known.dims[axis];
      const bound = typeof dim === "number" ? dim : sizes.get(dim);
      if (size !== undefined && bound !== undefined && bound !== size)
        fail(kernelCall.size(name, param.name, wanted, [dim, bound], shape), at);
      if (size !== undefined && typeof dim === "string") sizes.set(dim, size);
    });
    if (known.dtype === undefined) continue;
    const bound = typeof param.dtype === "string" ? param.dtype : dtypes.get(param.dtype.name);
    const allowed = bound ?? param.dtype;
    if (!includes(allowed, known.dtype))
      fail(kernelCall.dtype(name, param.name, words(allowed), words(known.dtype)), at);
    if (typeof param.dtype !== "string") dtypes.set(param.dtype.name, known.dtype);
  }
  for (const { name: size } of params) {
    const value = args[size];
    if (typeof value === "number") sizes.set(size, value);
    // A size of the operator, passed on unchanged.
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

/** The dtype that an argument names: one of torch's, or a tensor's. */
function dtypeOf(node: TorchNode, into: LaunchRecorder): Elem | undefined {
  if (node.kind === "dtype") return node.name;
  return node.kind === "attribute" && node.name === "dtype" ? into.describe(node.of)?.dtype : undefined;
}

const axesInWords = (rank: number): string => (rank === 1 ? "1 axis" : `${rank} axes`);
const membersOf = (elem: Elem): readonly string[] => (typeof elem === "string" ? [elem] : elem.members);
const words = (elem: Elem): string => membersOf(elem).join(" or ");

/** Whether the kernel takes every dtype that the argument may have. */
export function includes(allowed: Elem, given: Elem): boolean {
  return membersOf(given).every((member) => membersOf(allowed).includes(member));
}
