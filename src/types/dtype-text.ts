/** Texts in the place of dtypes, as PyTorch and Triton take them: what to write instead. */
import { type DTypeName, dtypeNames } from "./dtype.js";
import { foreignConstants } from "./unsupported-names.js";

const concrete = new Set<string>(dtypeNames);

/** The dtype that a text names, as Triton or PyTorch write it: `"float32"`, `"fp16"`, `"torch.int"`. */
export function dtypeOfText(text: unknown): string | undefined {
  if (typeof text !== "string") return undefined;
  const name = text.replace(/^(?:torch|tl)\./, "");
  if (concrete.has(name)) return `tl.${name}`;
  const own = Object.hasOwn(foreignConstants, name) ? foreignConstants[name as keyof typeof foreignConstants] : "";
  return concrete.has(own.replace("tl.", "")) ? own : undefined;
}

/** What is said of something else than a dtype, and of a text that names one. */
export function notADType(op: string, given: unknown, example = "tl.float32"): string {
  const dtype = dtypeOfText(given);
  return dtype === undefined
    ? `${op}: needs a dtype, such as ${example}`
    : `${op}: a dtype is not text; write ${dtype}`;
}
/** The same in the editor, for the names of the dtypes. */
export type NotADType<Op extends string, D> = D extends DTypeName
  ? `${Op}: a dtype is not text; write tl.${D}`
  : `${Op}: needs a dtype, such as tl.float32`;
