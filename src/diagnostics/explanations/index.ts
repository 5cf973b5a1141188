/** What each code is about, with an example. For the page, the tests and `tilescript explain`: no kernel needs it. */
import type { DiagnosticCode } from "../catalogue/index.js";
import { configurations, host } from "./config-examples.js";
import { control, source } from "./control-examples.js";
import { definitions } from "./definition-examples.js";
import type { Explanation } from "./explanation.js";
import { commands, findings, proofs } from "./finding-examples.js";
import { externs, operands, rules } from "./operand-examples.js";
import { params } from "./param-examples.js";
import { calls, operators, references } from "./torch-examples.js";

export const explanations: Readonly<Record<DiagnosticCode, Explanation>> = {
  ...definitions,
  ...params,
  ...configurations,
  ...host,
  ...source,
  ...control,
  ...operands,
  ...rules,
  ...externs,
  ...references,
  ...operators,
  ...calls,
  ...findings,
  ...proofs,
  ...commands,
};
