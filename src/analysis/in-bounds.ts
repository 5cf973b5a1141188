/**
 * Finds indices that certainly lie before the end of an axis, by fixed rules over loops, the grid and what a launch
 * requires. A view does not compare such an index with the axis' size.
 */
import { type Argument, isLiteral, isValue, type OpStatement } from "../ir/nodes.js";
import { type IntegerOp, type Factors, type Integers, canonicalText } from "./integers.js";
import type { LaunchFacts } from "./launch-facts.js";

type Sign = (argument: Argument) => boolean;

/** The product of the factors; `size` where it is an argument of the program, about which requirements may say more. */
interface Bound {
  readonly factors: Factors;
  readonly size?: Argument;
}

/** Steps that are taken to show something of one index: products of products can be looked at in very many ways. */
const MOST_STEPS = 1_000;

/** In every lane that an access leaves, these lanes of the same axis are below the limit: the author's mask says it. */
export interface LaneLimit {
  readonly lanes: Argument;
  readonly limit: Argument;
}

export class InBoundsAnalysis {
  readonly #facts: LaunchFacts;
  readonly #integers: Integers;
  readonly #isNonNegative: Sign;
  /** Texts of numbers that are above 0 in every program, because the number of programs is a product with them. */
  readonly #positive = new Set<string>();
  #steps = 0;

  constructor(facts: LaunchFacts, isNonNegative: Sign) {
    this.#facts = facts;
    this.#integers = facts.integers;
    this.#isNonNegative = isNonNegative;
    facts.programs.forEach((axis) => this.#noteRunning(axis));
  }

  /**
   * Whether an index, where it is not negative, is below the size of its axis in all its lanes, or in those alone that the
   * limits leave.
   */
  isBelow(index: Argument, size: Argument, limits: readonly LaneLimit[] = []): boolean {
    this.#steps = 0;
    if (limits.some(({ lanes, limit }) => this.#isSame(lanes, index) && this.#facts.isAtMost(limit, size))) return true;
    const { base, count } = this.#lanes(index) ?? {};
    if (count === undefined) return this.#isLess(index, this.#bound(size));
    const left = limits.filter(({ lanes }) => this.#isSame(this.#count(lanes), count));
    return [count, ...left.map(({ limit }) => limit)].some((each) => this.#isBlockBelow(base, each, size));
  }

  /** The same of `base + lanes`, whose lanes are from 0 to before `count`. */
  #isBlockBelow(base: Argument | undefined, count: Argument, size: Argument): boolean {
    if (base === undefined)
      return this.#facts.isAtMost(count, size) || (this.#divides(count, size) && this.#isPositive(size));
    if (this.#isFullBlock(base, count, size)) return true;
    return this.#divides(count, base) && this.#divides(count, size) && this.#isLess(base, this.#bound(size));
  }

  #isSame(x: Argument | undefined, y: Argument): boolean {
    return x !== undefined && this.#integers.text(x) === this.#integers.text(y);
  }

  /** `base + tl.arange(0, count)`; the base is a scalar, or nothing. */
  #lanes(index: Argument): { readonly base?: Argument; readonly count: Argument } | undefined {
    const count = this.#count(index);
    if (count !== undefined) return { count };
    const made = this.#integers.arithmetic(index);
    const [x, y] = made?.means === "sum" ? made.operands : [];
    if (x === undefined || y === undefined) return undefined;
    for (const [base, lanes] of [[x, y] as const, [y, x] as const]) {
      const counted = this.#count(lanes);
      if (counted !== undefined && isScalar(base)) return { base, count: counted };
    }
    return undefined;
  }

  #count(lanes: Argument): Argument | undefined {
    const made = this.#integers.made(lanes);
    return made?.kind === "op" ? made.op.facts.exclusiveUpperBound?.(made.operands) : undefined;
  }

  /** `i * count` where i is below as many blocks as the axis certainly holds: the whole block lies in it. */
  #isFullBlock(base: Argument, count: Argument, size: Argument): boolean {
    const made = this.#integers.arithmetic(base);
    if (made?.means !== "product") return false;
    const [x, y] = made.operands as readonly [Argument, Argument];
    const isOf = (i: Argument, block: Argument) =>
      this.#isSame(block, count) && this.#wholeBlocks(count, size).some((bound) => this.#isLess(i, bound));
    return isOf(x, y) || isOf(y, x);
  }

  /** Numbers of blocks that an axis holds: `size // count`, and n where the size is required to be `n * count` or more. */
  #wholeBlocks(count: Argument, size: Argument): readonly Bound[] {
    const block = this.#integers.text(count);
    const required = this.#facts.noMoreThan(size).flatMap((product) => {
      const factors = [...this.#integers.factors(product)];
      const at = factors.indexOf(block);
      if (at >= 0) factors.splice(at, 1);
      return at >= 0 && factors.length > 0 ? [{ factors }] : [];
    });
    return [{ factors: [canonicalText("quotient", this.#integers.text(size), block)] }, ...required];
  }

  /** Whether a number, where it is not negative, is certainly below the bound. */
  #isLess(x: Argument, bound: Bound): boolean {
    if (this.#isSpent()) return false;
    if (isLiteral(x)) return this.#isAbove(bound, Number(x.value));
    const made = this.#integers.made(x);
    if (made?.kind === "for") return this.#isNonNegative(made.step) && this.#isWithin(made.end, bound);
    if (made?.kind === "op" && made.op.facts.queries === "program")
      return this.#isWithin(this.#programsOf(made), bound);
    const arithmetic = this.#integers.arithmetic(x);
    return arithmetic !== undefined && this.#isComputedLess(arithmetic, bound);
  }

  #isComputedLess({ means, operands }: IntegerOp, bound: Bound): boolean {
    const [x, y] = operands as readonly [Argument, Argument];
    switch (means) {
      case "remainder":
        return this.#isNonNegative(x) && this.#isPositive(y) && this.#isWithin(y, bound);
      // x // y < n where x < n * y
      case "quotient": {
        const product = [...bound.factors, ...this.#integers.factors(y)].sort();
        return this.#isNonNegative(x) && this.#isPositive(y) && this.#isLess(x, { factors: product });
      }
      case "least":
        return operands.some((each) => this.#isLess(each, bound));
      case "difference":
        return this.#isPositive(y) && this.#isWithin(x, bound);
      case "product":
        return this.#isBlockStart(x, y, bound) || this.#isBlockStart(y, x, bound);
      default:
        return false;
    }
  }

  /** `i * block < n` where `i < cdiv(n, block)` */
  #isBlockStart(i: Argument, block: Argument, { factors }: Bound): boolean {
    const blocks = canonicalText("blocks", factors.join("·"), this.#integers.text(block));
    return this.#isPositive(block) && this.#isLess(i, { factors: [blocks] });
  }

  /** Whether a number is certainly no more than the bound. */
  #isWithin(x: Argument | undefined, bound: Bound): boolean {
    if (x === undefined || this.#isSpent()) return false;
    const factors = this.#integers.factors(x);
    if (factors.length === bound.factors.length && factors.every((each, i) => each === bound.factors[i])) return true;
    if (bound.size !== undefined && this.#facts.isAtMost(x, bound.size)) return true;
    const made = this.#integers.arithmetic(x);
    return made?.means === "least" && made.operands.some((each) => this.#isWithin(each, bound));
  }

  #isAbove({ size }: Bound, n: number): boolean {
    return size !== undefined && (this.#facts.isAtLeast(size, n + 1) || (n < 1 && this.#isPositive(size)));
  }

  /** Whether `x` is certainly a multiple of `count`. */
  #divides(count: Argument, x: Argument): boolean {
    if (this.#isSpent()) return false;
    const [step, known] = [this.#integers.constants(count), this.#integers.constants(x)];
    if (step && known) return known.every((each, config) => each % step[config]! === 0);
    if (this.#integers.text(x) === this.#integers.text(count)) return true;
    if (this.#facts.divisors(x).some((divisor) => this.#divides(count, divisor))) return true;
    const made = this.#integers.made(x);
    if (made?.kind === "for") return this.#divides(count, made.start) && this.#divides(count, made.step);
    const { means, operands = [] } = this.#integers.arithmetic(x) ?? {};
    if (means === "product") return operands.some((each) => this.#divides(count, each));
    return (means === "sum" || means === "difference") && operands.every((each) => this.#divides(count, each));
  }

  #isPositive(x: Argument): boolean {
    if (this.#isSpent()) return false;
    if (this.#facts.isAtLeast(x, 1) || this.#positive.has(this.#integers.text(x))) return true;
    const { means, operands = [] } = this.#integers.arithmetic(x) ?? {};
    const isSafe = means === "product" || means === "blocks" || means === "least";
    return isSafe && operands.every((each) => this.#isPositive(each));
  }

  /** Notes what is above 0 because this is: a program runs only where each axis of the grid has one. */
  #noteRunning(x: Argument): void {
    const text = this.#integers.text(x);
    if (this.#positive.has(text)) return;
    this.#positive.add(text);
    const { means, operands = [] } = this.#integers.arithmetic(x) ?? {};
    const isProduct =
      (means === "product" || means === "blocks") && operands.every((each) => this.#isNonNegative(each));
    if (means === "least" || isProduct) for (const each of operands) this.#noteRunning(each);
  }

  /** Whether no step is left. What is then not shown does not count as shown. */
  #isSpent(): boolean {
    return ++this.#steps > MOST_STEPS;
  }

  #programsOf({ operands: [axis] }: OpStatement): Argument | undefined {
    return isLiteral(axis) ? this.#facts.programs[Number(axis.value)] : undefined;
  }

  #bound(size: Argument): Bound {
    return { factors: this.#integers.factors(size), size };
  }
}

function isScalar(base: Argument): boolean {
  return isLiteral(base) || (isValue(base) && (base.type.kind !== "tile" || base.type.shape.length === 0));
}
