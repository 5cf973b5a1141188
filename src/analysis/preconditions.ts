/**
 * Preconditions of a launch, the single source for all checks. The wrapper emits each condition as Python, and the
 * evaluator checks it for a test case. Triton itself checks those that the wrapper omits.
 */
import {
  type ConstexprParam,
  type HostBlock,
  type KernelIR,
  paramsOf,
  type PointerParam,
  type ScalarParam,
  type SizeParam,
  type TensorParam,
  type Value,
  type Argument,
  isLiteral,
} from "../ir/nodes.js";
import { valueOfBlock, walkAll, typedArguments } from "../ir/walk.js";
import { DESCRIPTOR_BYTES } from "../types/limits.js";
import {
  descriptorSizes,
  isDescriptorOnly,
  pointersViaDescriptor,
  tensorsViaDescriptor,
} from "./descriptor-tensors.js";
import { LaunchFacts } from "./launch-facts.js";
import { longGridAxes } from "./long-grid-axes.js";
import { nonNegativeValues } from "./signs.js";
import { tileSizes, tileDims } from "./dtype-bindings.js";
import { isPower, atAxis } from "../types/dims.js";
import { memoize } from "./integers.js";
import type { Location } from "../diagnostics/diagnostic.js";

export type Precondition =
  /** The author's requirement with this index. A requirement that depends on the config prunes configs instead. */
  | { readonly kind: "requirement"; readonly index: number }
  /** A size computed by the host is non-negative. Only emitted if that is not provable. */
  | { readonly kind: "size"; readonly param: SizeParam }
  /** The number of programs along a grid axis is at most the GPU's limit. Only for axes that may exceed it. */
  | { readonly kind: "grid"; readonly axis: number; readonly most: number }
  /**
   * A tensor accessed through a descriptor has stride 1 on `axis`. Its address and all other strides are multiples of
   * `bytes`. So is the length of `axis` if the tensor is written: a GPU stores whole multiples.
   */
  | { readonly kind: "descriptor"; readonly param: TensorParam; readonly axis: number; readonly bytes: number }
  /**
   * The address of a raw pointer with descriptors is a multiple of `bytes`, and so are `steps` of its elements: strides,
   * and the lengths of rows that are written.
   */
  | {
      readonly kind: "pointer-descriptor";
      readonly param: PointerParam;
      readonly steps: readonly (Value | number)[];
      readonly bytes: number;
    }
  /** A number is representable in its dtype. A finite float stays finite. */
  | { readonly kind: "number"; readonly param: ScalarParam }
  /**
   * A float constexpr is not -0.0, because Triton's cache compares by equality and would run the kernel compiled for
   * 0.0.
   */
  | { readonly kind: "constant"; readonly param: ConstexprParam }
  /** A tensor is contiguous in row-major order. */
  | { readonly kind: "contiguous"; readonly param: TensorParam }
  /** A tensor has the strides of another one, because the kernel uses one set of strides for both. */
  | { readonly kind: "same-strides"; readonly param: TensorParam; readonly as: TensorParam }
  /** The extent of a tensor with int32 offsets is less than `below`, including masked lanes past its end. */
  | { readonly kind: "reach"; readonly param: TensorParam; readonly below: number }
  /** A size that the kernel or a descriptor counts in int32 is less than `below`. */
  | {
      readonly kind: "count";
      readonly size: Value | number;
      readonly by: "index" | "descriptor";
      readonly below: number;
    }
  /** A tile dim that the caller passes is a power of two and at least `least`. */
  | { readonly kind: "tile-size"; readonly param: ConstexprParam; readonly least: number }
  /**
   * A launch option that the config computes is valid: warps are a power of two up to 32, other options are positive.
   */
  | { readonly kind: "launch-option"; readonly name: string; readonly compute: HostBlock }
  /** An integer that the launch computes is at most the maximum number of elements of a tile. */
  | { readonly kind: "launch-size"; readonly param: ConstexprParam; readonly most: number }
  /** A tile dim that the launch computes is a power of two: `tl.nextPowerOf2(N)` is 0 if N is 0. */
  | { readonly kind: "launch-power"; readonly param: ConstexprParam };

export type PreconditionOf<Kind extends Precondition["kind"]> = Extract<Precondition, { readonly kind: Kind }>;

/** The consequence of a size that is too large, and the remedy. */
export const INT32_LIMIT_MESSAGE = {
  index:
    "and the kernel counts up to it in int32; compute the indices in tl.int64: tl.programId(0).to(tl.int64), and sizes likewise",
  descriptor:
    "and tensor descriptors count in int32; pass the tensor in parts, or use views with { offsets: tl.int64 }",
} as const;

/** All preconditions of a lowered kernel. */
export function preconditions(ir: KernelIR): readonly Precondition[] {
  let cached = cache.get(ir);
  if (cached === undefined) cache.set(ir, (cached = findPreconditions(ir)));
  return cached;
}

/** A cache per kernel, because each random test case checks them. */
const cache = new WeakMap<KernelIR, readonly Precondition[]>();

function findPreconditions(ir: KernelIR): readonly Precondition[] {
  const narrowTensors = paramsOf(ir, "tensor").filter(
    (param) => (param.offsets !== "int64" || ir.counted?.tensors.has(param) === true) && !isDescriptorOnly(ir, param),
  );
  const sizeCounts = counts(ir, narrowTensors);
  const shared = sharedStrides(ir);
  // A tensor with the dims and strides of another has the same extent.
  const originals = new Map(shared.map(({ param, as }) => [param, as]));
  const computed = paramsOf(ir, "constexpr").filter(
    ({ from, of: valueKind, compute }) => from === "launch" && valueKind === "int" && compute,
  );
  return [
    ...ir.requires.block.yields.map((_, index) => ({ kind: "requirement", index }) as const),
    ...uncertainSizes(ir).map((param) => ({ kind: "size", param }) as const),
    ...longGridAxes(ir, { tensors: narrowTensors, sizes: new Set(sizeCounts.map(({ size }) => size)) }).map(
      (axis) => ({ kind: "grid", axis, most: atAxis(ir.limits.maxGrid, axis) }) as const,
    ),
    ...tensorsViaDescriptor(ir).map((each) => ({ kind: "descriptor", ...each, bytes: DESCRIPTOR_BYTES }) as const),
    ...pointersViaDescriptor(ir).map(
      (each) => ({ kind: "pointer-descriptor", ...each, bytes: DESCRIPTOR_BYTES }) as const,
    ),
    ...paramsOf(ir, "scalar").map((param) => ({ kind: "number", param }) as const),
    ...paramsOf(ir, "constexpr").flatMap((param) =>
      param.of === "float" && param.from === "argument" ? [{ kind: "constant", param } as const] : [],
    ),
    ...paramsOf(ir, "tensor").flatMap((param) => (param.contiguous ? [{ kind: "contiguous", param } as const] : [])),
    ...shared.map((each) => ({ kind: "same-strides", ...each }) as const),
    ...narrowTensors
      .filter((param) => !narrowTensors.some((each) => each === originals.get(param)))
      .map((param) => ({ kind: "reach", param, below: ir.limits.int32Reach }) as const),
    ...sizeCounts,
    ...tileSizes(ir).map((each) => ({ kind: "tile-size", ...each }) as const),
    ...Object.entries(ir.tuning.options ?? {}).map(
      ([name, compute]) => ({ kind: "launch-option", name, compute }) as const,
    ),
    ...computed.map((param) => ({ kind: "launch-size", param, most: ir.limits.maxNumel }) as const),
    ...dimsNotKnownPowerOfTwo(ir, computed).map((param) => ({ kind: "launch-power", param }) as const),
  ];
}

/** Computed sizes, except those whose formula cannot be negative. */
function uncertainSizes(ir: KernelIR): readonly SizeParam[] {
  const sizes = paramsOf(ir, "size");
  if (sizes.every(({ derived }) => derived === undefined)) return [];
  const isNonNegative = nonNegativeValues(ir, new LaunchFacts(ir));
  return sizes.filter(({ derived }) => derived && !isNonNegative(valueOfBlock(derived)));
}

/**
 * Checks of sizes that the extent of no tensor bounds. With a stride of 0, the extent of an input does not bound its
 * sizes.
 */
function counts(ir: KernelIR, narrowTensors: readonly TensorParam[]): readonly PreconditionOf<"count">[] {
  const required = narrowTensors.filter(({ optional }) => !optional);
  const dense = new Set(
    required.filter(({ role, contiguous }) => role !== "in" || contiguous).flatMap(({ dims }) => dims),
  );
  const any = new Set(required.flatMap(({ dims }) => dims));
  const preconditionOf = new Map<Value | number, PreconditionOf<"count">>();
  const add = (size: Value | number, by: "index" | "descriptor"): void => {
    const { int32Reach: below } = ir.limits;
    const isLarge = typeof size === "number" ? size >= below : !isComputed(ir, size);
    if (isLarge && !preconditionOf.has(size)) preconditionOf.set(size, { kind: "count", size, by, below });
  };
  for (const size of descriptorSizes(ir)) if (!isIn(dense, size)) add(size, "descriptor");
  for (const [size, use] of ir.counted?.sizes ?? []) if (!isIn(use === "index" ? dense : any, size)) add(size, "index");
  return [...preconditionOf.values()];
}

const isIn = (sizes: ReadonlySet<unknown>, size: Value | number): boolean => sizes.has(size);

/** True if the config sets a size or the launch computes it. It is then at most the size of a tile. */
function isComputed(ir: KernelIR, size: Value): boolean {
  return paramsOf(ir, "constexpr").some(({ value, from }) => value === size && from !== "dim" && from !== "argument");
}

/** Tensors with the strides of an earlier one. */
export function sharedStrides(ir: KernelIR): readonly { readonly param: TensorParam; readonly as: TensorParam }[] {
  const tensors = paramsOf(ir, "tensor").filter(({ contiguous, strides }) => !contiguous && strides.length > 0);
  return tensors.flatMap((param, i) => {
    const as = tensors.slice(0, i).find(({ strides }) => strides[0] === param.strides[0]);
    return as ? [{ param, as }] : [];
  });
}

/**
 * The extent of a tensor in elements for these strides. The extent of a contiguous tensor is its number of elements.
 */
export function extentOf({ contiguous }: TensorParam, shape: readonly number[], strides: readonly number[]): number {
  if (contiguous || shape.length === 0) return shape.reduce((product, size) => product * size, 1);
  return shape.reduce((sum, size, axis) => sum + (size - 1) * atAxis(strides, axis), 0);
}

/** The preconditions of one kind. */
export function preconditionsOf<Kind extends Precondition["kind"]>(
  ir: KernelIR,
  kind: Kind,
): readonly PreconditionOf<Kind>[] {
  return preconditions(ir).filter((each): each is PreconditionOf<Kind> => each.kind === kind);
}

/** Names of the tensors that a launch may reject because of their strides, independent of their shape. */
export function strictTensors(ir: KernelIR): ReadonlySet<string> {
  const params = preconditions(ir).flatMap((each) => {
    if (each.kind === "contiguous" || each.kind === "descriptor") return [each.param];
    return each.kind === "same-strides" ? [each.param, each.as] : [];
  });
  return new Set(params.map(({ name }) => name));
}

// The computed tile dims that are not provably powers of two. The wrapper checks them.

function dimsNotKnownPowerOfTwo(ir: KernelIR, computed: readonly ConstexprParam[]): readonly ConstexprParam[] {
  const dimensions = tileDims(ir);
  const candidates = computed.filter(({ name }) => dimensions.has(name));
  if (candidates.length === 0) return [];
  const powers = new PowerOfTwoAnalysis(ir);
  return candidates.filter(({ compute }) => compute && !powers.isPower(valueOfBlock(compute)));
}

class PowerOfTwoAnalysis {
  readonly #facts: LaunchFacts;
  /** Sizes that are positive at each launch, because otherwise all outputs are empty and the kernel is not launched. */
  readonly #nonempty: ReadonlySet<unknown>;
  readonly #powers = new Map<Argument, boolean>();
  readonly #positive = new Map<Argument, boolean>();

  constructor(ir: KernelIR) {
    this.#facts = new LaunchFacts(ir);
    const [first, ...others] = paramsOf(ir, "tensor").filter(({ role }) => role !== "in");
    this.#nonempty = new Set(first?.dims.filter((dim) => others.every(({ dims }) => dims.includes(dim))));
  }

  /** True for a power of two that is at least 1. */
  isPower(x: Argument): boolean {
    return memoize(this.#powers, x, () => this.#isPower(x));
  }

  #isPower(x: Argument): boolean {
    const constants = this.#facts.integers.constants(x);
    if (constants) return constants.every(isPower);
    const definition = this.#facts.integers.definitionOf(x);
    if (definition?.kind !== "op" || !definition.op.facts.powerOfTwo) return false;
    const operands = definition.operands.filter((each) => each !== undefined);
    return definition.op.facts.powerOfTwo(
      operands.map((each) => this.isPower(each)),
      operands.map((each) => this.#isPositive(each)),
    );
  }

  #isPositive(x: Argument): boolean {
    return memoize(this.#positive, x, () => this.#derivesPositive(x));
  }

  #derivesPositive(x: Argument): boolean {
    if (this.#nonempty.has(x) || this.#facts.isAtLeast(x, 1)) return true;
    const definition = this.#facts.integers.definitionOf(x);
    if (definition?.kind === "op" && definition.op.facts.positive)
      return definition.op.facts.positive(
        definition.operands.flatMap((each) => (each === undefined ? [] : this.#isPositive(each))),
      );
    return !isLiteral(x) && this.isPower(x);
  }
}

// Uses of Triton features that the oldest supported version, 3.6, lacks.

interface VersionedFeatureUse {
  /** Triton's name, such as `tl.atomic_load`. */
  readonly name: string;
  readonly at: Location | undefined;
}

/** Every use of a feature that requires Triton 3.9, in program order. */
export function usesOfTriton39(ir: KernelIR): readonly VersionedFeatureUse[] {
  const uses: VersionedFeatureUse[] = [];
  walkAll(ir, (statement) => {
    if (statement.kind !== "op" || !statement.op.needs.needsTriton39?.(typedArguments(statement))) return;
    const { name, spelling } = statement.op;
    uses.push({ name: spelling.form === "call" ? spelling.name : name, at: statement.location });
  });
  return uses;
}
