/**
 * Proves what must hold of a kernel for every shape and config: first with configs as symbols, then what is left for each
 * config, then looks for a case where it is wrong. What is neither proved nor refuted is unknown, with what is missing.
 */
import type { Certificate, Obligation, Verdict } from "../contract/compiled.js";
import type { FindingCode } from "../diagnostics/catalogue/index.js";
import { type KernelIR, type OpStatement, paramsOf } from "../ir/nodes.js";
import { withTerms } from "../terms/term.js";
import { openBound } from "./bounds.js";
import type { Limits } from "./budget.js";
import { Contexts } from "./contexts.js";
import { proves } from "./interpret.js";
import type { Assigned } from "./launch.js";
import { type Claim, type Model, modelOf } from "./model.js";
import type { Access } from "./reaching.js";
import { findWitness, type Question, type Trial } from "./witness.js";
import { accessInWords, contentsIn, missingOf, reasonOf } from "./words.js";

const OUTSIDE: readonly FindingCode[] = ["out-of-bounds", "false-in-bounds"];
const UNTRUE: readonly FindingCode[] = ["false-assume"];
const STEPS: Limits = { questions: 20_000, linear: 1_000 };

export function prove(ir: KernelIR, trial: Trial): Certificate {
  return withTerms(() => new Prover(ir, trial).certificate());
}

/** Where an obligation stands open: what would show it wrong, and what a proof lacks. */
interface Open {
  readonly question: Question | undefined;
  readonly missing: string;
}

/** A part of a kernel that something must hold of, in a model. */
type Asks = (stand: Stand) => Open | undefined;

/** A model with what is known in it. */
interface Stand {
  readonly model: Model;
  readonly contexts: Contexts;
}

class Prover {
  readonly #together: readonly Stand[];
  readonly #each = new Map<number, Stand>();

  constructor(
    readonly ir: KernelIR,
    readonly trial: Trial,
  ) {
    this.#together = this.#variants().map((assigned) => this.#stand(assigned));
  }

  certificate(): Certificate {
    const { ir } = this;
    return {
      configs: ir.tuning.configs.length,
      obligations: [...this.#bounds(), ...this.#claims()],
      promises: promisesOf(ir),
    };
  }

  #stand(assigned: Assigned): Stand {
    const model = modelOf(this.ir, assigned);
    return { model, contexts: new Contexts(model, STEPS) };
  }

  /** Configs without the integers that are symbols: those that are at least 1 in every config. */
  #variants(): readonly Assigned[] {
    const { configs } = this.ir.tuning;
    const isSymbol = (name: string) =>
      configs.every(({ values }) => Number.isInteger(values[name]) && Number(values[name]) >= 1);
    const fixed = configs.map(({ values }) =>
      Object.fromEntries(Object.entries(values).filter(([name]) => !isSymbol(name))),
    );
    return [...new Map(fixed.map((values) => [JSON.stringify(values), values])).values()];
  }

  #config(index: number): Stand {
    let stand = this.#each.get(index);
    if (!stand) this.#each.set(index, (stand = this.#stand(this.ir.tuning.configs[index]!.values)));
    return stand;
  }

  #decide(asks: Asks): Verdict {
    const ask = (stand: Stand) => {
      stand.contexts.budget.refill();
      return asks(stand);
    };
    const open = this.#together.map(ask).find((each) => each !== undefined);
    if (!open) return { kind: "proved", configs: "together" };
    if (!open.question) return { kind: "unknown", missing: open.missing };
    for (const index of this.ir.tuning.configs.keys()) {
      const stand = this.#config(index);
      const left = ask(stand);
      if (!left) continue;
      const witness =
        left.question && this.#mayRefute(left.question)
          ? findWitness(stand.model, index, left.question, this.trial)
          : undefined;
      return witness ? { kind: "refuted", ...witness } : { kind: "unknown", missing: left.missing };
    }
    return { kind: "proved", configs: "each" };
  }

  /** What an input holds refutes something only where the author says what that is. */
  #mayRefute({ holds, given }: Question): boolean {
    return contentsIn(holds, ...given).every((name) => {
      const param = paramsOf(this.ir, "tensor").find((each) => each.name === name);
      return param?.range !== undefined && !(name in this.ir.inputs);
    });
  }

  /** One obligation for each access as the author wrote it. */
  #bounds(): readonly Obligation[] {
    const statements = new Map<OpStatement, Access>();
    for (const { model } of this.#together)
      for (const access of model.accesses) statements.set(access.statement, access);
    return [...statements].map(([statement, access]) => ({
      property: "bounds",
      of: accessInWords(access),
      at: statement.at,
      verdict: this.#decide((stand) => openAccess(stand, statement)),
    }));
  }

  #claims(): readonly Obligation[] {
    const places = new Map(
      this.#together.flatMap(({ model }) => model.claims.map((claim) => [claim.statement, claim])),
    );
    return [...places.keys()].map((statement) => ({
      property: "claim",
      of: "tl.assume",
      at: statement.at,
      verdict: this.#decide((stand) => openClaim(stand, statement)),
    }));
  }
}

function openAccess({ model, contexts }: Stand, statement: OpStatement): Open | undefined {
  for (const access of model.accesses) {
    if (access.statement !== statement) continue;
    const { missing, mask, path, scope, lanes } = access;
    if (missing !== undefined) return { question: undefined, missing };
    const bound = openBound(contexts, access);
    if (!bound) continue;
    const question = {
      holds: bound.holds,
      given: [...path, mask],
      variables: [...scope, ...lanes],
      at: statement.at,
      finds: OUTSIDE,
    };
    return { question, missing: missingOf(model, access, bound) };
  }
  return undefined;
}

function openClaim({ model, contexts }: Stand, statement: OpStatement): Open | undefined {
  const claim = model.claims.find(
    (each: Claim) => each.statement === statement && !proves(contexts.onPath(each.path, each.scope), each.holds),
  );
  if (!claim) return undefined;
  const { holds, path, scope } = claim;
  const missing = `nothing shows what tl.assume says${reasonOf(model, "leave it out", [holds], path)}`;
  return { question: { holds, given: path, variables: scope, at: statement.at, finds: UNTRUE }, missing };
}

/** What inputs are promised to hold: nothing on a GPU checks it. */
function promisesOf(ir: KernelIR): readonly string[] {
  return paramsOf(ir, "tensor").flatMap(({ name, range, partition }) => {
    if (partition?.parameter) return [`${name} is a partition of ${partition.parameter}`];
    return range ? [`${name} holds what its range declares`] : [];
  });
}
