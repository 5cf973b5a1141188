/**
 * Finds indices that are provably below the end of an axis, by fixed rules about loops, the grid and the launch's
 * requirements. A view does not compare such an index with the axis size.
 */
import { type Argument, isLiteral, isValue, type OpStatement, type KernelIR } from "../ir/nodes.js";
import { type IntegerOp, type Factors, type Integers, canonicalText } from "./integers.js";
import { LaunchFacts } from "./launch-facts.js";
import { isAxisMasked } from "../values/addresses.js";
import { nonNegativeValues } from "./signs.js";

type Sign = (argument: Argument) => boolean;

/**
 * The product of the factors. `size` is set if it is a kernel argument, because requirements may give further facts
 * about it.
 */
interface Bound {
  readonly factors: Factors;
  readonly size?: Argument;
}

/** Limit on the steps of one proof, because nested products have exponentially many factorizations. */
const MAX_STEPS = 1_000;

/** An upper limit from an explicit mask: in every active lane, these lanes of the same axis are below the limit. */
export interface LaneLimit {
  readonly lanes: Argument;
  readonly limit: Argument;
}

class InBoundsAnalysis {
  readonly #facts: LaunchFacts;
  readonly #integers: Integers;
  readonly #isNonNegative: Sign;
  /** Texts of numbers that are positive in every program, because the grid size is a multiple of them. */
  readonly #positive = new Set<string>();
  #steps = 0;

  constructor(facts: LaunchFacts, isNonNegative: Sign) {
    this.#facts = facts;
    this.#integers = facts.integers;
    this.#isNonNegative = isNonNegative;
    facts.programs.forEach((size) => this.#recordPositive(size));
  }

  /**
   * True if an index is below the size of its axis in all lanes, or in all lanes that the limits keep active. Assumes
   * that the index is non-negative.
   */
  isBelow(index: Argument, size: Argument, limits: readonly LaneLimit[] = []): boolean {
    this.#steps = 0;
    if (limits.some(({ lanes, limit }) => this.#isSame(lanes, index) && this.#facts.isAtMost(limit, size))) return true;
    const { base, count } = this.#lanes(index) ?? {};
    if (count === undefined) return this.#isLess(index, this.#bound(size));
    const laneLimits = limits.filter(({ lanes }) => this.#isSame(this.#count(lanes), count));
    return [count, ...laneLimits.map(({ limit }) => limit)].some((each) => this.#isBlockBelow(base, each, size));
  }

  /** The same property of `base + lanes`, where the lanes are 0 to `count - 1`. */
  #isBlockBelow(base: Argument | undefined, count: Argument, size: Argument): boolean {
    if (base === undefined)
      return this.#facts.isAtMost(count, size) || (this.#divides(count, size) && this.#isPositive(size));
    if (this.#isFullBlock(base, count, size)) return true;
    return this.#divides(count, base) && this.#divides(count, size) && this.#isLess(base, this.#bound(size));
  }

  #isSame(x: Argument | undefined, y: Argument): boolean {
    return x !== undefined && this.#integers.text(x) === this.#integers.text(y);
  }

  /** Matches `base + tl.arange(0, count)`. The base is a scalar or missing. */
  #lanes(index: Argument): { readonly base?: Argument; readonly count: Argument } | undefined {
    const count = this.#count(index);
    if (count !== undefined) return { count };
    const arithmetic = this.#integers.arithmetic(index);
    const [x, y] = arithmetic?.semantics === "sum" ? arithmetic.operands : [];
    if (x === undefined || y === undefined) return undefined;
    for (const [base, lanes] of [[x, y] as const, [y, x] as const]) {
      const laneCount = this.#count(lanes);
      if (laneCount !== undefined && isScalar(base)) return { base, count: laneCount };
    }
    return undefined;
  }

  #count(lanes: Argument): Argument | undefined {
    const definition = this.#integers.definitionOf(lanes);
    return definition?.kind === "op" ? definition.op.facts.exclusiveUpperBound?.(definition.operands) : undefined;
  }

  /**
   * True for `i * count` if `i` is less than the number of whole blocks that the axis contains. The block is then in
   * bounds.
   */
  #isFullBlock(base: Argument, count: Argument, size: Argument): boolean {
    const arithmetic = this.#integers.arithmetic(base);
    if (arithmetic?.semantics !== "product") return false;
    const [x, y] = arithmetic.operands as readonly [Argument, Argument];
    const isInWholeBlock = (i: Argument, block: Argument) =>
      this.#isSame(block, count) && this.#wholeBlocks(count, size).some((bound) => this.#isLess(i, bound));
    return isInWholeBlock(x, y) || isInWholeBlock(y, x);
  }

  /**
   * The numbers of whole blocks on an axis: `size // count`, and `n` if the size is required to be at least `n *
   * count`.
   */
  #wholeBlocks(count: Argument, size: Argument): readonly Bound[] {
    const block = this.#integers.text(count);
    const required = this.#facts.lowerBoundsOf(size).flatMap((product) => {
      const factors = [...this.#integers.factors(product)];
      const index = factors.indexOf(block);
      if (index >= 0) factors.splice(index, 1);
      return index >= 0 && factors.length > 0 ? [{ factors }] : [];
    });
    return [{ factors: [canonicalText("quotient", this.#integers.text(size), block)] }, ...required];
  }

  /** True if a number is provably below the bound. Assumes that it is non-negative. */
  #isLess(x: Argument, bound: Bound): boolean {
    if (this.#isOutOfSteps()) return false;
    if (isLiteral(x)) return this.#isAbove(bound, Number(x.value));
    const definition = this.#integers.definitionOf(x);
    if (definition?.kind === "for")
      return this.#isNonNegative(definition.step) && this.#isWithin(definition.end, bound);
    if (definition?.kind === "op" && definition.op.facts.queries === "program")
      return this.#isWithin(this.#programsOf(definition), bound);
    const arithmetic = this.#integers.arithmetic(x);
    return arithmetic !== undefined && this.#isComputedLess(arithmetic, bound);
  }

  #isComputedLess({ semantics, operands }: IntegerOp, bound: Bound): boolean {
    const [x, y] = operands as readonly [Argument, Argument];
    switch (semantics) {
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
      case "above":
      case "at least":
      case "at most":
      case "below":
      case "blocks":
      case "both":
      case "equal":
      case "sum":
        return false;
      default:
        return semantics satisfies never;
    }
  }

  /** `i * block < n` where `i < cdiv(n, block)` */
  #isBlockStart(i: Argument, block: Argument, { factors }: Bound): boolean {
    const blocks = canonicalText("blocks", factors.join("·"), this.#integers.text(block));
    return this.#isPositive(block) && this.#isLess(i, { factors: [blocks] });
  }

  /** True if a number is provably at most the bound. */
  #isWithin(x: Argument | undefined, bound: Bound): boolean {
    if (x === undefined || this.#isOutOfSteps()) return false;
    const factors = this.#integers.factors(x);
    if (factors.length === bound.factors.length && factors.every((each, i) => each === bound.factors[i])) return true;
    if (bound.size !== undefined && this.#facts.isAtMost(x, bound.size)) return true;
    const arithmetic = this.#integers.arithmetic(x);
    return arithmetic?.semantics === "least" && arithmetic.operands.some((each) => this.#isWithin(each, bound));
  }

  #isAbove({ size }: Bound, n: number): boolean {
    return size !== undefined && (this.#facts.isAtLeast(size, n + 1) || (n < 1 && this.#isPositive(size)));
  }

  /** True if `x` is provably a multiple of `count`. */
  #divides(count: Argument, x: Argument): boolean {
    if (this.#isOutOfSteps()) return false;
    const constants = this.#integers.constantsOfAll([count, x]);
    if (constants) return constants.every(([step, multiple]) => multiple % step === 0);
    if (this.#integers.text(x) === this.#integers.text(count)) return true;
    if (this.#facts.divisors(x).some((divisor) => this.#divides(count, divisor))) return true;
    const definition = this.#integers.definitionOf(x);
    if (definition?.kind === "for")
      return this.#divides(count, definition.start) && this.#divides(count, definition.step);
    const { semantics, operands = [] } = this.#integers.arithmetic(x) ?? {};
    if (semantics === "product") return operands.some((each) => this.#divides(count, each));
    return (semantics === "sum" || semantics === "difference") && operands.every((each) => this.#divides(count, each));
  }

  #isPositive(x: Argument): boolean {
    if (this.#isOutOfSteps()) return false;
    if (this.#facts.isAtLeast(x, 1) || this.#positive.has(this.#integers.text(x))) return true;
    const { semantics, operands = [] } = this.#integers.arithmetic(x) ?? {};
    const isSafe = semantics === "product" || semantics === "blocks" || semantics === "least";
    return isSafe && operands.every((each) => this.#isPositive(each));
  }

  /**
   * Records factors that are positive because this number is: a program only runs if each axis of the grid is positive.
   */
  #recordPositive(x: Argument): void {
    const text = this.#integers.text(x);
    if (this.#positive.has(text)) return;
    this.#positive.add(text);
    const { semantics, operands = [] } = this.#integers.arithmetic(x) ?? {};
    const isProduct =
      (semantics === "product" || semantics === "blocks") && operands.every((each) => this.#isNonNegative(each));
    if (semantics === "least" || isProduct) for (const operand of operands) this.#recordPositive(operand);
  }

  /** True if the step limit is reached. Everything else then counts as unproved. */
  #isOutOfSteps(): boolean {
    return ++this.#steps > MAX_STEPS;
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

// The mask of a view: the bounds that each index is compared with. The evaluator masks every lane that is out of bounds
// on an axis with `masksAxis`. The emitted code omits comparisons that are provably true.

/** The comparisons that keep an index in bounds. */
export interface BoundsChecks {
  /** `index >= 0` */
  readonly lower: boolean;
  /** `index < size` */
  readonly upper: boolean;
}

const NO_CHECKS: BoundsChecks = { lower: false, upper: false };

/** An axis of a view: its index, and the tensor axis with its size `dim`. */
export interface ViewAxis {
  readonly index: Argument;
  readonly dim: Argument;
  readonly axis: number;
  readonly claimed: readonly boolean[];
  /** Limits from the access's mask. Undefined if the query is about the view alone. */
  readonly limits?: readonly LaneLimit[];
}

/** Returns the comparisons that a view of this kernel needs on an axis. */
export function viewBounds(ir: KernelIR): (viewAxis: ViewAxis) => BoundsChecks {
  const facts = new LaunchFacts(ir);
  const isNonNegative = nonNegativeValues(ir, facts);
  const inBounds = new InBoundsAnalysis(facts, isNonNegative);
  return ({ index, dim, axis, claimed, limits }) => {
    if (!isAxisMasked(claimed, axis)) return NO_CHECKS;
    return { lower: !isNonNegative(index), upper: !inBounds.isBelow(index, dim, limits) };
  };
}
