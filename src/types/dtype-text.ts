/** Remedies for strings that are passed as dtypes, as PyTorch and Triton allow. */
import { type DTypeName, dtypeNames } from "./dtype.js";
import { foreignConstants } from "./unsupported-names.js";

const concreteNames = new Set<string>(dtypeNames);

/** The dtype with this name in Triton or PyTorch: `"float32"`, `"fp16"`, `"torch.int"`. */
export function dtypeOfText(text: unknown): string | undefined {
  if (typeof text !== "string") return undefined;
  const name = text.replace(/^(?:torch|tl)\./, "");
  if (concreteNames.has(name)) return `tl.${name}`;
  const alias = Object.hasOwn(foreignConstants, name) ? foreignConstants[name as keyof typeof foreignConstants] : "";
  return concreteNames.has(alias.replace("tl.", "")) ? alias : undefined;
}

/** The message for a value that is not a dtype. For the name of a dtype, it suggests that dtype. */
export function notADType(op: string, value: unknown, example = "tl.float32"): string {
  const dtype = dtypeOfText(value);
  return dtype === undefined
    ? `${op}: needs a dtype, such as ${example}`
    : `${op}: a dtype is not text; write ${dtype}`;
}
/** The same at type level, for TileScript's names of dtypes. */
export type NotADType<Op extends string, D> = D extends DTypeName
  ? `${Op}: a dtype is not text; write tl.${D}`
  : `${Op}: needs a dtype, such as tl.float32`;
