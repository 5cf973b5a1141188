/** Parses the argument of `--types`: the types and constants of a launch, such as `x:*fp16,M:i32,BLOCK=64`. */
import { dtypeTable, type DTypeName } from "../types/dtype.js";
import type { LaunchArgument, LaunchSignature, GlobalBinding } from "./tree.js";
import { isOfObjects } from "./author-name.js";
import { suggestName } from "../diagnostics/message.js";
import { dtypeName, isDTypeName, SHORT_DTYPE_NAMES } from "./value.js";

/** The name of a dtype in Triton's signatures: `fp16` for `float16`, `i32` for `int32`. */
export function tritonName(name: string): string {
  const dtype: DTypeName = dtypeName(name);
  const { bits, kind, signed } = dtypeTable[dtype];
  if (dtype === "int1") return "i1";
  if (kind === "int") return `${signed ? "i" : "u"}${bits}`;
  if (dtype === "bfloat16") return "bf16";
  return bits === 8 ? dtype.replace("float", "fp") : `fp${bits}`;
}

/** A syntax error in a list of types. The message is a sentence with a remedy. */
export class TypeListError extends Error {
  override readonly name = "GivenTypesError";
}

/** @throws TypeListError */
export function parseTypes(text: string): LaunchSignature {
  const signature: Record<string, LaunchArgument> = {};
  for (const part of splitList(text)) {
    const match = /^([A-Za-z_]\w*)\s*([:=])\s*(.*)$/s.exec(part);
    if (!match) throw unnamedError(part);
    const [, name, sign, valueText] = match as unknown as readonly [string, string, ":" | "=", string];
    if (isOfObjects(name))
      throw new TypeListError(`${name} belongs to every object of JavaScript; rename the parameter.`);
    if (name in signature) throw new TypeListError(`It gives ${name} twice; leave out one of the two.`);
    signature[name] =
      sign === ":" ? parseType(name, valueText) : { kind: "constant", value: parseConstant(name, valueText) };
  }
  return signature;
}

function unnamedError(part: string): TypeListError {
  const isTypeOnly = /^\*?\w[\w.]*$/.test(part);
  const remedy = isTypeOnly
    ? `each needs the name of its parameter, such as x:${part.startsWith("*") ? part : "i32"}`
    : "write x:*fp16 for a pointer, n:i32 for a number, BLOCK=64 for a constant";
  return new TypeListError(`${JSON.stringify(part)} is no NAME:TYPE or NAME=VALUE; ${remedy}.`);
}

const CLOSED_BY: Readonly<Record<string, string>> = { "(": ")", "[": "]" };

/** Splits at commas outside of brackets and quotes. Items are trimmed, and empty items are dropped. */
function splitList(text: string): readonly string[] {
  const items: string[] = [];
  let item = "";
  const open: string[] = [];
  let quote: string | undefined;
  for (const letter of text) {
    const isSeparator = letter === "," && quote === undefined && open.length === 0;
    if (isSeparator) {
      items.push(item);
      item = "";
    } else item += letter;
    const closing = CLOSED_BY[letter];
    if (quote !== undefined) quote = letter === quote ? undefined : quote;
    else if (letter === '"' || letter === "'") quote = letter;
    else if (closing !== undefined) open.push(closing);
    else if ((letter === ")" || letter === "]") && open.pop() !== letter) throw unbalancedError(item, letter);
  }
  const missing = quote ?? open.at(-1);
  if (missing !== undefined) throw unbalancedError(item, missing);
  return [...items, item].map((part) => part.trim()).filter((part) => part !== "");
}

const unbalancedError = (part: string, mark: string): TypeListError =>
  new TypeListError(`${JSON.stringify(part.trim())} has a ${mark} too many or too few.`);

function parseType(name: string, text: string): LaunchArgument {
  if (/^\*?\s*(nv)?tma|tensor_?desc/i.test(text)) return parseDescriptorType(name, text);
  const [, star, dtype] = /^(\*?)\s*(?:(?:tl|torch|triton\.language)\.)?(\w+)$/.exec(text) ?? [];
  if (dtype === undefined || !isDTypeName(dtype))
    throw new TypeListError(`${name}:${text} is no type; ${typeRemedy(name, text)}.`);
  return { kind: star === "*" ? "pointer" : "scalar", dtype: tritonName(dtype) };
}

/** Parses `tensordesc<fp16[BLOCK_M, 64]>`: Triton's signature syntax, extended by names of constants. */
function parseDescriptorType(name: string, text: string): LaunchArgument {
  const [, dtype, list] = /^tensordesc\s*<\s*(?:(?:tl|torch)\.)?(\w+)\s*\[([^\]]*)\]\s*>$/.exec(text) ?? [];
  const dims = splitList(list ?? "");
  const remedy = `write ${name}:tensordesc<fp16[BLOCK_M,64]>, with its block in numbers and constants`;
  if (dtype === undefined || !isDTypeName(dtype) || dims.length === 0 || !dims.every((dim) => /^\w+$/.test(dim)))
    throw new TypeListError(`${name}:${text} is no type of a descriptor; ${remedy}.`);
  const block = dims.map((dim) => (/^\d+$/.test(dim) ? Number(dim) : dim));
  return { kind: "descriptor", dtype: tritonName(dtype), block };
}

/** Dtype names of other languages and of PyTorch. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  half: "fp16",
  float: "fp32",
  f16: "fp16",
  f32: "fp32",
  f64: "fp64",
  double: "fp64",
  int: "i32",
  long: "i64",
  short: "i16",
  byte: "u8",
  bool: "i1",
  float8_e4m3fn: "fp8e4nv",
  float8_e5m2: "fp8e5",
};

/** A remedy for an invalid type. */
function typeRemedy(name: string, text: string): string {
  const [, star = "", dtype = "", tail = ""] = /^(\**)\s*(?:(?:tl|torch)\.)?(\w*)(.*)$/s.exec(text) ?? [];
  const suggestType = (spelling: string): string | undefined =>
    OTHER_NAMES[spelling.toLowerCase()] ??
    (isDTypeName(spelling)
      ? tritonName(spelling)
      : suggestName(spelling, [...SHORT_DTYPE_NAMES, ...Object.keys(dtypeTable)]));
  const suggestion = suggestType(dtype);
  if (/[;\s]\s*\w+\s*[:=]/.test(tail)) return `separate parameters by commas, such as ${name}:${star}${dtype},n:i32`;
  if (star.length > 1) return `a pointer to pointers is an array of addresses, ${name}:*i64`;
  if (text === "constexpr" || text === "tl.constexpr") return `a constant is given by its value, such as ${name}=64`;
  if (/^[([]/.test(text)) return `a parameter takes one pointer or number, or a tuple of constants, ${name}=(1,2)`;
  if (isValue(text)) return `a value stands behind =, ${name}=${text}`;
  if (tail === "*" && suggestion !== undefined) return `the star of a pointer stands first, ${name}:*${suggestion}`;
  if (/^:\d+$/.test(tail) && suggestion !== undefined)
    return `a divisor changes nothing here, ${name}:${star}${suggestion}`;
  if (suggestion !== undefined && tail === "") return `write ${name}:${star}${suggestion}`;
  return `write ${name}:*fp16 for a pointer, or ${name}:i32 for a number`;
}

function isValue(text: string): boolean {
  return text in KEYWORDS || /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$|^["'@]/i.test(text);
}

const KEYWORDS: Readonly<Record<string, GlobalBinding>> = {
  True: { what: "constant", of: "bool", value: true },
  true: { what: "constant", of: "bool", value: true },
  False: { what: "constant", of: "bool", value: false },
  false: { what: "constant", of: "bool", value: false },
  None: { what: "constant", of: "NoneType", value: null },
};

function parseConstant(name: string, text: string): GlobalBinding {
  const keyword = KEYWORDS[text];
  if (keyword) return keyword;
  const [, list] = /^\((.*)\)$/s.exec(text) ?? [];
  if (list !== undefined) return { what: "list", items: splitList(list).map((item) => parseConstant(name, item)) };
  if (/^[+-]?\d+$/.test(text)) return { what: "constant", of: "int", value: toWireInteger(text) };
  if (/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text)) return { what: "constant", of: "float", value: Number(text) };
  if (/^[+-]?inf$/.test(text)) return { what: "constant", of: "float", value: text };
  const dtype = /^(?:(?:tl|torch|triton\.language)\.)?(\w+)$/.exec(text)?.[1];
  if (dtype !== undefined && isDTypeName(dtype)) return { what: "dtype", dtype: tritonName(dtype) };
  const quoted = /^"(.*)"$|^'(.*)'$/s.exec(text);
  if (quoted) return { what: "constant", of: "str", value: quoted[1] ?? quoted[2] ?? "" };
  // `@name` names a function of the Python file.
  if (/^@?[\w.+-]+$/.test(text)) return { what: "constant", of: "str", value: text };
  throw new TypeListError(`${name}=${text} is no value; ${valueRemedy(name, text)}.`);
}

/** A remedy for an invalid value. */
function valueRemedy(name: string, text: string): string {
  if (/^\*\s*[\w.]+$/.test(text)) return `a type stands behind a colon, ${name}:${text}`;
  const [, value, next] = /^([^;\s]*)[;\s]\s*(\w+\s*[:=].*)$/s.exec(text) ?? [];
  if (next !== undefined && value !== "lambda") return `separate parameters by commas, ${name}=${value},${next}`;
  const list = /^\[(.*)\]$/s.exec(text);
  if (list) return `write a tuple, ${name}=(${list[1]})`;
  return "write a number, True, False, None, a dtype, a tuple, a string in quotes, or @name of a function of the file";
}

/** Integers beyond 2^53 are sent as text, because JavaScript numbers cannot represent them. */
const toWireInteger = (text: string): number | string => (Number.isSafeInteger(Number(text)) ? Number(text) : text);
