/**
 * Checks a finished kernel against the rules that built it: every op is typed again by its own rule, for each member of
 * each dtype variable, and every field of the type must come out the same.
 */
import { type Diagnostic, problem } from "../diagnostics/diagnostic.js";
import { brokenRule } from "../diagnostics/catalogue/rule-codes.js";
import type { DTypeName, Elem } from "../types/dtype.js";
import type { KernelIR, OpStatement } from "../ir/nodes.js";
import type { Dim } from "../types/shape.js";
import { typedArguments } from "../ir/typed.js";
import { sameType, showType, type Type } from "../types/types.js";
import { walkAll } from "../ir/walk.js";

/** Concrete dtypes by the name of the variable that has them. */
export type Binding = Readonly<Record<string, DTypeName>>;

export function checkStructure(ir: KernelIR): readonly Diagnostic[] {
  const found = new Map<string, Diagnostic>();
  for (const binding of bindings(ir))
    walkAll(ir, (statement) => {
      if (statement.kind !== "op") return;
      const message = retype(statement, binding);
      if (message !== "") found.set(`${message}@${statement.at?.line}`, problem(brokenRule(message), statement.at));
    });
  return [...found.values()];
}

/** Every choice of dtypes that the kernel can be called with. */
export function bindings(ir: KernelIR): readonly Binding[] {
  const variables = new Map<string, readonly DTypeName[]>();
  for (const param of ir.params) {
    const elem = param.kind === "tensor" ? param.dtype : param.kind === "constexpr" ? param.variable : undefined;
    if (elem !== undefined && typeof elem !== "string") variables.set(elem.name, elem.members);
  }
  return [...variables].reduce<readonly Binding[]>(
    (all, [name, members]) => all.flatMap((binding) => members.map((member) => ({ ...binding, [name]: member }))),
    [{}],
  );
}

/** What is wrong with a statement when dtype variables are bound, or "". */
function retype(statement: OpStatement, binding: Binding): string {
  const args = typedArguments(statement, {
    type: (type) => bind(type, binding),
    elem: (elem) => bindElem(elem, binding),
  });
  const answer = statement.op.infer(args);
  const which = Object.entries(binding).map(([name, member]) => `${name} = ${member}`);
  const suffix = which.length > 0 ? ` (with ${which.join(", ")})` : "";
  if (typeof answer === "string") return `${answer}${suffix}`;
  const types = "kind" in answer ? (answer.kind === "none" ? [] : [answer]) : answer;
  for (const [i, value] of statement.results.entries()) {
    const expected = bind(value.type, binding);
    const got = types[i];
    if (got && sameType(bind(got, binding), expected)) continue;
    return `${statement.op.name}: gives ${got ? showType(got) : "nothing"} where ${showType(expected)} is expected${suffix}; cast with .to(…)`;
  }
  return "";
}

function bindElem(elem: Elem, binding: Binding): Elem {
  return typeof elem === "string" ? elem : (binding[elem.name] ?? elem);
}

function bind(type: Type, binding: Binding): Type {
  const dims = (shape: readonly Dim[]) => shape.map((dim) => (typeof dim === "string" ? bindText(dim, binding) : dim));
  if (type.kind === "tile") return { ...type, dtype: bindElem(type.dtype, binding), shape: dims(type.shape) };
  if (type.kind === "pointer" || type.kind === "view" || type.kind === "descriptor")
    return { ...type, to: bindElem(type.to, binding), shape: dims(type.shape) };
  if (type.kind === "tensor") return { ...type, to: bindElem(type.to, binding) };
  return type.kind === "constexpr" ? { ...type, text: bindText(type.text, binding) } : type;
}

/** A constexpr asks a dtype: `T.bits` of one member is `float16.bits`. */
function bindText(text: string, binding: Binding): string {
  if (!text.includes(".")) return text;
  return text.replace(/\b([A-Za-z_]\w*)\.(?=[a-z])/g, (found, name: string) =>
    name in binding ? `${binding[name]}.` : found,
  );
}
