/** The axes along which a grid may have more programs than a GPU launches, by the largest sizes of a launch. */
import {
  type Argument,
  isValue,
  type KernelIR,
  type Param,
  paramsOf,
  type TensorParam,
  type Value,
} from "../ir/nodes.js";
import { atAxis } from "../types/dims.js";
import { type DTypeName, dtypeTable, members } from "../types/dtype.js";
import { LaunchFacts, optionalSizes } from "./launch-facts.js";
import { nonNegativeValues } from "./signs.js";

/** Sizes that other checks of the wrapper bound. */
export interface BoundedSizes {
  /** Tensors whose extent is below `int32Reach`. */
  readonly tensors: readonly TensorParam[];
  /** Sizes below it. */
  readonly sizes: ReadonlySet<unknown>;
}

/** Larger than any property of a GPU. */
const MAX_PROPERTY = 2 ** 20;

/** A tensor whose elements are distinct, so that the product of its dims is bounded. */
interface Shape {
  readonly dims: readonly Argument[];
  readonly maximum: number;
}

/** A factor `size`, or `cdiv(size, divisor)`. */
interface SizeFactor {
  readonly size: Value;
  readonly divisor: number;
}

/** The axes that need a check. `bounded` is what the wrapper checks in any case. */
export function longGridAxes(ir: KernelIR, bounded: BoundedSizes): readonly number[] {
  const sizes = new LargestSizes(ir, bounded);
  return ir.grid.block.yields.flatMap((size, axis) =>
    sizes.maximum(size) > atAxis(ir.limits.maxGrid, axis) ? [axis] : [],
  );
}

class LargestSizes {
  readonly #facts: LaunchFacts;
  readonly #isNonNegative: (argument: Argument) => boolean;
  readonly #shapes: readonly Shape[];

  constructor(
    readonly ir: KernelIR,
    readonly bounded: BoundedSizes,
  ) {
    this.#facts = new LaunchFacts(ir);
    this.#isNonNegative = nonNegativeValues(ir, this.#facts);
    this.#shapes = paramsOf(ir, "tensor").flatMap((param) => {
      const { dims, role, contiguous, optional } = param;
      if (optional || (role === "in" && !contiguous)) return [];
      return [{ dims, maximum: bounded.tensors.includes(param) ? ir.limits.int32Reach - 1 : ir.limits.maxOutput }];
    });
  }

  /** An upper bound of a number that the host computes. Infinity if none is known. */
  maximum(argument: Argument): number {
    const constants = this.#facts.integers.constants(argument);
    if (constants) return Math.max(...constants);
    const required = this.#facts.upperBoundsOf(argument).map((each) => this.#constantMaximum(each));
    const param = this.ir.params.find(({ value }) => value === argument);
    return Math.min(...required, param ? this.#paramMaximum(param) : Infinity, this.#resultMaximum(argument));
  }

  #constantMaximum(argument: Argument): number {
    return Math.max(...(this.#facts.integers.constants(argument) ?? [Infinity]));
  }

  #paramMaximum(param: Param): number {
    if (param.kind === "scalar") return Math.max(...members(param.dtype).map((name) => this.#dtypeMaximum(name)));
    if (param.kind === "device") return MAX_PROPERTY;
    if (param.kind !== "size" && !(param.kind === "constexpr" && param.from === "dim")) return Infinity;
    const shapes = this.#shapes.flatMap(({ dims, maximum }) => (dims.includes(param.value) ? [maximum] : []));
    const counted = this.bounded.sizes.has(param.value) ? this.ir.limits.int32Reach - 1 : Infinity;
    return Math.min(...shapes, counted, this.#isGiven(param.name) ? this.ir.limits.int32End - 1 : Infinity);
  }

  #dtypeMaximum(name: DTypeName): number {
    const { bits, kind, signed } = dtypeTable[name];
    if (name === "int32") return this.ir.limits.int32End - 1;
    return kind === "float" ? Infinity : 2 ** (signed ? bits - 1 : bits) - 1;
  }

  /** True if the caller passes a size as an argument, which the wrapper checks as int32. */
  #isGiven(name: string): boolean {
    const inputs = paramsOf(this.ir, "tensor").filter(({ role, optional }) => role !== "out" && !optional);
    const isBound = inputs.some(({ dimNames }) => dimNames.includes(name));
    return !isBound && !optionalSizes(this.ir).some(({ param }) => param.name === name);
  }

  #resultMaximum(argument: Argument): number {
    const { semantics, operands = [] } = this.#facts.integers.arithmetic(argument) ?? {};
    const [x, y] = operands;
    if (semantics === undefined || x === undefined || y === undefined) return Infinity;
    const isCount = operands.every((each) => this.#isNonNegative(each));
    switch (semantics) {
      case "sum":
        return this.maximum(x) + this.maximum(y);
      case "least":
        return Math.min(this.maximum(x), this.maximum(y));
      case "difference":
        return isCount ? this.maximum(x) : Infinity;
      case "quotient":
        return isCount ? Math.floor(this.maximum(x) / this.#divisorMinimum(y)) : Infinity;
      case "blocks":
        return isCount ? Math.ceil(this.maximum(x) / this.#divisorMinimum(y)) : Infinity;
      case "remainder":
        return isCount ? Math.min(this.maximum(x), this.maximum(y) - 1) : Infinity;
      case "product":
        return isCount ? this.#productMaximum(this.#factors(argument)) : Infinity;
      case "above":
      case "at least":
      case "at most":
      case "below":
      case "both":
      case "equal":
        return 1;
      default:
        return semantics satisfies never;
    }
  }

  /** A divisor that is not negative is at least 1. */
  #divisorMinimum(divisor: Argument): number {
    return Math.max(1, Math.min(...(this.#facts.integers.constants(divisor) ?? [1])));
  }

  #factors(argument: Argument): readonly Argument[] {
    const { semantics, operands = [] } = this.#facts.integers.arithmetic(argument) ?? {};
    return semantics === "product" ? operands.flatMap((each) => this.#factors(each)) : [argument];
  }

  /** An upper bound that considers which sizes are dims of the same tensor. */
  #productMaximum(factors: readonly Argument[]): number {
    const sizes: SizeFactor[] = [];
    const others: number[] = [];
    for (const factor of factors) {
      const size = this.#sizeFactor(factor);
      if (size) sizes.push(size);
      else others.push(this.maximum(factor));
    }
    const separate = factors.map((each) => this.maximum(each)).reduce(times, 1);
    const together = this.#shapes
      .filter(({ dims }) => areAmong(sizes, dims))
      .map(({ maximum }) => others.reduce(times, this.#roundedProduct(sizes, maximum)));
    return Math.min(separate, ...together);
  }

  #sizeFactor(argument: Argument): SizeFactor | undefined {
    if (isValue(argument) && this.ir.params.some(({ kind, value }) => kind === "size" && value === argument))
      return { size: argument, divisor: 1 };
    const { semantics, operands: [x, y] = [] } = this.#facts.integers.arithmetic(argument) ?? {};
    const isRounded = semantics === "blocks" && x !== undefined && y !== undefined;
    const factor = isRounded ? this.#sizeFactor(x) : undefined;
    return factor?.divisor === 1 ? { size: factor.size, divisor: this.#divisorMinimum(y as Argument) } : undefined;
  }

  /** The maximum of a product of `size / divisor + 1`, of sizes whose product has this maximum. */
  #roundedProduct(factors: readonly SizeFactor[], maximum: number): number {
    const [first, ...rest] = factors;
    if (!first) return 1;
    const sizes = Math.min(maximum, factors.map(({ size }) => this.maximum(size)).reduce(times, 1));
    const exact = sizes / factors.map(({ divisor }) => divisor).reduce(times, 1);
    const isExact = factors.every(({ divisor }) => divisor === 1);
    if (isExact || rest.length === 0) return Math.ceil(exact);
    // Rounding up adds at most 1 to each quotient, so that the other factors count once more without it.
    const without = factors.flatMap(({ divisor }, i) => (divisor > 1 ? [factors.toSpliced(i, 1)] : []));
    const sums = without.map((each) => this.#roundedProduct(each, maximum));
    return Math.min(
      sizes,
      sums.reduce((x, y) => x + y, Math.ceil(exact) + 1),
    );
  }
}

/** A product in which 0 times Infinity is 0. */
const times = (x: number, y: number): number => (x === 0 || y === 0 ? 0 : x * y);

/** True if these are distinct dims. */
function areAmong(factors: readonly SizeFactor[], dims: readonly Argument[]): boolean {
  const unused = [...dims];
  return factors.every(({ size }) => {
    const index = unused.indexOf(size);
    if (index >= 0) unused.splice(index, 1);
    return index >= 0;
  });
}
