/** The argument of `--types`: what a launch passes for each parameter, such as `x:*fp16,M:i32,BLOCK=64`. */
import { dtypeTable, type DTypeName } from "../types/dtype.js";
import type { GivenArgument, GivenSignature, Known } from "./tree.js";
import { dtypeName, isDTypeName } from "./value.js";

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
export class GivenTypesError extends Error {
  override readonly name = "GivenTypesError";
}

/** @throws GivenTypesError */
export function parseTypes(text: string): GivenSignature {
  const signature: Record<string, GivenArgument> = {};
  for (const part of parts(text)) {
    const match = /^\s*([A-Za-z_]\w*)\s*([:=])\s*(.*?)\s*$/s.exec(part);
    if (!match) throw new GivenTypesError(`${JSON.stringify(part)} is no NAME:TYPE or NAME=VALUE.`);
    const [, name, sign, given] = match as unknown as readonly [string, string, ":" | "=", string];
    if (name in signature) throw new GivenTypesError(`It gives ${name} twice.`);
    signature[name] = sign === ":" ? typeOf(name, given) : { kind: "constant", value: constantOf(name, given) };
  }
  return signature;
}

/** The parts between commas outside of brackets and quotes. */
function parts(text: string): readonly string[] {
  return text.match(/(?:"[^"]*"|'[^']*'|\([^()]*\)|[^,("'])+/g) ?? [];
}

function typeOf(name: string, given: string): GivenArgument {
  const [, star, dtype] = /^(\*?)\s*(\w+)$/.exec(given) ?? [];
  if (dtype === undefined || !isDTypeName(dtype))
    throw new GivenTypesError(`${name}:${given} is no type; write *fp16 for a pointer, or i32 for a number.`);
  return { kind: star === "*" ? "pointer" : "scalar", dtype: tritonName(dtype) };
}

const WORDS: Readonly<Record<string, Known>> = {
  True: { what: "constant", of: "bool", value: true },
  true: { what: "constant", of: "bool", value: true },
  False: { what: "constant", of: "bool", value: false },
  false: { what: "constant", of: "bool", value: false },
  None: { what: "constant", of: "NoneType", value: null },
};

function constantOf(name: string, given: string): Known {
  const word = WORDS[given];
  if (word) return word;
  const list = /^\((.*)\)$/s.exec(given);
  if (list) return { what: "list", items: parts(list[1]!).map((item) => constantOf(name, item.trim())) };
  if (/^[+-]?\d+$/.test(given)) return { what: "constant", of: "int", value: wide(given) };
  if (/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(given))
    return { what: "constant", of: "float", value: Number(given) };
  if (/^[+-]?inf$/.test(given)) return { what: "constant", of: "float", value: given };
  const dtype = /^(?:tl\.)?(\w+)$/.exec(given)?.[1];
  if (dtype !== undefined && isDTypeName(dtype)) return { what: "dtype", dtype: tritonName(dtype) };
  const quoted = /^"(.*)"$|^'(.*)'$/s.exec(given);
  if (quoted) return { what: "constant", of: "str", value: quoted[1] ?? quoted[2] ?? "" };
  // `@name` is a function of the file.
  if (/^@?[\w.+-]+$/.test(given)) return { what: "constant", of: "str", value: given };
  throw new GivenTypesError(`${name}=${given} is no value; write a number, True, False, None, a dtype or a string.`);
}

/** JavaScript has no exact integers beyond 2^53. */
const wide = (text: string): number | string => (Number.isSafeInteger(Number(text)) ? Number(text) : text);
