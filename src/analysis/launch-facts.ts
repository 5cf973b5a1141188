/**
 * Facts that every launch checks or computes: the author's requirements, and the grid. A `tl.assume` is not a fact,
 * because the GPU does not check it.
 */
import {
  type Argument,
  isLiteral,
  type KernelIR,
  paramsOf,
  type SizeParam,
  type TensorParam,
  tensorsOf,
} from "../ir/nodes.js";
import type { IntegerSemantics } from "../symbolic/term.js";
import { tileSizes } from "./dtype-bindings.js";
import { Integers } from "./integers.js";

/** `smaller <= larger`, or `smaller < larger` if strict. */
interface Order {
  readonly smaller: Argument;
  readonly larger: Argument;
  readonly isStrict: boolean;
}

export class LaunchFacts {
  readonly integers: Integers;
  readonly #orders: Order[] = [];
  /** The minimum of each tile size that a caller passes. */
  readonly #minimums = new Map<Argument, number>();
  /** The known divisors of each number, by its text. */
  readonly #divisors = new Map<string, Argument[]>();

  constructor(readonly ir: KernelIR) {
    this.integers = new Integers(ir);
    for (const { param, least } of tileSizes(ir)) this.#minimums.set(param.value, least);
    const visited = new Set<Argument>();
    for (const condition of ir.requires.block.yields) this.#recordCondition(condition, visited);
  }

  /** The number of programs along each axis of the grid. */
  get programs(): readonly Argument[] {
    return this.ir.grid.block.yields;
  }

  /** True if a number is provably at least this. */
  isAtLeast(x: Argument, minimum: number): boolean {
    const constants = this.integers.constants(x);
    if (constants) return constants.every((each) => each >= minimum);
    if ((this.#minimums.get(x) ?? -Infinity) >= minimum) return true;
    const text = this.integers.text(x);
    return this.#orders.some(({ smaller, larger, isStrict }) => {
      if (this.integers.text(larger) !== text) return false;
      return this.#minimumOf(smaller) + (isStrict ? 1 : 0) >= minimum;
    });
  }

  /** True if one number is provably at most another. */
  isAtMost(x: Argument, limit: Argument): boolean {
    const constants = this.integers.constantsOfAll([x, limit]);
    if (constants) return constants.every(([lower, upper]) => lower <= upper);
    const [low, high] = [this.integers.text(x), this.integers.text(limit)];
    return (
      low === high ||
      this.#orders.some(
        ({ smaller, larger }) => this.integers.text(smaller) === low && this.integers.text(larger) === high,
      )
    );
  }

  /** A number, and the numbers that the launch requires to be at most as large. */
  lowerBoundsOf(x: Argument): readonly Argument[] {
    const text = this.integers.text(x);
    return [
      x,
      ...this.#orders.flatMap(({ smaller, larger }) => (this.integers.text(larger) === text ? [smaller] : [])),
    ];
  }

  /** The numbers that the launch requires to be at least as large. */
  upperBoundsOf(x: Argument): readonly Argument[] {
    const text = this.integers.text(x);
    return this.#orders.flatMap(({ smaller, larger }) => (this.integers.text(smaller) === text ? [larger] : []));
  }

  /** The numbers that the launch requires to divide `x`. */
  divisors(x: Argument): readonly Argument[] {
    return this.#divisors.get(this.integers.text(x)) ?? [];
  }

  #minimumOf(x: Argument): number {
    return Math.min(...(this.integers.constants(x) ?? [-Infinity]));
  }

  #recordCondition(condition: Argument, visited: Set<Argument>): void {
    if (visited.has(condition)) return;
    visited.add(condition);
    const arithmetic = this.integers.arithmetic(condition);
    if (!arithmetic) return;
    const [x, y] = arithmetic.operands;
    if (arithmetic.semantics === "both") arithmetic.operands.forEach((each) => this.#recordCondition(each, visited));
    else if (x !== undefined && y !== undefined) this.#recordComparison(arithmetic.semantics, x, y);
  }

  #recordComparison(semantics: IntegerSemantics, x: Argument, y: Argument): void {
    const addOrder = (smaller: Argument, larger: Argument, isStrict: boolean) =>
      this.#orders.push({ smaller, larger, isStrict });
    if (semantics === "below" || semantics === "at most") addOrder(x, y, semantics === "below");
    if (semantics === "above" || semantics === "at least") addOrder(y, x, semantics === "above");
    if (semantics !== "equal") return;
    addOrder(x, y, false);
    addOrder(y, x, false);
    for (const [side, opposite] of [[x, y] as const, [y, x] as const]) this.#recordEquation(side, opposite);
  }

  /** `K % BLOCK_K == 0`, and `K == n * BLOCK_K`. */
  #recordEquation(side: Argument, opposite: Argument): void {
    const { semantics, operands = [] } = this.integers.arithmetic(side) ?? {};
    const [x, y] = operands;
    if (x === undefined || y === undefined) return;
    if (semantics === "remainder" && isLiteral(opposite) && Number(opposite.value) === 0) this.#addDivisor(x, y);
    if (semantics === "product") for (const factor of operands) this.#addDivisor(opposite, factor);
  }

  #addDivisor(x: Argument, divisor: Argument): void {
    const text = this.integers.text(x);
    this.#divisors.set(text, [...(this.#divisors.get(text) ?? []), divisor]);
  }
}

// Sizes that only optional inputs have. The first input that is present determines the size. If all are absent, it is
// 0.

interface OptionalSize {
  readonly param: SizeParam;
  /** The inputs that have the size, in the author's order, each with the first axis of that size. */
  readonly holders: readonly { readonly tensor: TensorParam; readonly axis: number }[];
}

/** The sizes of optional inputs only. A required output with the size needs it in advance, so the caller passes it. */
export function optionalSizes(ir: Pick<KernelIR, "params">): readonly OptionalSize[] {
  const required = paramsOf(ir, "tensor").filter(({ optional }) => !optional);
  const inputs = tensorsOf(ir, "in", "inout");
  return paramsOf(ir, "size").flatMap((param) => {
    if (param.derived || required.some(({ dimNames }) => dimNames.includes(param.name))) return [];
    const holders = inputs.flatMap((tensor) => {
      const axis = tensor.dimNames.indexOf(param.name);
      return axis < 0 ? [] : [{ tensor, axis }];
    });
    return holders.length > 0 ? [{ param, holders }] : [];
  });
}

/** The sizes that are 0 because every input that has them is absent. */
export function sizesWithoutTensor(ir: Pick<KernelIR, "params">, absent: readonly string[]): readonly string[] {
  if (absent.length === 0) return [];
  return optionalSizes(ir)
    .filter(({ holders }) => holders.every(({ tensor }) => absent.includes(tensor.name)))
    .map(({ param }) => param.name);
}
