/** All diagnostic codes. */
import * as calls from "./call-codes.js";
import * as commands from "./command-codes.js";
import * as configs from "./config-codes.js";
import * as control from "./control-codes.js";
import * as definitions from "./definition-codes.js";
import * as externs from "./extern-codes.js";
import * as findings from "./finding-codes.js";
import * as host from "./host-codes.js";
import * as operands from "./operand-codes.js";
import * as operators from "./operator-codes.js";
import * as params from "./param-codes.js";
import * as proofs from "./proof-codes.js";
import * as references from "./reference-codes.js";
import * as rules from "./rule-codes.js";
import * as source from "./source-codes.js";

/** The entries by area, in the order of `docs/diagnostics.md`. */
export const catalog = {
  definitions,
  params,
  configs,
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

type Areas = typeof catalog;
type CodesOf<Area> = Area[keyof Area] extends infer Entry
  ? Entry extends { readonly code: infer C }
    ? C
    : never
  : never;

/** The parts of the catalog. */
export type Area = keyof Areas;
/** A code of an area. */
export type CodeOf<A extends Area> = CodesOf<Areas[A]>;
/** A diagnostic code, such as `scope-escape`; `tilescript explain CODE` explains it. */
export type DiagnosticCode = { [A in Area]: CodeOf<A> }[Area];
/** A code of the evaluator's findings. */
export type FindingCode = CodeOf<"findings">;
