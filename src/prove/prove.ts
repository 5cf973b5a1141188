/**
 * Proves the obligations of a kernel for every shape and config. It tries all configs at once, with constexprs as
 * symbols, then each config, and then searches for a counterexample. Otherwise the verdict is unknown, with the missing
 * fact.
 */
import { indexValuesOf, maskValues } from "../analysis/index-values.js";
import type { Precondition } from "../analysis/preconditions.js";
import type {
  Certificate,
  ExportedObligation,
  Obligation,
  Remedy,
  SmtExport,
  Verdict,
} from "../compiled/compiled-kernel.js";
import { fingerprintOf } from "../ir/fingerprint.js";
import { isSizeParam, type KernelIR, type OpStatement, paramsOf, type TensorParam } from "../ir/nodes.js";
import { symbolsIn, withTermTable } from "../symbolic/term.js";
import { isInt, members } from "../types/dtype.js";
import { boundsObligations, coverageObligations, proveCoverage } from "./properties/bounds.js";
import { Budget } from "./algebra/budget.js";
import { FactScopes } from "./model/fact-scopes.js";
import { distinctConfigs, type IndexedConfig } from "./launch-search.js";
import { unreachedAccesses, terminationObligations, claimObligations, gridLimits } from "./properties/control-flow.js";
import { type ConstexprAssignment, variantsOf } from "./model/launch.js";
import { modelOf, type SymbolicModel } from "./model/model.js";
import { withMonomials } from "./algebra/polynomial.js";
import { openLemma, overflowObligations, dividendObligations } from "./properties/arithmetic.js";
import { orderObligations } from "./properties/lane-order.js";
import { paddingObligations } from "./properties/padding/obligations.js";
import type { ObligationGenerator, ProofGap, ProofObligation, ProofContext } from "./properties/obligations.js";
import { raceObligations } from "./properties/races.js";
import {
  findCounterexample,
  type RefutationQuery,
  type CaseRunner,
  type Counterexample,
  launchesOf,
  redundantRequirements,
} from "./counterexample.js";
import { smtScript, type SmtStatus } from "./smt.js";
import { inputsReadBy } from "./model/input-elements.js";
/** All properties, in the order of the certificate. */
const PROPERTIES: readonly ObligationGenerator[] = [
  boundsObligations,
  claimObligations,
  coverageObligations,
  raceObligations,
  orderObligations,
  dividendObligations,
  overflowObligations,
  paddingObligations,
  terminationObligations,
];

/** Proves all obligations. `checked` contains the preconditions that a launch of the lowered kernel checks. */
export function prove(ir: KernelIR, checked: readonly Precondition[], runner: CaseRunner): Certificate {
  return withTermTable(() => withMonomials(() => new Prover(ir, checked, runner).certificate()));
}

/** The number of obligations whose proof `prove` attempts. */
export const obligationCount = (ir: KernelIR, checked: readonly Precondition[]): number =>
  withTermTable(() =>
    withMonomials(() => obligationsOf(variantsOf(ir).map(({ assignment }) => modelOf(ir, checked, assignment))).length),
  );

/** True if a kernel writes each element of a tensor. The caller holds the tables of terms. */
export const overwrites = (ir: KernelIR, checked: readonly Precondition[], tensor: TensorParam): boolean =>
  variantsOf(ir).every(({ assignment }) => {
    const model = modelOf(ir, checked, assignment);
    return proveCoverage({ model, factScopes: new FactScopes(model, new Budget(...STEPS)) }, tensor) === undefined;
  });

/**
 * The obligations as SMT-LIB scripts, for one config each, with what the certificate says of them. Those that a script
 * cannot say are listed with the reason.
 */
export function proveAsScripts(
  ir: KernelIR,
  checked: readonly Precondition[],
  runner: CaseRunner,
  certificate: Certificate,
): SmtExport {
  return withTermTable(() => withMonomials(() => new Prover(ir, checked, runner).scripts(certificate)));
}

const STEPS = [20_000, 4_000] as const;

class Prover {
  readonly #symbolicContexts: readonly ProofContext[];
  readonly #configs: readonly IndexedConfig[];
  readonly #configContexts = new Map<number, ProofContext>();
  readonly #budget = new Budget(...STEPS);
  /** The budget of the counterexample search. */
  readonly #searchBudget = new Budget(1_000_000, 100_000);

  constructor(
    readonly ir: KernelIR,
    readonly checked: readonly Precondition[],
    readonly runner: CaseRunner,
  ) {
    this.#configs = distinctConfigs(ir);
    this.#symbolicContexts = variantsOf(ir).map(({ assignment }) => this.#contextOf(assignment));
  }

  certificate(): Certificate {
    const { ir } = this;
    const models = this.#symbolicContexts.map(({ model }) => model);
    const decided = this.#obligations().map((obligation) => ({ obligation, verdict: this.#decide(obligation) }));
    const openLemmas = decided.filter(({ obligation, verdict }) => obligation.exact && verdict.kind !== "proved");
    const { launches, obligations: withoutLaunch } = launchesOf(ir, this.#configs, this.runner);
    return {
      about: [fingerprintOf(ir)],
      configs: ir.tuning.configs.length,
      launches,
      obligations: [
        ...decided.map(({ obligation, verdict }) => {
          const { property, subject, at } = obligation;
          return { property, of: subject, at, verdict: withLemmas(ir, obligation, verdict, openLemmas) };
        }),
        ...redundantRequirements(ir),
        ...withoutLaunch,
        ...this.#unreachedAccesses(),
      ],
      promises: promisesOf(ir),
      limits: [...new Set(models.flatMap((model) => gridLimits(model, this.checked)))],
    };
  }

  #obligations(): readonly ProofObligation[] {
    return obligationsOf(this.#symbolicContexts.map(({ model }) => model));
  }

  /** {@link proveAsScripts} */
  scripts({ obligations: verdicts }: Certificate): SmtExport {
    const obligations = this.#obligations();
    const exported = this.#configs.flatMap((config) =>
      obligations.map((obligation, i): ExportedObligation => {
        const { property, subject: of, at } = obligation;
        const verdict = verdicts[i]?.verdict;
        const result = this.#script(obligation, config, verdict);
        return { property, of, at, config: config.index, ...result };
      }),
    );
    return { kernel: this.ir.name, obligations: exported };
  }

  #script(obligation: ProofObligation, config: IndexedConfig, verdict: Verdict | undefined) {
    const context = this.#configContext(config);
    const implications = obligation.claims?.(context) ?? "its property is not one of index arithmetic";
    if (typeof implications === "string") return { reason: implications };
    const { launch } = context.model;
    const claims = implications.map(({ goal, facts, variables }) => ({
      goal,
      facts: [...launch.facts, ...context.factScopes.rangesOf(variables), ...facts],
    }));
    const status = verdict ? statusOf(verdict, config) : "unknown";
    const { property, subject, at } = obligation;
    const comments = [`${this.ir.name}: ${property} of ${subject}, line ${at?.line}, config ${config.index}`];
    const scripts: string[] = [];
    for (const claim of claims) {
      // One of several claims may be the one that is refuted.
      const expected = status === "sat" && claims.length > 1 ? "unknown" : status;
      const result = smtScript(claim, { status: expected, comments, int32Bits: this.ir.limits.int32Bits });
      if ("reason" in result) return result;
      scripts.push(result.script);
    }
    return { scripts };
  }

  #unreachedAccesses(): readonly Obligation[] {
    this.#budget.refill();
    return unreachedAccesses(this.#symbolicContexts, this.#configs);
  }

  #contextOf(assignment: ConstexprAssignment): ProofContext {
    // Deriving the facts of a launch takes steps too, so the budget starts full.
    this.#budget.refill();
    const model = modelOf(this.ir, this.checked, assignment);
    return { model, factScopes: new FactScopes(model, this.#budget) };
  }

  #configContext({ values, index }: IndexedConfig): ProofContext {
    let context = this.#configContexts.get(index);
    if (!context) this.#configContexts.set(index, (context = this.#contextOf(values)));
    return context;
  }

  #decide(obligation: ProofObligation): Verdict {
    const gapIn = ({ factScopes: contexts, model }: ProofContext) => {
      this.#budget.refill();
      const gap = model.truncatedAt
        ? { refutation: undefined, missing: TOO_MANY_CALLS }
        : obligation.prove({ factScopes: contexts, model });
      if (gap) this.#budget.chargeShared();
      if (this.#budget.isExhausted) contexts.forget();
      return gap;
    };
    const gap = this.#symbolicContexts.map(gapIn).find((candidate) => candidate !== undefined);
    if (!gap) return { kind: "proved", configs: "together" };
    if (obligation.waiver !== undefined) return { kind: "waived", reason: obligation.waiver };
    if (!gap.refutation) return unknown(gap, this.ir);
    for (const config of this.#configs) {
      const context = this.#configContext(config);
      const gap = gapIn(context);
      if (!gap) continue;
      const counterexample = gap.refutation && this.#findCounterexample(context, config.index, gap.refutation);
      return counterexample ? { kind: "refuted", ...counterexample } : unknown(gap, this.ir);
    }
    return { kind: "proved", configs: "each" };
  }

  #findCounterexample({ model }: ProofContext, index: number, query: RefutationQuery): Counterexample | undefined {
    if (query.isTooLarge === true || !this.#mayRefute(query)) return undefined;
    this.#searchBudget.refill();
    const counterexample = findCounterexample(model, index, query, this.runner, this.#searchBudget);
    if (!counterexample) this.#searchBudget.chargeShared();
    return counterexample;
  }

  /** The contents of an input can refute an obligation only if the author declares their range. */
  #mayRefute({ goal, facts, conflict: conflicts = [] }: RefutationQuery): boolean {
    const conflictTerms = conflicts.flatMap((access) => [...access.index, ...access.facts]);
    return inputsReadBy(goal, ...facts, ...conflictTerms).every((name) => {
      const param = paramsOf(this.ir, "tensor").find((candidate) => candidate.name === name);
      return param?.range !== undefined && !(name in this.ir.inputs);
    });
  }
}

function obligationsOf(models: readonly SymbolicModel[]): readonly ProofObligation[] {
  const truncatedAt = models.find((model) => model.truncatedAt)?.truncatedAt;
  if (truncatedAt) return [truncatedObligation(truncatedAt)];
  return PROPERTIES.flatMap((generate) => generate(models));
}

/** The answer of a solver that agrees with a verdict. */
function statusOf(verdict: Verdict, { index }: IndexedConfig): SmtStatus {
  if (verdict.kind === "proved") return "unsat";
  return verdict.kind === "refuted" && verdict.at.config === index ? "sat" : "unknown";
}

interface Decided {
  readonly obligation: ProofObligation;
  readonly verdict: Verdict;
}

/**
 * The verdict of a proof together with its lemmas. Terms are integers, so each proof takes for granted that the int32
 * arithmetic of its terms does not wrap: it shows nothing where an overflow obligation of that arithmetic is open.
 */
function withLemmas(
  ir: KernelIR,
  { exact, restsOn }: ProofObligation,
  verdict: Verdict,
  openLemmas: readonly Decided[],
): Verdict {
  if (exact || verdict.kind !== "proved" || openLemmas.length === 0) return verdict;
  const values = restsOn === "masks" ? maskValues(ir) : restsOn && indexValuesOf(ir, restsOn);
  const lemma = openLemmas.find(
    ({ obligation }) => !values || [...(obligation.exact ?? [])].some((x) => values.has(x)),
  );
  if (!lemma) return verdict;
  return { kind: "unknown", ...openLemma(lemma.obligation.at) };
}

function unknown({ missing, refutation, remedies = [], isLemma }: ProofGap, ir: KernelIR): Verdict {
  if (isLemma) return { kind: "unknown", missing, isLemma };
  return { kind: "unknown", missing, remedies: [...(refutation ? promises(ir, refutation) : []), ...remedies] };
}

/** Ranges of the integers that a claim depends on, below a size, those of the claim first, or far inside of int32. */
function promises(ir: KernelIR, { goal, facts, conflict = [] }: RefutationQuery): readonly Remedy[] {
  const terms = [goal, ...facts, ...conflict.flatMap((access) => [...access.index, ...access.facts])];
  const inputs = new Set(inputsReadBy(...terms));
  const symbols = symbolsIn(goal);
  const sizes = ir.params.filter(isSizeParam).map(({ name }) => name);
  const ends = sizes.toSorted((x, y) => Number(symbols.has(y)) - Number(symbols.has(x)));
  return paramsOf(ir, "tensor")
    .filter(({ name, partition, dtype }) => inputs.has(name) && !partition && members(dtype).every(isInt))
    .flatMap(({ name: param }) =>
      [...ends, 2 ** 28].map((end): Remedy => ({ kind: "declare", param, option: { range: [0, end] } })),
    );
}

const TOO_MANY_CALLS = "proofs do not follow this many calls of helper functions that call one another";

/** The only obligation of a kernel whose symbolic execution was truncated. */
function truncatedObligation({ location: at }: OpStatement): ProofObligation {
  const gap = { refutation: undefined, missing: TOO_MANY_CALLS };
  return { property: "bounds", subject: "what helper functions access", at, prove: () => gap };
}

/** Assumptions about the contents of inputs. Nothing checks them on the GPU. */
function promisesOf(ir: KernelIR): readonly string[] {
  return paramsOf(ir, "tensor").flatMap(({ name, range, partition }) => {
    if (partition) {
      const statement = partition.holds === "offsets" ? "is a partition" : "has the ends of a partition";
      return [`${name} ${statement} of ${partition.total.parameter}`];
    }
    return range ? [`${name} holds what its range declares`] : [];
  });
}
