/** `NAME=VALUE` of the command line as a kernel's sizes, scalars and constexprs. */
import { type CompiledKernel, type ConstexprSignature, passedConstexprs } from "../../compiled/compiled-kernel.js";
import type { Selection } from "../cases/selection.js";
import { UsageError } from "../system/errors.js";

type Given = Readonly<Record<string, string>>;
export type GivenValues = Required<Pick<Selection, "sizes" | "scalars" | "constexprs">>;

/** Every size, and any of the scalars and constexprs that a caller passes. `sizes` are the names to ask for. */
export function valuesFromFlags(
  option: string,
  { signature, configs }: CompiledKernel,
  given: Given,
  sizes: readonly string[] = signature.sizes,
): GivenValues {
  const values = { sizes: {}, scalars: {}, constexprs: {} } as Record<keyof GivenValues, Record<string, any>>;
  const passed = passedConstexprs(signature);
  for (const [name, text] of Object.entries(given)) {
    const scalar = signature.scalars.find((each) => each.name === name);
    const constexpr = signature.constexprs.find((each) => each.name === name);
    const place = `${option}: ${name}=${text}`;
    if (sizes.includes(name)) values.sizes[name] = sizeOf(place, text);
    else if (scalar) values.scalars[name] = numberOf(place, text, scalar.dtype.includes("int"));
    else if (constexpr && passed.includes(constexpr)) values.constexprs[name] = constexprOf(place, text, constexpr);
    else if (constexpr) throw new UsageError(`${option}: ${notGiven(constexpr, configs)}`);
    else {
      const more = [...signature.scalars, ...passed].map((each) => each.name);
      const others = more.length > 0 ? `; it also takes ${more.join(", ")}` : "";
      throw new UsageError(`${option}: there is no size ${name}; the sizes are ${sizes.join(", ")}${others}`);
    }
  }
  const missing = sizes.filter((name) => !(name in values.sizes));
  if (missing.length > 0)
    throw new UsageError(`${option}: ${missing.join(", ")} missing; give values for ${sizes.join(", ")}`);
  return { ...values, sizes: Object.fromEntries(sizes.map((name) => [name, values.sizes[name]])) };
}

/** Constexprs of a config, with the values that the command line gives instead. */
export function configValues(
  option: string,
  { signature }: CompiledKernel,
  given: Given,
): Readonly<Record<string, number | boolean | string>> {
  const known = signature.constexprs.filter(({ from }) => from === "config");
  return Object.fromEntries(
    Object.entries(given).map(([name, text]) => {
      const constexpr = known.find((each) => each.name === name);
      const names = known.map((each) => each.name).join(", ") || "none";
      if (!constexpr)
        throw new UsageError(`${option}: there is no constexpr ${name} of the configs; they have ${names}`);
      return [name, constexprOf(`${option}: ${name}=${text}`, text, constexpr)];
    }),
  );
}

/** Why a constexpr is not for the caller to give. */
function notGiven({ name, from, variable }: ConstexprSignature, configs: CompiledKernel["configs"]): string {
  if (variable !== undefined) return `${name} is a dtype; choose it with --dtype ${variable}=…`;
  if (from !== "config") return `${name} is computed at the launch; leave it out`;
  const values = configs.map((config, i) => `${i} has ${config.values[name]}`);
  return `${name} belongs to the configs (${values.slice(0, 4).join(", ")}); choose one with --config`;
}

function sizeOf(place: string, text: string): number {
  if (!/^\d+$/.test(text)) throw new UsageError(`${place} is not a whole number`);
  if (!Number.isSafeInteger(Number(text))) throw new UsageError(`${place} is beyond 2^53 - 1; give less`);
  return Number(text);
}

function numberOf(place: string, text: string, isInteger: boolean): number {
  const value = Number(text);
  if (text.trim() === "" || (Number.isNaN(value) && text !== "NaN")) throw new UsageError(`${place} is not a number`);
  if (!isInteger) return value;
  if (!Number.isInteger(value)) throw new UsageError(`${place} is not an integer`);
  // A number that was printed comes back as it was; digits that JavaScript would round do not become another integer.
  const isExact = Number.isSafeInteger(value) || text === String(value) || exactly(text) === BigInt(value);
  if (!isExact) throw new UsageError(`${place} is an integer that JavaScript rounds to ${BigInt(value)}; give that`);
  return value;
}

const exactly = (text: string): bigint | undefined => (/^[-]?\d+$/.test(text) ? BigInt(text) : undefined);

function constexprOf(place: string, text: string, { kind, choices }: ConstexprSignature): number | boolean | string {
  if (choices && !choices.includes(text)) throw new UsageError(`${place}: choose from ${choices.join(", ")}`);
  if (choices) return text;
  if (kind !== "bool") return numberOf(place, text, kind === "int");
  if (text !== "true" && text !== "false") throw new UsageError(`${place}: a flag is true or false`);
  return text === "true";
}
