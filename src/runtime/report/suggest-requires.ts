/**
 * Suggests launch conditions for gaps of a proof: with the condition in `requires`, the same rules prove the
 * obligation.
 */
import type {
  Certificate,
  CompiledKernel,
  HostExpression,
  Obligation,
  ProofProperty,
} from "../../compiled/compiled-kernel.js";
import { callbackText, hostValue } from "../../import/host-text.js";
import { declaredShapes } from "../cases/shapes.js";
import { acceptedCase } from "../cases/valid-cases.js";

/** The maximum number of conditions to try per kernel. Each one needs a proof. */
const MAX_TRIES = 12;

/** The bounds on sizes and numbers that are tried so that int32 arithmetic stays exact, as powers of two. */
const EXPONENTS = [30, 28, 24, 20, 15];

const gapKeyOf = ({ property, of: subject }: Pick<Obligation, "property" | "of">): string => `${property} ${subject}`;

const keyOf = (obligation: Obligation): string => {
  const { at: location } = obligation;
  return `${gapKeyOf(obligation)} ${location?.file}:${location?.line}:${location?.column}`;
};

/** A condition for `requires`. */
export interface SuggestedRequirement {
  /** `({ N, BLOCK }) => [N.mod(BLOCK).eq(0)]` */
  readonly callback: string;
  /** The names that the condition uses, and the condition without them. */
  readonly names: readonly string[];
  readonly condition: string;
}

/**
 * Returns a function from an obligation to the `requires` with which the whole kernel was proved again. `none` means
 * that those that were tried do not close it, undefined that there was none to try.
 */
export function suggestRequires(
  kernel: CompiledKernel,
  certificate: Certificate,
): (obligation: Obligation) => SuggestedRequirement | "none" | undefined {
  const search = new RequirementSearch(kernel, certificate);
  search.run();
  return (obligation) =>
    search.suggestions.get(keyOf(obligation)) ?? (search.triedFor.has(obligation.property) ? "none" : undefined);
}

/** True for an obligation that some condition may close, and that no other obligation keeps open. */
const isOpen = ({ verdict }: Obligation): boolean =>
  verdict.kind === "refuted" || (verdict.kind === "unknown" && verdict.isLemma !== true);

class RequirementSearch {
  readonly suggestions = new Map<string, SuggestedRequirement>();
  /** The properties for which a condition was tried. */
  readonly triedFor = new Set<ProofProperty>();
  readonly #tried = new Set<string>();
  readonly #proofs = new Map<string, Certificate | undefined>();
  #launches: readonly ReadonlyMap<string, number>[] | undefined;

  constructor(
    readonly kernel: CompiledKernel,
    readonly certificate: Certificate,
  ) {}

  run(): void {
    if (this.#open().length === 0) return;
    for (const gap of this.kernel.suggestPreconditions?.() ?? [])
      for (const condition of gap.wanted) {
        const key = gapKeyOf(gap);
        if (!this.#open().some((each) => gapKeyOf(each) === key)) break;
        if (!this.#mayTry([condition], gap.property)) continue;
        // A proof in one config is cheaper than all of them.
        const remaining = this.kernel.suggestPreconditions?.([condition]);
        if (remaining?.every((each) => gapKeyOf(each) !== key)) this.#keep([condition], suggestionOf(condition));
      }
    if (this.#open().some(({ property }) => property === "overflow")) this.#boundNumbers();
  }

  #open(): readonly Obligation[] {
    return this.certificate.obligations.filter((each) => isOpen(each) && !this.suggestions.has(keyOf(each)));
  }

  /** Bounds all sizes and numbers, then removes each bound that is not necessary. */
  #boundNumbers(): void {
    const { sizes, scalars, constexprs } = this.kernel.signature;
    const numbers = [
      ...scalars.filter(({ dtype }) => /^int\d/.test(dtype)),
      ...constexprs.filter(({ kind, from }) => kind === "int" && from === "argument"),
    ];
    const all = [...sizes, ...numbers.map(({ name }) => name)];
    for (const exponent of EXPONENTS) {
      let names: readonly string[] = all;
      if (!this.#closesOverflow(names, exponent)) continue;
      for (const name of all) {
        const fewer = names.filter((each) => each !== name);
        if (fewer.length > 0 && this.#closesOverflow(fewer, exponent)) names = fewer;
      }
      const conditions = names.map((name) => `${name}.le(2 ** ${exponent})`);
      const condition = conditions.join(", ");
      this.#keep(boundsOf(names, exponent), {
        callback: `({ ${names.join(", ")} }) => [${condition}]`,
        names,
        condition,
      });
      return;
    }
  }

  #closesOverflow(names: readonly string[], exponent: number): boolean {
    const conditions = boundsOf(names, exponent);
    if (!this.#mayTry(conditions, "overflow")) return false;
    const proof = this.#proofWith(conditions);
    return proof !== undefined && proof.obligations.every((each) => each.property !== "overflow" || !isOpen(each));
  }

  #proofWith(conditions: readonly HostExpression[]): Certificate | undefined {
    const key = JSON.stringify(conditions);
    if (!this.#proofs.has(key)) this.#proofs.set(key, this.kernel.proofWith?.(conditions));
    return this.#proofs.get(key);
  }

  /** True if a condition was not tried yet and the declared launches satisfy it. Others would close any gap vacuously. */
  #mayTry(conditions: readonly HostExpression[], property: ProofProperty): boolean {
    const key = JSON.stringify(conditions);
    if (this.#tried.has(key) || this.#tried.size >= MAX_TRIES) return false;
    this.#launches ??= launchesOf(this.kernel);
    if (!conditions.every((each) => isSatisfied(each, this.#launches ?? []))) return false;
    this.#tried.add(key);
    this.triedFor.add(property);
    return true;
  }

  /** Keeps conditions for what they close, if each config still has a launch. */
  #keep(conditions: readonly HostExpression[], suggestion: SuggestedRequirement): void {
    const proof = this.#proofWith(conditions);
    if (!proof || proof.launches.length < this.certificate.launches.length) return;
    const remaining = new Set(proof.obligations.filter(isOpen).map(keyOf));
    for (const each of this.#open()) if (!remaining.has(keyOf(each))) this.suggestions.set(keyOf(each), suggestion);
  }
}

const boundsOf = (names: readonly string[], exponent: number): readonly HostExpression[] =>
  names.map((name) => ({ op: "le", of: [{ param: name }, { value: 2 ** exponent }] }));

function suggestionOf(tree: HostExpression): SuggestedRequirement {
  const names = new Set<string>();
  let condition = "";
  const callback = callbackText(
    [tree],
    (name) => {
      names.add(name);
      return { name };
    },
    ([text = ""]) => {
      condition = text;
      return `[${text}]`;
    },
  )!;
  return { callback, names: [...names], condition };
}

/**
 * The values of the kernel's declared launches. A condition that none of them satisfies would close any gap vacuously.
 */
function launchesOf(kernel: CompiledKernel): readonly ReadonlyMap<string, number>[] {
  const shapes = declaredShapes(kernel);
  const selections = shapes.length > 0 ? shapes.map(({ sizes }) => ({ seed: 0, sizes })) : [{ seed: 0 }];
  return selections.flatMap((selection) => {
    const accepted = acceptedCase(kernel, 0, selection);
    if (!("at" in accepted)) return [];
    const { at: testCase } = accepted;
    const values = { ...kernel.sizes(testCase), ...kernel.constexprs(testCase), ...testCase.scalars };
    return [new Map(Object.entries(values).map(([name, value]) => [name, Number(value)] as const))];
  });
}

const isSatisfied = (condition: HostExpression, launches: readonly ReadonlyMap<string, number>[]): boolean =>
  launches.length > 0 && launches.every((values) => hostValue(condition, values) === true);
