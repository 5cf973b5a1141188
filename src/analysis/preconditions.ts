/**
 * What must hold before a launch, stated once: the wrapper writes each condition as Python, and the evaluator decides it for
 * a case. What no wrapper asks, Triton refuses itself.
 */
import {
  type ConstexprParam,
  type HostBlock,
  type KernelIR,
  paramsOf,
  type ScalarParam,
  type SizeParam,
  type TensorParam,
  type Value,
} from "../ir/nodes.js";
import { DESCRIPTOR_BYTES, INT32_REACH, MAX_GRID, MAX_NUMEL } from "../types/limits.js";
import { describedSizes, tensorsViaDescriptor, isDescriptorOnly } from "./descriptor-tensors.js";
import { dimsNotKnownPowerOfTwo } from "./power-of-two-dims.js";
import { LaunchFacts } from "./launch-facts.js";
import { nonNegativeValues } from "./signs.js";
import { tileSizes } from "./tile-sizes.js";

export type Precondition =
  /** A condition that the author requires, by its place. Those that choose between configs prune them instead. */
  | { readonly kind: "requirement"; readonly index: number }
  /** A size that the host computes, and that may be negative, is not. */
  | { readonly kind: "size"; readonly param: SizeParam }
  /** Programs along an axis of the grid: a GPU's limit, which Triton asks. */
  | { readonly kind: "grid"; readonly axis: number; readonly most: number }
  /** A tensor that a descriptor reaches has stride 1 on `axis`; its start and all other strides are multiples of `bytes`. */
  | { readonly kind: "descriptor"; readonly param: TensorParam; readonly axis: number; readonly bytes: number }
  /** A number is one that its dtype holds; a float is finite in it if the caller's is. */
  | { readonly kind: "number"; readonly param: ScalarParam }
  /** A float that is compiled in is not -0.0: Triton finds what it compiled by equality, and runs that of 0.0. */
  | { readonly kind: "constant"; readonly param: ConstexprParam }
  /** A tensor lies in row-major order, without gaps. */
  | { readonly kind: "contiguous"; readonly param: TensorParam }
  /** A tensor has the strides of another one, which the kernel takes for both. */
  | { readonly kind: "same-strides"; readonly param: TensorParam; readonly as: TensorParam }
  /** A tensor whose offsets are int32 reaches less far than `below`, masked lanes behind its end included. */
  | { readonly kind: "reach"; readonly param: TensorParam; readonly below: number }
  /** A size, or a number of the caller's, that the kernel counts up to in int32, or a descriptor does, is less than `below`. */
  | {
      readonly kind: "count";
      readonly size: Value | number;
      readonly by: "index" | "descriptor";
      readonly below: number;
    }
  /** A dimension of tiles that the caller decides is a power of two from `least` up. */
  | { readonly kind: "tile-size"; readonly param: ConstexprParam; readonly least: number }
  /** A launch option that the config computes: warps are a power of two up to 32, other options are positive. */
  | { readonly kind: "launch-option"; readonly name: string; readonly compute: HostBlock }
  /** An integer that the launch computes is no larger than a tile. */
  | { readonly kind: "launch-size"; readonly param: ConstexprParam; readonly most: number }
  /** A tile's dimension that the launch computes is a power of two: `tl.nextPowerOf2(N)` is 0 where N is. */
  | { readonly kind: "launch-power"; readonly param: ConstexprParam };

export type PreconditionOf<Kind extends Precondition["kind"]> = Extract<Precondition, { readonly kind: Kind }>;

/** Why a size is too large, and what to do about it. */
export const INT32_LIMIT_MESSAGE = {
  index:
    "and the kernel counts up to it in int32; compute the indices in tl.int64: tl.programId(0).to(tl.int64), and sizes likewise",
  descriptor:
    "and tensor descriptors count in int32; pass the tensor in parts, or use views with { offsets: tl.int64 }",
} as const;

/** All of a lowered kernel. */
export function preconditions(ir: KernelIR): readonly Precondition[] {
  let found = known.get(ir);
  if (found === undefined) known.set(ir, (found = findPreconditions(ir)));
  return found;
}

/** Found once for each kernel: every case that is drawn asks for them. */
const known = new WeakMap<KernelIR, readonly Precondition[]>();

function findPreconditions(ir: KernelIR): readonly Precondition[] {
  const reached = paramsOf(ir, "tensor").filter(
    (param) => (param.offsets !== "int64" || ir.counted?.tensors.has(param) === true) && !isDescriptorOnly(ir, param),
  );
  const shared = sharedStrides(ir);
  // One with the dims and strides of another reaches as far.
  const firsts = new Map(shared.map(({ param, as }) => [param, as]));
  const computed = paramsOf(ir, "constexpr").filter(
    ({ from, of, compute }) => from === "launch" && of === "int" && compute,
  );
  return [
    ...ir.requires.block.yields.map((_, index) => ({ kind: "requirement", index }) as const),
    ...uncertainSizes(ir).map((param) => ({ kind: "size", param }) as const),
    ...ir.grid.block.yields.map((_, axis) => ({ kind: "grid", axis, most: MAX_GRID[axis]! }) as const),
    ...tensorsViaDescriptor(ir).map((each) => ({ kind: "descriptor", ...each, bytes: DESCRIPTOR_BYTES }) as const),
    ...paramsOf(ir, "scalar").map((param) => ({ kind: "number", param }) as const),
    ...paramsOf(ir, "constexpr").flatMap((param) =>
      param.of === "float" && param.from === "argument" ? [{ kind: "constant", param } as const] : [],
    ),
    ...paramsOf(ir, "tensor").flatMap((param) => (param.contiguous ? [{ kind: "contiguous", param } as const] : [])),
    ...shared.map((each) => ({ kind: "same-strides", ...each }) as const),
    ...reached
      .filter((param) => !reached.some((each) => each === firsts.get(param)))
      .map((param) => ({ kind: "reach", param, below: INT32_REACH }) as const),
    ...counts(ir, reached),
    ...tileSizes(ir).map((each) => ({ kind: "tile-size", ...each }) as const),
    ...Object.entries(ir.tuning.options ?? {}).map(
      ([name, compute]) => ({ kind: "launch-option", name, compute }) as const,
    ),
    ...computed.map((param) => ({ kind: "launch-size", param, most: MAX_NUMEL }) as const),
    ...dimsNotKnownPowerOfTwo(ir, computed).map((param) => ({ kind: "launch-power", param }) as const),
  ];
}

/** Computed sizes, but for those whose formula can't be negative. */
function uncertainSizes(ir: KernelIR): readonly SizeParam[] {
  const derived = paramsOf(ir, "size").filter((param) => param.derived !== undefined);
  if (derived.length === 0) return [];
  const isNonNegative = nonNegativeValues(ir, new LaunchFacts(ir));
  return derived.filter((param) => !isNonNegative(param.derived!.block.yields[0]!));
}

/** The sizes that no tensor bounds whose reach is compared. With a stride of 0, the reach of an input does not bound one. */
function counts(ir: KernelIR, reached: readonly TensorParam[]): readonly PreconditionOf<"count">[] {
  const given = reached.filter(({ optional }) => !optional);
  const dense = new Set(
    given.filter(({ role, contiguous }) => role !== "in" || contiguous).flatMap(({ dims }) => dims),
  );
  const any = new Set(given.flatMap(({ dims }) => dims));
  const found = new Map<Value | number, PreconditionOf<"count">>();
  const note = (size: Value | number, by: "index" | "descriptor"): void => {
    const isLarge = typeof size === "number" ? size >= INT32_REACH : !isComputed(ir, size);
    if (isLarge && !found.has(size)) found.set(size, { kind: "count", size, by, below: INT32_REACH });
  };
  for (const size of describedSizes(ir)) if (!isIn(dense, size)) note(size, "descriptor");
  for (const [size, of] of ir.counted?.sizes ?? []) if (!isIn(of === "index" ? dense : any, size)) note(size, "index");
  return [...found.values()];
}

const isIn = (sizes: ReadonlySet<unknown>, size: Value | number): boolean => sizes.has(size);

/** Whether the config chooses a size, or the launch computes it: it then is no larger than a tile. */
function isComputed(ir: KernelIR, size: Value): boolean {
  return paramsOf(ir, "constexpr").some(({ value, from }) => value === size && from !== "dim" && from !== "argument");
}

/** The tensors that have the strides of an earlier one. */
export function sharedStrides(ir: KernelIR): readonly { readonly param: TensorParam; readonly as: TensorParam }[] {
  const tensors = paramsOf(ir, "tensor").filter(({ contiguous, strides }) => !contiguous && strides.length > 0);
  return tensors.flatMap((param, i) => {
    const as = tensors.slice(0, i).find(({ strides }) => strides[0] === param.strides[0]);
    return as ? [{ param, as }] : [];
  });
}

/** How far a tensor reaches, in elements, if its strides are these. Of a contiguous tensor the wrapper counts elements. */
export function extentOf({ contiguous }: TensorParam, shape: readonly number[], strides: readonly number[]): number {
  if (contiguous || shape.length === 0) return shape.reduce((product, size) => product * size, 1);
  return shape.reduce((sum, size, axis) => sum + (size - 1) * strides[axis]!, 0);
}

/** Those of one kind. */
export function preconditionsOf<Kind extends Precondition["kind"]>(
  ir: KernelIR,
  kind: Kind,
): readonly PreconditionOf<Kind>[] {
  return preconditions(ir).filter((each): each is PreconditionOf<Kind> => each.kind === kind);
}

/** Names of the tensors that a launch refuses because of their strides, whatever their shape. */
export function strictTensors(ir: KernelIR): ReadonlySet<string> {
  const params = preconditions(ir).flatMap((each) => {
    if (each.kind === "contiguous" || each.kind === "descriptor") return [each.param];
    return each.kind === "same-strides" ? [each.param, each.as] : [];
  });
  return new Set(params.map(({ name }) => name));
}
