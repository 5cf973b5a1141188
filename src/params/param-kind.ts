/** What stands among the params that no builder made. */
import { elemOf, isDType, type DType, type Dt, type Token } from "../types/dtype.js";
import type { Fraction } from "../types/promote.js";
import type { Param } from "./param-types.js";

/** What authors take for the types of params, and what to write. */
const javaScript = {
  Number: "scalar(tl.float32) for a number of the call, or constexpr() for one of the config",
  BigInt: "scalar(tl.int64)",
  Boolean: "constexpr.bool()",
  String: 'constexpr.string(["first", "second"])',
  Array: 'tensor(tl.float32, ["N"])',
  Float32Array: 'tensor(tl.float32, ["N"])',
  Int32Array: 'tensor(tl.int32, ["N"])',
} as const;
type JavaScript = typeof javaScript;
/** Each constructor with its name. The checker knows those that are in every library. */
type NameOf<V> = { [Name in keyof JavaScript]: V extends (typeof globalThis)[Name] ? Name : never }[keyof JavaScript];

/** The sentence about param `K`, without the kernel's name. */
export type WhyParam<K extends string, V> = V extends number
  ? `${K} is a number, not a param; write ${K}: ${`${V}` extends Fraction ? "constexpr.float()" : "constexpr()"} among the params and config: { ${K}: ${V} }`
  : V extends DType<any>
    ? `${K} is a dtype, not a param; write ${K}: tensor(${Token<V[Dt]>}, ["N"]), or scalar(${Token<V[Dt]>})`
    : [NameOf<V>] extends [never]
      ? V extends (...given: never) => unknown
        ? `${K} is a function that makes params; call it, as in constexpr() or tensor(tl.float32, ["N"])`
        : `${K} is not a param; write tensor(…), pointer(…), scalar(…) or constexpr()`
      : `${K} is JavaScript's ${NameOf<V>}, not a param; write ${K}: ${JavaScript[NameOf<V>]}`;
export function whyParam(param: string, given: unknown): string {
  if (typeof given === "object" && given !== null && "kind" in given) return "";
  if (typeof given === "number")
    return `${param} is a number, not a param; write ${param}: ${Number.isInteger(given) ? "constexpr()" : "constexpr.float()"} among the params and config: { ${param}: ${String(given)} }`;
  const elem = isDType(given) ? elemOf(given) : undefined;
  if (typeof elem === "string")
    return `${param} is a dtype, not a param; write ${param}: tensor(tl.${elem}, ["N"]), or scalar(tl.${elem})`;
  const names = Object.keys(javaScript) as (keyof JavaScript)[];
  const own = names.find((name) => globalThis[name] === given);
  if (own) return `${param} is JavaScript's ${own}, not a param; write ${param}: ${javaScript[own]}`;
  return typeof given === "function"
    ? `${param} is a function that makes params; call it, as in constexpr() or tensor(tl.float32, ["N"])`
    : `${param} is not a param; write tensor(…), pointer(…), scalar(…) or constexpr()`;
}

/** Params where each is one. What is none has a sentence in its place, and the others keep their types. */
export type CheckedParams<P> = [P[keyof P]] extends [Param] ? P : WithSentences<P>;
type WithSentences<P> = { readonly [K in keyof P]: P[K] extends Param ? P[K] : WhyParam<K & string, P[K]> };
