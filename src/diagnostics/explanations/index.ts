/**
 * The explanation of each code, with an example. Used by the docs page, the tests and `tilescript explain`, never by
 * kernels.
 */
import type { Area, CodeOf, DiagnosticCode } from "../catalog/index.js";
import { control, source } from "./control-examples.js";
import { definitions, configurations, host, calls, operators, references } from "./definition-examples.js";
import type { Explanation } from "./explanation.js";
import { commands, findings, proofs } from "./finding-examples.js";
import { params, externs, operands, rules } from "./param-examples.js";
/** By area, in the order of the catalog. A separate list, so that no process loads the catalog for it. */
const byArea: { readonly [A in Area]: Readonly<Record<CodeOf<A>, Explanation>> } = {
  definitions,
  params,
  configs: configurations,
  host,
  source,
  control,
  operands,
  rules,
  externs,
  references,
  operators,
  calls,
  findings,
  proofs,
  commands,
};

export const explanations = Object.assign({}, ...Object.values(byArea)) as Readonly<
  Record<DiagnosticCode, Explanation>
>;

/** Every code by area, in alphabetical order. */
export const codesByArea = Object.fromEntries(
  Object.entries(byArea).map(([area, explanationsOfArea]) => [area, Object.keys(explanationsOfArea).toSorted()]),
) as unknown as Readonly<Record<Area, readonly DiagnosticCode[]>>;
