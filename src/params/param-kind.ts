/** Error messages for params that are not the result of a builder such as `tensor(…)`. */
import { wrongParam } from "../diagnostics/catalog/rule-codes.js";
import type { Fact, SentenceOf } from "../diagnostics/message.js";
import { elemOf, isDType, type DType, type Dt, type Token } from "../types/dtype.js";
import type { Fraction } from "../types/promote.js";
import type { Param } from "./param-types.js";

/** JavaScript constructors that authors mistake for param types, and the builders to use instead. */
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
/** The name of a constructor. Contains only constructors that are declared in every TypeScript lib. */
type NameOf<V> = { [Name in keyof JavaScript]: V extends (typeof globalThis)[Name] ? Name : never }[keyof JavaScript];

const numberForParam = <K extends string, Builder extends string, Value extends Fact>(
  param: K,
  builder: Builder,
  value: Value,
) =>
  wrongParam(
    `${param} is a number, not a param`,
    `write ${param}: ${builder} among the params and config: { ${param}: ${value} }`,
  );
const dtypeForParam = <K extends string, DType extends string>(param: K, dtype: DType) =>
  wrongParam(`${param} is a dtype, not a param`, `write ${param}: tensor(${dtype}, ["N"]), or scalar(${dtype})`);
const uncalledBuilder = <K extends string>(param: K) =>
  wrongParam(`${param} is a function that makes params`, 'call it, as in constexpr() or tensor(tl.float32, ["N"])');
const noParam = <K extends string>(param: K) =>
  wrongParam(`${param} is not a param`, "write tensor(…), pointer(…), scalar(…) or constexpr()");
const javaScriptForParam = <K extends string, Name extends string, Builder extends string>(
  param: K,
  name: Name,
  builder: Builder,
) => wrongParam(`${param} is JavaScript's ${name}, not a param`, `write ${param}: ${builder}`);

/** The error message for param `K`, without the kernel's name. */
export type WhyParam<K extends string, V> = V extends number
  ? SentenceOf<typeof numberForParam<K, `${V}` extends Fraction ? "constexpr.float()" : "constexpr()", V>>
  : V extends DType<any>
    ? SentenceOf<typeof dtypeForParam<K, Token<V[Dt]>>>
    : [NameOf<V>] extends [never]
      ? V extends (...args: never) => unknown
        ? SentenceOf<typeof uncalledBuilder<K>>
        : SentenceOf<typeof noParam<K>>
      : SentenceOf<typeof javaScriptForParam<K, NameOf<V>, JavaScript[NameOf<V>]>>;
export function whyParam(param: string, value: unknown): ReturnType<typeof wrongParam> | undefined {
  if (typeof value === "object" && value !== null && "kind" in value) return undefined;
  if (typeof value === "number")
    return numberForParam(param, Number.isInteger(value) ? "constexpr()" : "constexpr.float()", String(value));
  const elem = isDType(value) ? elemOf(value) : undefined;
  if (typeof elem === "string") return dtypeForParam(param, `tl.${elem}`);
  const names = Object.keys(javaScript) as (keyof JavaScript)[];
  const constructorName = names.find((name) => globalThis[name] === value);
  if (constructorName) return javaScriptForParam(param, constructorName, javaScript[constructorName]);
  return typeof value === "function" ? uncalledBuilder(param) : noParam(param);
}

/** The params, with an error message in place of each invalid one. Valid params keep their types. */
export type CheckedParams<P> = [P[keyof P]] extends [Param] ? P : WithMessages<P>;
type WithMessages<P> = { readonly [K in keyof P]: P[K] extends Param ? P[K] : WhyParam<K & string, P[K]> };
