/**
 * What every launch has checked or computed: the author's requirements, and how many programs there are. A `tl.assume` is
 * none of it: nothing checks one on a GPU.
 */
import { type Argument, isLiteral, type KernelIR } from "../ir/nodes.js";
import type { IntegerSemantics } from "../symbolic/integer-semantics.js";
import { tileSizes } from "./tile-sizes.js";
import { Integers } from "./integers.js";

/** `x` is not above `most`, or below it. */
interface Order {
  readonly less: Argument;
  readonly more: Argument;
  readonly isStrict: boolean;
}

export class LaunchFacts {
  readonly integers: Integers;
  readonly #orders: Order[] = [];
  /** The smallest sizes of tiles that a caller passes. */
  readonly #least = new Map<Argument, number>();
  /** By the text of a number: what it is a multiple of. */
  readonly #multiples = new Map<string, Argument[]>();

  constructor(readonly ir: KernelIR) {
    this.integers = new Integers(ir);
    for (const { param, least } of tileSizes(ir)) this.#least.set(param.value, least);
    const noted = new Set<Argument>();
    for (const condition of ir.requires.block.yields) this.#note(condition, noted);
  }

  /** How many programs there are along each axis of the grid. */
  get programs(): readonly Argument[] {
    return this.ir.grid.block.yields;
  }

  /** Whether a number is certainly no less than this. */
  isAtLeast(x: Argument, least: number): boolean {
    const known = this.integers.constants(x);
    if (known) return known.every((each) => each >= least);
    if ((this.#least.get(x) ?? -Infinity) >= least) return true;
    const text = this.integers.text(x);
    return this.#orders.some(({ less, more, isStrict }) => {
      if (this.integers.text(more) !== text) return false;
      return this.#lowest(less) + (isStrict ? 1 : 0) >= least;
    });
  }

  /** Whether one number is certainly no more than another. */
  isAtMost(x: Argument, most: Argument): boolean {
    const [lower, upper] = [this.integers.constants(x), this.integers.constants(most)];
    if (lower && upper) return lower.every((each, config) => each <= upper[config]!);
    const [low, high] = [this.integers.text(x), this.integers.text(most)];
    return (
      low === high ||
      this.#orders.some(({ less, more }) => this.integers.text(less) === low && this.integers.text(more) === high)
    );
  }

  /** A number, and what the launch requires to be no more than it. */
  noMoreThan(x: Argument): readonly Argument[] {
    const text = this.integers.text(x);
    return [x, ...this.#orders.flatMap(({ less, more }) => (this.integers.text(more) === text ? [less] : []))];
  }

  /** The numbers that the launch requires `x` to be a multiple of. */
  divisors(x: Argument): readonly Argument[] {
    return this.#multiples.get(this.integers.text(x)) ?? [];
  }

  #lowest(x: Argument): number {
    return Math.min(...(this.integers.constants(x) ?? [-Infinity]));
  }

  #note(condition: Argument, noted: Set<Argument>): void {
    if (noted.has(condition)) return;
    noted.add(condition);
    const made = this.integers.arithmetic(condition);
    if (!made) return;
    const [x, y] = made.operands;
    if (made.means === "both") made.operands.forEach((each) => this.#note(each, noted));
    else if (x !== undefined && y !== undefined) this.#compare(made.means, x, y);
  }

  #compare(means: IntegerSemantics, x: Argument, y: Argument): void {
    const order = (less: Argument, more: Argument, isStrict: boolean) => this.#orders.push({ less, more, isStrict });
    if (means === "below" || means === "at most") order(x, y, means === "below");
    if (means === "above" || means === "at least") order(y, x, means === "above");
    if (means !== "equal") return;
    order(x, y, false);
    order(y, x, false);
    for (const [side, other] of [[x, y] as const, [y, x] as const]) this.#divide(side, other);
  }

  /** `K % BLOCK_K == 0`, and `K == n * BLOCK_K`. */
  #divide(side: Argument, other: Argument): void {
    const made = this.integers.arithmetic(side);
    const [x, y] = made?.operands ?? [];
    if (x === undefined || y === undefined) return;
    if (made!.means === "remainder" && isLiteral(other) && Number(other.value) === 0) this.#multiple(x, y);
    if (made!.means === "product") for (const each of made!.operands) this.#multiple(other, each);
  }

  #multiple(x: Argument, of: Argument): void {
    const text = this.integers.text(x);
    this.#multiples.set(text, [...(this.#multiples.get(text) ?? []), of]);
  }
}
