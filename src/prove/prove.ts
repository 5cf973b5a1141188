/**
 * Proves what must hold of a kernel for every shape and config: first with configs as symbols, then what is left for each
 * config, then looks for a case where it is wrong. What is neither proved nor refuted is unknown, with what is missing.
 */
import { cacheKey } from "../compiled/canonical-json.js";
import type { Precondition } from "../analysis/preconditions.js";
import type { Certificate, Verdict } from "../compiled/compiled-kernel.js";
import { type KernelIR, type OpStatement, paramsOf } from "../ir/nodes.js";
import { withTermTable } from "../symbolic/term.js";
import { boundsObligations } from "./properties/bounds.js";
import { Budget } from "./algebra/budget.js";
import { claimObligations } from "./properties/assumptions.js";
import { FactScopes } from "./model/fact-scopes.js";
import { dividendObligations } from "./properties/dividends.js";
import { gridLimits } from "./properties/grid-limits.js";
import type { ConstexprAssignment } from "./model/launch.js";
import { modelOf } from "./model/model.js";
import { withMonomials } from "./algebra/monomial.js";
import { coverageObligations } from "./properties/coverage.js";
import { overflowObligations } from "./properties/overflow.js";
import { paddingObligations } from "./properties/padding/obligations.js";
import type { ObligationGenerator, ProofObligation, ProofContext } from "./properties/obligations.js";
import { redundantRequirements } from "./requirements.js";
import { raceObligations } from "./properties/races.js";
import { findCounterexample, type RefutationQuery, type CaseRunner, type Counterexample } from "./counterexample.js";
import { inputsReadBy } from "./model/input-elements.js";

/** Everything that is shown of a kernel, in the order of the certificate. */
const PROPERTIES: readonly ObligationGenerator[] = [
  boundsObligations,
  claimObligations,
  coverageObligations,
  raceObligations,
  dividendObligations,
  overflowObligations,
  paddingObligations,
];

/** `checked` is what a launch of the lowered kernel checks. */
export function prove(ir: KernelIR, checked: readonly Precondition[], trial: CaseRunner): Certificate {
  return withTermTable(() => withMonomials(() => new Prover(ir, checked, trial).certificate()));
}

class Prover {
  readonly #together: readonly ProofContext[];
  readonly #each = new Map<number, ProofContext>();
  readonly #steps = new Budget(20_000, 4_000);
  /** For the search for cases. */
  readonly #trials = new Budget(1_000_000, 100_000);

  constructor(
    readonly ir: KernelIR,
    readonly checked: readonly Precondition[],
    readonly trial: CaseRunner,
  ) {
    this.#together = this.#variants().map((assigned) => this.#stand(assigned));
  }

  certificate(): Certificate {
    const { ir } = this;
    const models = this.#together.map(({ model }) => model);
    const unfollowed = models.find((model) => model.truncatedAt)?.truncatedAt;
    const duties = unfollowed ? [notFollowed(unfollowed)] : PROPERTIES.flatMap((dutiesOf) => dutiesOf(models));
    return {
      configs: ir.tuning.configs.length,
      obligations: [
        ...duties.map((duty) => {
          const { property, of, at } = duty;
          return { property, of, at, verdict: this.#decide(duty) };
        }),
        ...redundantRequirements(ir),
      ],
      promises: promisesOf(ir),
      limits: [...new Set(models.flatMap(gridLimits))],
    };
  }

  #stand(assigned: ConstexprAssignment): ProofContext {
    // What is known of a launch takes steps too, however many a question before took.
    this.#steps.refill();
    const model = modelOf(this.ir, this.checked, assigned);
    return { model, contexts: new FactScopes(model, this.#steps) };
  }

  /** Configs without the integers that are symbols: those that are at least 1 in every config. */
  #variants(): readonly ConstexprAssignment[] {
    const { configs } = this.ir.tuning;
    const isSymbol = (name: string) =>
      configs.every(({ values }) => Number.isInteger(values[name]) && Number(values[name]) >= 1);
    const fixed = configs.map(({ values }) =>
      Object.fromEntries(Object.entries(values).filter(([name]) => !isSymbol(name))),
    );
    return [...new Map(fixed.map((values) => [cacheKey(values), values])).values()];
  }

  #config(index: number): ProofContext {
    let stand = this.#each.get(index);
    if (!stand) this.#each.set(index, (stand = this.#stand(this.ir.tuning.configs[index]!.values)));
    return stand;
  }

  /** The first config of those that differ in launch options alone. */
  #distinctConfigs(): readonly number[] {
    const places = this.ir.tuning.configs.map(({ values }, index) => [cacheKey(values), index] as const);
    return [...new Map(places.toReversed()).values()].toSorted((x, y) => x - y);
  }

  #decide(duty: ProofObligation): Verdict {
    const ask = ({ contexts, model }: ProofContext) => {
      this.#steps.refill();
      const open = model.truncatedAt
        ? { question: undefined, missing: TOO_MANY_CALLS }
        : duty.prove({ contexts, model });
      if (open) this.#steps.lose();
      if (this.#steps.spent) contexts.forget();
      return open;
    };
    const open = this.#together.map(ask).find((each) => each !== undefined);
    if (!open) return { kind: "proved", configs: "together" };
    if (duty.waived !== undefined) return { kind: "waived", reason: duty.waived };
    if (!open.question) return { kind: "unknown", missing: open.missing };
    for (const index of this.#distinctConfigs()) {
      const stand = this.#config(index);
      const left = ask(stand);
      if (!left) continue;
      const witness = left.question && this.#witness(stand, index, left.question);
      return witness ? { kind: "refuted", ...witness } : { kind: "unknown", missing: left.missing };
    }
    return { kind: "proved", configs: "each" };
  }

  #witness({ model }: ProofContext, index: number, question: RefutationQuery): Counterexample | undefined {
    if (question.isTooLarge === true || !this.#mayRefute(question)) return undefined;
    this.#trials.refill();
    const witness = findCounterexample(model, index, question, this.trial, this.#trials);
    if (!witness) this.#trials.lose();
    return witness;
  }

  /** What an input holds refutes something only where the author says what that is. */
  #mayRefute({ holds, given, conflict: meets = [] }: RefutationQuery): boolean {
    const met = meets.flatMap((spot) => [...spot.index, ...spot.given]);
    return inputsReadBy(holds, ...given, ...met).every((name) => {
      const param = paramsOf(this.ir, "tensor").find((each) => each.name === name);
      return param?.range !== undefined && !(name in this.ir.inputs);
    });
  }
}

const TOO_MANY_CALLS =
  "proofs do not follow this many calls of helper functions that call one another; call them less often, or write some of them as loops";

/** The one obligation of a kernel that is not followed to its end: all that it does. */
function notFollowed({ at }: OpStatement): ProofObligation {
  const open = { question: undefined, missing: TOO_MANY_CALLS };
  return { property: "bounds", of: "what helper functions access", at, prove: () => open };
}

/** What inputs are promised to hold: nothing on a GPU checks it. */
function promisesOf(ir: KernelIR): readonly string[] {
  return paramsOf(ir, "tensor").flatMap(({ name, range, partition }) => {
    if (partition) {
      const holds = partition.holds === "offsets" ? "is a partition" : "has the ends of a partition";
      return [`${name} ${holds} of ${partition.total.parameter}`];
    }
    return range ? [`${name} holds what its range declares`] : [];
  });
}
