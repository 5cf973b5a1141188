/** Suggests changes that close gaps of a proof: with each of them, the kernel was proved again. */
import type {
  Certificate,
  CompiledKernel,
  HostExpression,
  Obligation,
  ProofCache,
  ProofProperty,
  Remedy,
  Requirements,
  TestCase,
} from "../../compiled/compiled-kernel.js";
import { triedRemedy } from "../../diagnostics/catalog/proof-codes.js";
import type { Location, SourceFix } from "../../diagnostics/diagnostic.js";
import { callbackText, hostValue } from "../../import/host-text.js";
import { declaredShapes } from "../cases/shapes.js";
import { acceptedCase, shrinkAccepted } from "../cases/valid-cases.js";

/** The maximum number of remedies to try per kernel. Each one needs a proof. */
const MAX_TRIES = 12;

/** The maximum number of lanes of a launch whose inputs are drawn, to compare them with a suggested range. */
const MAX_LANES = 2 ** 18;

/** The bounds on sizes and numbers that are tried so that int32 arithmetic stays exact, as powers of two. */
const EXPONENTS = [30, 28, 24, 20, 15];

const gapKeyOf = ({ property, of: subject }: Pick<Obligation, "property" | "of">): string => `${property} ${subject}`;

const keyOf = (obligation: Obligation): string => {
  const { at: location } = obligation;
  return `${gapKeyOf(obligation)} ${location?.file}:${location?.line}:${location?.column}`;
};

/** The text about an open obligation, with the edit for it. */
export interface Suggestion {
  /** True for a remedy: with it the kernel was proved. */
  readonly closes: boolean;
  readonly text: string;
  readonly fix?: SourceFix;
}

/** Returns a function from an open obligation to the remedy with which the whole kernel was proved again, if one was. */
export function suggestRemedies(
  kernel: CompiledKernel,
  certificate: Certificate,
  cache?: ProofCache,
): (obligation: Obligation) => Suggestion {
  const search = new RemedySearch(kernel, certificate, cache);
  search.run();
  return (obligation) => search.suggestions.get(keyOf(obligation)) ?? notClosed(search.triedFor, obligation);
}

const closing = (text: string, fix?: SourceFix): Suggestion => ({ closes: true, text, ...(fix && { fix }) });

const notClosed = (triedProperties: ReadonlySet<ProofProperty>, { property }: Obligation): Suggestion => ({
  closes: false,
  text: triedRemedy[triedProperties.has(property) ? "none" : "untried"](MAY_BE_TRUSTED.has(property)),
});

const MAY_BE_TRUSTED: ReadonlySet<ProofProperty> = new Set<ProofProperty>(["coverage", "race", "order", "padding"]);

const unprovedIn = ({ obligations }: Certificate): ReadonlySet<string> =>
  new Set(obligations.filter(({ verdict: { kind } }) => kind !== "proved" && kind !== "waived").map(keyOf));

/** True for an obligation that some remedy may close, and that no other obligation keeps open. */
const isOpen = ({ verdict }: Obligation): boolean =>
  verdict.kind === "refuted" || (verdict.kind === "unknown" && verdict.isLemma !== true);

class RemedySearch {
  readonly suggestions = new Map<string, Suggestion>();
  /** The properties for which a remedy was tried. */
  readonly triedFor = new Set<ProofProperty>();
  readonly #tried = new Set<string>();
  readonly #proofs = new Map<string, Certificate | undefined>();
  #cases: readonly TestCase[] | undefined;
  #drawnCases: readonly TestCase[] | undefined;

  constructor(
    readonly kernel: CompiledKernel,
    readonly certificate: Certificate,
    readonly cache: ProofCache | undefined,
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
        if (remaining?.every((each) => gapKeyOf(each) !== key))
          this.#keep(this.#proofWithConditions([condition]), requirement(condition));
      }
    if (this.#open().some(({ property }) => property === "overflow")) this.#boundNumbers();
    for (const obligation of this.#open())
      for (const remedy of remediesOf(obligation)) {
        if (this.suggestions.has(keyOf(obligation))) break;
        this.#try(remedy, obligation);
      }
  }

  /** Tries a declaration, or a change at the obligation's location. */
  #try(remedy: Remedy, { property, at: location }: Obligation): void {
    const key = JSON.stringify([remedy, remedy.kind === "declare" ? undefined : location]);
    if (this.#tried.has(key) || this.#tried.size >= MAX_TRIES) return;
    this.#tried.add(key);
    this.triedFor.add(property);
    this.#keep(this.#proofWith(remedy, location), describe(remedy));
  }

  #declaredCases(): readonly TestCase[] {
    return (this.#cases ??= casesOf(this.kernel));
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
      const condition = names.map((name) => `${name}.le(2 ** ${exponent})`).join(", ");
      const callback = `({ ${names.join(", ")} }) => [${condition}]`;
      this.#keep(this.#proofWithConditions(boundsOf(names, exponent)), required(callback, names, condition));
      return;
    }
  }

  #closesOverflow(names: readonly string[], exponent: number): boolean {
    const conditions = boundsOf(names, exponent);
    if (!this.#mayTry(conditions, "overflow")) return false;
    const proof = this.#proofWithConditions(conditions);
    return proof !== undefined && proof.obligations.every((each) => each.property !== "overflow" || !isOpen(each));
  }

  #proofWithConditions(conditions: readonly HostExpression[]): Certificate | undefined {
    const key = JSON.stringify(conditions);
    if (!this.#proofs.has(key)) this.#proofs.set(key, this.#proofWith({ kind: "require", conditions }));
    return this.#proofs.get(key);
  }

  #proofWith(remedy: Remedy | Requirements, location?: Location): Certificate | undefined {
    this.#drawnCases ??= drawable(this.kernel, this.#declaredCases());
    return this.kernel.proofWith?.(remedy, { at: location, cases: this.#drawnCases, cache: this.cache });
  }

  /** True if a condition was not tried yet and the declared launches satisfy it. Others would close any gap vacuously. */
  #mayTry(conditions: readonly HostExpression[], property: ProofProperty): boolean {
    const key = JSON.stringify(conditions);
    if (this.#tried.has(key) || this.#tried.size >= MAX_TRIES) return false;
    const launches = this.#declaredCases().map((testCase) => valuesOf(this.kernel, testCase));
    if (!conditions.every((each) => isSatisfied(each, launches))) return false;
    this.#tried.add(key);
    this.triedFor.add(property);
    return true;
  }

  /** Keeps a suggestion for what it closes, if it opens nothing and each config still has a launch. */
  #keep(proof: Certificate | undefined, suggestion: Suggestion): void {
    if (!proof || proof.launches.length < this.certificate.launches.length) return;
    const [initial, remaining] = [unprovedIn(this.certificate), unprovedIn(proof)];
    if ([...remaining].some((key) => !initial.has(key))) return;
    for (const each of this.#open()) if (!remaining.has(keyOf(each))) this.suggestions.set(keyOf(each), suggestion);
  }
}

/** The remedies of an unknown verdict. For a refuted index, a view without the claim; for refuted lanes, a barrier. */
function remediesOf({ property, verdict }: Obligation): readonly Remedy[] {
  if (verdict.kind === "unknown") return verdict.remedies ?? [];
  if (property === "order") return [{ kind: "barrier" }];
  return property === "bounds" ? [{ kind: "mask" }] : [];
}

function describe(remedy: Remedy): Suggestion {
  switch (remedy.kind) {
    case "declare": {
      const [option, value] = optionText(remedy.option);
      const fix = { kind: remedy.kind, param: remedy.param, option, value };
      return closing(triedRemedy.declare(remedy.param, `${option}: ${value}`), fix);
    }
    case "mask":
      return closing(triedRemedy.mask(), remedy);
    case "other":
      return closing(triedRemedy.other(remedy.value), remedy);
    case "where":
      return closing(triedRemedy.where(remedy.value));
    case "barrier":
      return closing(triedRemedy.barrier(), remedy);
    case "omit":
      return closing(triedRemedy.omit(), remedy);
    default:
      return remedy satisfies never;
  }
}

const boundsOf = (names: readonly string[], exponent: number): readonly HostExpression[] =>
  names.map((name) => ({ op: "le", of: [{ param: name }, { value: 2 ** exponent }] }));

/** `range` and `[0, "N"]` */
function optionText(option: Extract<Remedy, { kind: "declare" }>["option"]): readonly [name: string, value: string] {
  if ("range" in option) {
    const [from, end] = option.range;
    return ["range", `[${from}, ${typeof end === "string" ? JSON.stringify(end) : `2 ** ${Math.log2(end)}`}]`];
  }
  const [[name, value] = ["", undefined]] = Object.entries(option);
  return [name, JSON.stringify(value)];
}

const required = (callback: string, names: readonly string[], condition: string): Suggestion =>
  closing(triedRemedy.require(callback), { kind: "require", names, condition });

function requirement(tree: HostExpression): Suggestion {
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
  return required(callback, [...names], condition);
}

/** The kernel's declared launches. A condition that none of them satisfies would close any gap vacuously. */
function casesOf(kernel: CompiledKernel): readonly TestCase[] {
  const shapes = declaredShapes(kernel);
  const selections = shapes.length > 0 ? shapes.map(({ sizes }) => ({ seed: 0, sizes })) : [{ seed: 0 }];
  return selections.flatMap((selection) => {
    const accepted = acceptedCase(kernel, 0, selection);
    return "at" in accepted ? [accepted.at] : [];
  });
}

/** The launches with sizes whose inputs are drawn at once. */
const drawable = (kernel: CompiledKernel, cases: readonly TestCase[]): readonly TestCase[] =>
  cases.map((testCase) => shrinkAccepted(kernel, testCase, (smaller) => kernel.work(smaller).lanes <= MAX_LANES));

const valuesOf = (kernel: CompiledKernel, testCase: TestCase): ReadonlyMap<string, number> => {
  const values = { ...kernel.sizes(testCase), ...kernel.constexprs(testCase), ...testCase.scalars };
  return new Map(Object.entries(values).map(([name, value]) => [name, Number(value)] as const));
};

const isSatisfied = (condition: HostExpression, launches: readonly ReadonlyMap<string, number>[]): boolean =>
  launches.length > 0 && launches.every((values) => hostValue(condition, values) === true);
