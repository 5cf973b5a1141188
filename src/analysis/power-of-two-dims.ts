/** The computed tile dims that are not provably powers of two. The wrapper checks them. */
import { type Argument, type ConstexprParam, isLiteral, type KernelIR, paramsOf } from "../ir/nodes.js";
import { valueOfBlock } from "../ir/walk.js";
import { isPower } from "../types/dims.js";
import { memoize } from "./integers.js";
import { LaunchFacts } from "./launch-facts.js";
import { tileDims } from "./tile-sizes.js";

export function dimsNotKnownPowerOfTwo(ir: KernelIR, computed: readonly ConstexprParam[]): readonly ConstexprParam[] {
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
