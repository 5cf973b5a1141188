/**
 * Proof obligations: the properties that are proved of a kernel, each as a function from a model to a proof or a gap.
 */
import type { ProofProperty, Remedy } from "../../compiled/compiled-kernel.js";
import type { Location } from "../../diagnostics/diagnostic.js";
import type { OpStatement, Value, KernelIR } from "../../ir/nodes.js";
import type { FactScopes } from "../model/fact-scopes.js";
import type { SymbolicModel } from "../model/model.js";
import { type Term, termsIn } from "../../symbolic/term.js";
import type { RefutationQuery } from "../counterexample.js";
import type { Access } from "../model/accesses.js";

/** A symbolic model of the kernel and the facts that hold at each of its program points. */
export interface ProofContext {
  readonly model: SymbolicModel;
  readonly factScopes: FactScopes;
}

/** The goal holds at each point of the variables at which the facts do. */
export interface Implication {
  readonly goal: Term;
  /** Beside those of the launch and of the ranges of variables. */
  readonly facts: readonly Term[];
  /** Programs, iterations and lanes. */
  readonly variables: readonly string[];
}

/** An obligation that could not be proved in a model. */
export interface ProofGap {
  /** The search for a counterexample. Undefined if no test case can refute the obligation. */
  readonly refutation: RefutationQuery | undefined;
  /** The missing fact, as the author reads it. */
  readonly missing: string;
  /** Changes that may close the gap, beside promises about inputs. */
  readonly remedies?: readonly Remedy[];
  /** True if another obligation is about that fact. */
  readonly isLemma?: true;
}

/** One property of one access, output or line, to be proved in every model of a kernel. */
export interface ProofObligation {
  readonly property: ProofProperty;
  /** The subject as the author reads it, such as `the store to c`. */
  readonly subject: string;
  readonly at: Location | undefined;
  /** The values that the obligation shows to be exact: their int32 arithmetic does not wrap. */
  readonly exact?: ReadonlySet<Value>;
  /** The ops whose indices the obligation rests on, or all masks, beside all conditions. Undefined: all of these. */
  readonly restsOn?: readonly OpStatement[] | "masks";
  /** The author's reason, from `tl.trusted`, for accepting the obligation without a proof. */
  readonly waiver?: string | undefined;
  /** What the obligation says in a model, for other solvers; or the reason why terms do not say it. */
  claims?(context: ProofContext): readonly Implication[] | string;
  /** Tries to prove the obligation in a model. Returns undefined if it is proved. */
  prove(context: ProofContext): ProofGap | undefined;
}

/**
 * Generates the obligations of one property. A kernel has several models: a branch on a constexpr can remove statements
 * from some of them, so the generator joins the statements of all.
 */
export type ObligationGenerator = (models: readonly SymbolicModel[]) => readonly ProofObligation[];

// Descriptions of obligations and of missing facts, as the author reads them.

const PREPOSITION = { load: "from", store: "to", atomic: "on" } as const;

/** `the store to c` */
export function describeAccess({ accessKind: does, tensor }: Pick<Access, "accessKind" | "tensor">): string {
  const noun = does === "atomic" ? "atomic" : does;
  return tensor ? `the ${noun} ${PREPOSITION[does]} ${tensor.name}` : `this ${noun}`;
}

/** ` in line 7` */
export const inLineOf = ({ statement: { location } }: Pick<Access, "statement">): string =>
  location ? ` in line ${location.line}` : "";

/** The missing fact of a proof about two accesses of which one may be out of bounds. */
export const missingBounds = (access: Access): string =>
  `${describeAccess(access)}${inLineOf(access)} may leave it, and then reaches other elements`;

/** The unknowns that a proof depends on: loaded values, ops without a rule, parameters of unknown sign. */
export function describeUnknowns(
  { environment, ir }: SymbolicModel,
  terms: readonly Term[],
  conditions: readonly Term[],
): string {
  for (const candidates of [terms, [...terms, ...conditions]]) {
    const reasons = new Set([...termsIn(...candidates)].flatMap(({ name }) => environment.unknowns.get(name) ?? []));
    if (reasons.size > 0) return `; it depends on ${[...reasons].join(" and ")}`;
  }
  const unbounded = unboundedIn(ir, terms);
  return unbounded.length > 0 ? `; nothing is known of ${unbounded.join(", ")}` : "";
}

/** Scalar and constexpr arguments, which the caller may pass as negative numbers. */
function unboundedIn({ params }: KernelIR, terms: readonly Term[]): readonly string[] {
  const names = new Set([...termsIn(...terms)].map(({ name }) => name));
  return params.flatMap((param) => {
    const isArgument = param.kind === "scalar" || (param.kind === "constexpr" && param.from === "argument");
    return isArgument && names.has(param.name) ? [param.name] : [];
  });
}
