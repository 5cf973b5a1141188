/** Which dimensions of tiles that a launch computes are certainly powers of two; the wrapper asks about the others. */
import { type Argument, type ConstexprParam, isLiteral, type KernelIR, paramsOf } from "../ir/nodes.js";
import { isPower } from "../types/dims.js";
import { memoize } from "./integers.js";
import { LaunchFacts } from "./launch-facts.js";
import { tileDims } from "./tile-sizes.js";

export function dimsNotKnownPowerOfTwo(ir: KernelIR, computed: readonly ConstexprParam[]): readonly ConstexprParam[] {
  const dimensions = tileDims(ir);
  const asked = computed.filter(({ name }) => dimensions.has(name));
  if (asked.length === 0) return [];
  const powers = new Powers(ir);
  return asked.filter(({ compute }) => !powers.isPower(compute!.block.yields[0]!));
}

class Powers {
  readonly #facts: LaunchFacts;
  /** Sizes that are positive where any output has elements, and so at each launch. */
  readonly #filled: ReadonlySet<unknown>;
  readonly #powers = new Map<Argument, boolean>();
  readonly #positive = new Map<Argument, boolean>();

  constructor(ir: KernelIR) {
    this.#facts = new LaunchFacts(ir);
    const [first, ...others] = paramsOf(ir, "tensor").filter(({ role }) => role !== "in");
    this.#filled = new Set(first?.dims.filter((dim) => others.every(({ dims }) => dims.includes(dim))));
  }

  /** A power of two from 1 up. */
  isPower(x: Argument): boolean {
    return memoize(this.#powers, x, () => this.#isPower(x));
  }

  #isPower(x: Argument): boolean {
    const known = this.#facts.integers.constants(x);
    if (known) return known.every(isPower);
    const made = this.#facts.integers.made(x);
    if (made?.kind !== "op" || !made.op.facts.powerOfTwo) return false;
    const operands = made.operands.filter((each) => each !== undefined);
    return made.op.facts.powerOfTwo(
      operands.map((each) => this.isPower(each)),
      operands.map((each) => this.#isPositive(each)),
    );
  }

  #isPositive(x: Argument): boolean {
    return memoize(this.#positive, x, () => this.#derivesPositive(x));
  }

  #derivesPositive(x: Argument): boolean {
    if (this.#filled.has(x) || this.#facts.isAtLeast(x, 1)) return true;
    const made = this.#facts.integers.made(x);
    if (made?.kind === "op" && made.op.facts.positive)
      return made.op.facts.positive(
        made.operands.flatMap((each) => (each === undefined ? [] : this.#isPositive(each))),
      );
    return !isLiteral(x) && this.isPower(x);
  }
}
