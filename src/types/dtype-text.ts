/** Remedies for strings that are passed as dtypes, as PyTorch and Triton allow. */
import { operandKind } from "../diagnostics/catalog/rule-codes.js";
import type { Fact, SentenceOf } from "../diagnostics/message.js";
import { type DTypeName, dtypeNames } from "./dtype.js";
import { foreignConstants } from "./unsupported-names.js";
import type { RuleError } from "./rule-error.js";

const concreteNames = new Set<string>(dtypeNames);

/** The dtype with this name in Triton or PyTorch: `"float32"`, `"fp16"`, `"torch.int"`. */
export function dtypeOfText(text: unknown): string | undefined {
  if (typeof text !== "string") return undefined;
  const name = text.replace(/^(?:torch|tl)\./, "");
  if (concreteNames.has(name)) return `tl.${name}`;
  const alias = Object.hasOwn(foreignConstants, name) ? foreignConstants[name as keyof typeof foreignConstants] : "";
  return concreteNames.has(alias.replace("tl.", "")) ? alias : undefined;
}

const textAsDType = <Op extends Fact, DType extends Fact>(op: Op, dtype: DType) =>
  operandKind(`${op}: a dtype is not text`, `write ${dtype}`);
export const noDType = <Op extends Fact, Example extends Fact>(op: Op, example: Example) =>
  operandKind(`${op}: needs a dtype, such as ${example}`);

/** The message for a value that is not a dtype. For the name of a dtype, it suggests that dtype. */
export function notADType(op: string, value: unknown, example = "tl.float32"): RuleError {
  const dtype = dtypeOfText(value);
  return dtype === undefined ? noDType(op, example) : textAsDType(op, dtype);
}
/** The same at type level, for TileScript's names of dtypes. */
export type NotADType<Op extends string, D> = D extends DTypeName
  ? SentenceOf<typeof textAsDType<Op, `tl.${D}`>>
  : SentenceOf<typeof noDType<Op, "tl.float32">>;
