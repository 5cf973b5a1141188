/** Parses `NAME=VALUE` on the command line into a kernel's sizes, scalars and constexprs. */
import { type CompiledKernel, type ConstexprSignature, passedConstexprs } from "../../compiled/compiled-kernel.js";
import type { Selection } from "../cases/selection.js";
import { UsageError } from "../system/errors.js";

type Assignments = Readonly<Record<string, string>>;
export type GivenValues = Required<Pick<Selection, "sizes" | "scalars" | "constexprs">>;

/** Parses all sizes, and optionally scalars and constexprs of the caller. `sizes` are the required names. */
export function valuesFromFlags(
  option: string,
  { signature, configs }: CompiledKernel,
  assignments: Assignments,
  sizes: readonly string[] = signature.sizes,
): GivenValues {
  const values = { sizes: {}, scalars: {}, constexprs: {} } as Record<keyof GivenValues, Record<string, any>>;
  const passed = passedConstexprs(signature);
  for (const [name, text] of Object.entries(assignments)) {
    const scalar = signature.scalars.find((each) => each.name === name);
    const constexpr = signature.constexprs.find((each) => each.name === name);
    const label = `${option}: ${name}=${text}`;
    if (sizes.includes(name)) values.sizes[name] = parseSize(label, text);
    else if (scalar) values.scalars[name] = parseNumber(label, text, scalar.dtype.includes("int"));
    else if (constexpr && passed.includes(constexpr)) values.constexprs[name] = parseConstexpr(label, text, constexpr);
    else if (constexpr) throw new UsageError(`${option}: ${whyNotAssignable(constexpr, configs)}`);
    else {
      const names = [...signature.scalars, ...passed].map((each) => each.name);
      const others = names.length > 0 ? `; it also takes ${names.join(", ")}` : "";
      throw new UsageError(`${option}: there is no size ${name}; the sizes are ${sizes.join(", ")}${others}`);
    }
  }
  const missing = sizes.filter((name) => !(name in values.sizes));
  if (missing.length > 0)
    throw new UsageError(`${option}: ${missing.join(", ")} missing; give values for ${sizes.join(", ")}`);
  return { ...values, sizes: Object.fromEntries(sizes.map((name) => [name, values.sizes[name]])) };
}

/** Parses constexpr values that override those of a config. */
export function configValues(
  option: string,
  { signature }: CompiledKernel,
  assignments: Assignments,
): Readonly<Record<string, number | boolean | string>> {
  const constexprs = signature.constexprs.filter(({ from }) => from === "config");
  return Object.fromEntries(
    Object.entries(assignments).map(([name, text]) => {
      const constexpr = constexprs.find((each) => each.name === name);
      const names = constexprs.map((each) => each.name).join(", ") || "none";
      if (!constexpr)
        throw new UsageError(`${option}: there is no constexpr ${name} of the configs; they have ${names}`);
      return [name, parseConstexpr(`${option}: ${name}=${text}`, text, constexpr)];
    }),
  );
}

/** The reason why the caller cannot pass a constexpr. */
function whyNotAssignable({ name, from, variable }: ConstexprSignature, configs: CompiledKernel["configs"]): string {
  if (variable !== undefined) return `${name} is a dtype; choose it with --dtype ${variable}=…`;
  if (from !== "config") return `${name} is computed at the launch; leave it out`;
  const values = configs.map((config, i) => `${i} has ${config.values[name]}`);
  return `${name} belongs to the configs (${values.slice(0, 4).join(", ")}); choose one with --config`;
}

function parseSize(label: string, text: string): number {
  if (!/^\d+$/.test(text)) throw new UsageError(`${label} is not a whole number`);
  if (!Number.isSafeInteger(Number(text))) throw new UsageError(`${label} is beyond 2^53 - 1; give less`);
  return Number(text);
}

function parseNumber(label: string, text: string, isInteger: boolean): number {
  const value = Number(text);
  if (text.trim() === "" || (Number.isNaN(value) && text !== "NaN")) throw new UsageError(`${label} is not a number`);
  if (!isInteger) return value;
  if (!Number.isInteger(value)) throw new UsageError(`${label} is not an integer`);
  // Digits that JavaScript would round to another integer are rejected, unless they are the printed form of the number.
  const isExact = Number.isSafeInteger(value) || text === String(value) || exactInteger(text) === BigInt(value);
  if (!isExact) throw new UsageError(`${label} is an integer that JavaScript rounds to ${BigInt(value)}; give that`);
  return value;
}

const exactInteger = (text: string): bigint | undefined => (/^[-]?\d+$/.test(text) ? BigInt(text) : undefined);

function parseConstexpr(label: string, text: string, { kind, choices }: ConstexprSignature): number | boolean | string {
  if (choices && !choices.includes(text)) throw new UsageError(`${label}: choose from ${choices.join(", ")}`);
  if (choices) return text;
  if (kind !== "bool") return parseNumber(label, text, kind === "int");
  if (text !== "true" && text !== "false") throw new UsageError(`${label}: a flag is true or false`);
  return text === "true";
}
