/** The argument of `--types`: what a launch passes for each parameter, such as `x:*fp16,M:i32,BLOCK=64`. */
import { dtypeTable, type DTypeName } from "../types/dtype.js";
import type { GivenArgument, GivenSignature, GlobalBinding } from "./tree.js";
import { suggestName } from "../diagnostics/did-you-mean.js";
import { dtypeName, isDTypeName, SHORT_NAMES } from "./value.js";

/** Triton's own name of a dtype in signatures: `fp16` for `float16`, `i32` for `int32`. */
export function tritonName(name: string): string {
  const known: DTypeName = dtypeName(name);
  const { bits, kind, signed } = dtypeTable[known];
  if (known === "int1") return "i1";
  if (kind === "int") return `${signed ? "i" : "u"}${bits}`;
  if (known === "bfloat16") return "bf16";
  return bits === 8 ? known.replace("float", "fp") : `fp${bits}`;
}

/** Why the text is no list of types, as a sentence with its remedy. */
export class TypeListError extends Error {
  override readonly name = "GivenTypesError";
}

/** @throws GivenTypesError */
export function parseTypes(text: string): GivenSignature {
  const signature: Record<string, GivenArgument> = {};
  for (const part of parts(text)) {
    const match = /^([A-Za-z_]\w*)\s*([:=])\s*(.*)$/s.exec(part);
    if (!match) throw unnamed(part);
    const [, name, sign, given] = match as unknown as readonly [string, string, ":" | "=", string];
    if (name in signature) throw new TypeListError(`It gives ${name} twice; leave out one of the two.`);
    signature[name] = sign === ":" ? typeOf(name, given) : { kind: "constant", value: constantOf(name, given) };
  }
  return signature;
}

function unnamed(part: string): TypeListError {
  const isAlone = /^\*?\w[\w.]*$/.test(part);
  const instead = isAlone
    ? `each needs the name of its parameter, such as x:${part.startsWith("*") ? part : "i32"}`
    : "write x:*fp16 for a pointer, n:i32 for a number, BLOCK=64 for a constant";
  return new TypeListError(`${JSON.stringify(part)} is no NAME:TYPE or NAME=VALUE; ${instead}.`);
}

const CLOSED_BY: Readonly<Record<string, string>> = { "(": ")", "[": "]" };

/** The parts between commas outside of brackets and quotes, without white space around them; empty ones are left out. */
function parts(text: string): readonly string[] {
  const found = [""];
  const open: string[] = [];
  let quote: string | undefined;
  for (const letter of text) {
    const isSplit = letter === "," && quote === undefined && open.length === 0;
    if (isSplit) found.push("");
    else found[found.length - 1] += letter;
    if (quote !== undefined) quote = letter === quote ? undefined : quote;
    else if (letter === '"' || letter === "'") quote = letter;
    else if (letter in CLOSED_BY) open.push(CLOSED_BY[letter]!);
    else if ((letter === ")" || letter === "]") && open.pop() !== letter) throw unbalanced(found.at(-1)!, letter);
  }
  if (quote !== undefined || open.length > 0) throw unbalanced(found.at(-1)!, quote ?? open.at(-1)!);
  return found.map((part) => part.trim()).filter((part) => part !== "");
}

const unbalanced = (part: string, mark: string): TypeListError =>
  new TypeListError(`${JSON.stringify(part.trim())} has a ${mark} too many or too few.`);

function typeOf(name: string, given: string): GivenArgument {
  if (/^\*?\s*(nv)?tma|tensor_?desc/i.test(given)) return descriptorOf(name, given);
  const [, star, dtype] = /^(\*?)\s*(?:(?:tl|torch|triton\.language)\.)?(\w+)$/.exec(given) ?? [];
  if (dtype === undefined || !isDTypeName(dtype))
    throw new TypeListError(`${name}:${given} is no type; ${typeInstead(name, given)}.`);
  return { kind: star === "*" ? "pointer" : "scalar", dtype: tritonName(dtype) };
}

/** `tensordesc<fp16[BLOCK_M, 64]>`, as Triton's signatures have it, and with names of constants. */
function descriptorOf(name: string, given: string): GivenArgument {
  const [, dtype, list] = /^tensordesc\s*<\s*(?:(?:tl|torch)\.)?(\w+)\s*\[([^\]]*)\]\s*>$/.exec(given) ?? [];
  const dims = parts(list ?? "");
  const instead = `write ${name}:tensordesc<fp16[BLOCK_M,64]>, with its block in numbers and constants`;
  if (dtype === undefined || !isDTypeName(dtype) || dims.length === 0 || !dims.every((dim) => /^\w+$/.test(dim)))
    throw new TypeListError(`${name}:${given} is no type of a descriptor; ${instead}.`);
  const block = dims.map((dim) => (/^\d+$/.test(dim) ? Number(dim) : dim));
  return { kind: "descriptor", dtype: tritonName(dtype), block };
}

/** Names that other languages and PyTorch have. */
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

/** What to write in place of a type that is none. */
function typeInstead(name: string, given: string): string {
  const [, star = "", dtype = "", tail = ""] = /^(\**)\s*(?:(?:tl|torch)\.)?(\w*)(.*)$/s.exec(given) ?? [];
  const typeNamed = (each: string): string | undefined =>
    OTHER_NAMES[each.toLowerCase()] ??
    (isDTypeName(each) ? tritonName(each) : suggestName(each, [...SHORT_NAMES, ...Object.keys(dtypeTable)]));
  const meant = typeNamed(dtype);
  if (/[;\s]\s*\w+\s*[:=]/.test(tail)) return `separate parameters by commas, such as ${name}:${star}${dtype},n:i32`;
  if (star.length > 1) return `a pointer to pointers is an array of addresses, ${name}:*i64`;
  if (given === "constexpr" || given === "tl.constexpr") return `a constant is given by its value, such as ${name}=64`;
  if (/^[([]/.test(given)) return `a parameter takes one pointer or number, or a tuple of constants, ${name}=(1,2)`;
  if (isValue(given)) return `a value stands behind =, ${name}=${given}`;
  if (tail === "*" && meant !== undefined) return `the star of a pointer stands first, ${name}:*${meant}`;
  if (/^:\d+$/.test(tail) && meant !== undefined)
    return `what it is a multiple of changes nothing here, ${name}:${star}${meant}`;
  if (meant !== undefined && tail === "") return `write ${name}:${star}${meant}`;
  return `write ${name}:*fp16 for a pointer, or ${name}:i32 for a number`;
}

function isValue(given: string): boolean {
  return given in WORDS || /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$|^["'@]/i.test(given);
}

const WORDS: Readonly<Record<string, GlobalBinding>> = {
  True: { what: "constant", of: "bool", value: true },
  true: { what: "constant", of: "bool", value: true },
  False: { what: "constant", of: "bool", value: false },
  false: { what: "constant", of: "bool", value: false },
  None: { what: "constant", of: "NoneType", value: null },
};

function constantOf(name: string, given: string): GlobalBinding {
  const word = WORDS[given];
  if (word) return word;
  const list = /^\((.*)\)$/s.exec(given);
  if (list) return { what: "list", items: parts(list[1]!).map((item) => constantOf(name, item)) };
  if (/^[+-]?\d+$/.test(given)) return { what: "constant", of: "int", value: wide(given) };
  if (/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(given))
    return { what: "constant", of: "float", value: Number(given) };
  if (/^[+-]?inf$/.test(given)) return { what: "constant", of: "float", value: given };
  const dtype = /^(?:(?:tl|torch|triton\.language)\.)?(\w+)$/.exec(given)?.[1];
  if (dtype !== undefined && isDTypeName(dtype)) return { what: "dtype", dtype: tritonName(dtype) };
  const quoted = /^"(.*)"$|^'(.*)'$/s.exec(given);
  if (quoted) return { what: "constant", of: "str", value: quoted[1] ?? quoted[2] ?? "" };
  // `@name` is a function of the file.
  if (/^@?[\w.+-]+$/.test(given)) return { what: "constant", of: "str", value: given };
  throw new TypeListError(`${name}=${given} is no value; ${valueInstead(name, given)}.`);
}

/** What to write in place of a value that is none. */
function valueInstead(name: string, given: string): string {
  if (/^\*\s*[\w.]+$/.test(given)) return `a type stands behind a colon, ${name}:${given}`;
  const [, value, next] = /^([^;\s]*)[;\s]\s*(\w+\s*[:=].*)$/s.exec(given) ?? [];
  if (next !== undefined && value !== "lambda") return `separate parameters by commas, ${name}=${value},${next}`;
  const list = /^\[(.*)\]$/s.exec(given);
  if (list) return `write a tuple, ${name}=(${list[1]})`;
  return "write a number, True, False, None, a dtype, a tuple, a string in quotes, or @name of a function of the file";
}

/** JavaScript has no exact integers beyond 2^53. */
const wide = (text: string): number | string => (Number.isSafeInteger(Number(text)) ? Number(text) : text);
