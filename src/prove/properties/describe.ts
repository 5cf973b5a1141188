/** Descriptions of obligations and of missing facts, as the author reads them. */
import type { KernelIR } from "../../ir/nodes.js";
import { type Term, termsIn } from "../../symbolic/term.js";
import type { SymbolicModel } from "../model/model.js";
import type { Access } from "../model/accesses.js";

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
