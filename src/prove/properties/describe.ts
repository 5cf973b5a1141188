/** Proofs in the author's words: what an obligation is about, and what it would have to know. */
import type { KernelIR } from "../../ir/nodes.js";
import { type Term, termsIn } from "../../symbolic/term.js";
import { inputsReadBy } from "../model/input-elements.js";
import type { Bound } from "./bounds.js";
import type { SymbolicModel } from "../model/model.js";
import type { Access } from "../model/accesses.js";

const PREPOSITION = { load: "from", store: "to", atomic: "on" } as const;

/** `the store to c` */
export function describeAccess({ does, tensor }: Pick<Access, "does" | "tensor">): string {
  const what = does === "atomic" ? "atomic" : does;
  return tensor ? `the ${what} ${PREPOSITION[does]} ${tensor.name}` : `this ${what}`;
}

/** What would have to be known for a bound of an access, and what to write. */
export function describeMissingBound(
  model: SymbolicModel,
  access: Access,
  { axis, side, holds, claimed }: Bound,
): string {
  const { tensor } = access;
  const size = tensor?.kind === "tensor" ? tensor.dimNames[axis] : "its numel";
  const goal = `the index on axis ${axis} of ${tensor?.name} is ${side === "lower" ? "not negative" : `below ${size}`}`;
  const said = claimed ? `tl.inBounds says that ${goal}` : `nothing shows that ${goal}`;
  const remedy = claimed
    ? "leave tl.inBounds out"
    : tensor?.kind === "tensor"
      ? `access it by ${tensor.name}.at(…), which masks`
      : "mask the lane";
  return `${said}${describeUnknowns(model, remedy, [holds], [access.mask, ...access.path])}`;
}

/**
 * What it hangs on (values that are loaded, ops without a rule, parameters of unknown sign), and what to write: a fact, or
 * the other remedy.
 */
export function describeUnknowns(
  { environment, ir }: SymbolicModel,
  remedy: string,
  own: readonly Term[],
  around: readonly Term[],
): string {
  for (const terms of [own, [...own, ...around]]) {
    const words = new Set([...termsIn(...terms)].flatMap(({ name }) => environment.unknowns.get(name) ?? []));
    if (words.size === 0) continue;
    const open = inputsReadBy(...terms).filter((name) => !rangeOf(ir, name));
    const declare = open.length > 0 ? [`declare the range of ${open.join(" and ")}`] : [];
    return `; it depends on ${[...words].join(" and ")}; ${[...declare, remedy].join(", or ")}`;
  }
  const scalars = unboundedIn(ir, own);
  return scalars.length > 0
    ? `; nothing is known of ${scalars.join(", ")}; require a bound of it, or ${remedy}`
    : `; require what it takes, or ${remedy}`;
}

function rangeOf({ params }: KernelIR, name: string): boolean {
  return params.some((param) => param.kind === "tensor" && param.name === name && param.range !== undefined);
}

/** Numbers of the caller, which may be negative. */
function unboundedIn({ params }: KernelIR, terms: readonly Term[]): readonly string[] {
  const names = new Set([...termsIn(...terms)].map(({ name }) => name));
  return params.flatMap((param) => {
    const isOpen = param.kind === "scalar" || (param.kind === "constexpr" && param.from === "argument");
    return isOpen && names.has(param.name) ? [param.name] : [];
  });
}
