/**
 * What Triton refuses in a tile, checked for every config: sizes that are not powers of two, too many elements, small
 * dots, and what an op's own rule refuses once the sizes are known.
 */
import { belowMinimumDim, MAX_NUMEL, DESCRIPTOR_BYTES } from "../types/limits.js";
import { type Diagnostic, errorDiagnostic } from "../diagnostics/diagnostic.js";
import { dotSize, tileSize } from "../diagnostics/catalog/config-codes.js";
import { compiledOps, constantsOf, reachedStatements } from "../analysis/compiled-ops.js";
import { constexprValue } from "../types/constexpr-value.js";
import { dtypeTable, type Elem, members } from "../types/dtype.js";
import { type KernelIR, type OpStatement, paramsOf, type Value } from "../ir/nodes.js";
import type { Constant } from "../values/runtime-values.js";
import { type Dim } from "../types/shape.js";
import { typedArguments } from "../ir/typed.js";
import type { Type } from "../types/types.js";
import { resultsOf, walkAll } from "../ir/walk.js";
import { isPower } from "../types/dims.js";

export function checkLimits(ir: KernelIR): readonly Diagnostic[] {
  const found = limitsWith(ir, {});
  if (found.length > 0) return found;
  // A caller may pass other numbers than the defaults, but those must do.
  const defaults = paramsOf(ir, "constexpr").flatMap(({ name, of, from, default: initial }) =>
    of === "int" && from === "argument" && initial !== undefined ? [[name, initial] as const] : [],
  );
  return defaults.length === 0 ? [] : limitsWith(ir, Object.fromEntries(defaults));
}

function limitsWith(ir: KernelIR, defaults: Numbers): readonly Diagnostic[] {
  const found = new Map<string, Diagnostic>();
  const nameOf = new Map(ir.params.map(({ value, name }) => [value, name]));
  const flags = choosingFlags(ir);
  const cases = ir.tuning.configs.flatMap(({ values }, i) =>
    truths(flags, values).map((truth) => ({ i, values, truth })),
  );
  cases.forEach(({ i, values, truth }) => {
    const where = (ir.tuning.key ? ` in config ${i}` : "") + inWords({ ...defaults, ...truth });
    const numbers: Numbers = { ...defaults, ...values, ...truth };
    const sizes = sizesIn(numbers);
    const report = (diagnostic: Diagnostic | undefined) => {
      if (diagnostic) found.set(`${diagnostic.message}@${diagnostic.at?.line}:${diagnostic.at?.column}`, diagnostic);
    };
    // The first tile with a wrong size says it for all that have it.
    const reportTile = (diagnostic: Diagnostic | undefined) => {
      if (diagnostic && !found.has(diagnostic.message)) found.set(diagnostic.message, diagnostic);
      isWrong ||= diagnostic !== undefined;
    };
    let isWrong = false;
    const constant = constantsOf(ir, (value) => numbers[nameOf.get(value) ?? ""] as Constant | undefined);
    for (const statement of reachedStatements(ir, constant)) {
      for (const value of resultsOf(statement)) reportTile(checkTile(value, sizes, where));
      if (statement.kind === "op") checkLeast(statement, sizes, where).forEach(report);
    }
    for (const { value } of ir.params) reportTile(checkTile(value, sizes, where));
    if (isWrong) return;
    for (const statement of compiledOps(ir, constant)) report(checkSizes(statement, sizes, where));
  });
  return [...found.values()];
}

/** The flags by which the size of a tile is chosen. */
function choosingFlags(ir: KernelIR): readonly string[] {
  const texts = new Set<string>();
  walkAll(ir, (statement) => {
    for (const { type } of resultsOf(statement))
      if ("shape" in type) for (const dim of type.shape) if (String(dim).includes("choose(")) texts.add(String(dim));
  });
  const isFlag = (name: string) =>
    name.includes(".") || paramsOf(ir, "constexpr").some((param) => param.name === name && param.of === "bool");
  return [...new Set([...texts].flatMap((text) => text.match(/[A-Za-z_][\w.]*/g) ?? []))].filter(isFlag);
}

/** Every choice of these flags, but for those that the config has. */
function truths(flags: readonly string[], values: Numbers): readonly Readonly<Record<string, boolean>>[] {
  return flags
    .filter((name) => !(name in values))
    .slice(0, MOST_FLAGS)
    .reduce<Record<string, boolean>[]>(
      (all, name) =>
        all.flatMap((each) => [
          { ...each, [name]: true },
          { ...each, [name]: false },
        ]),
      [{}],
    );
}
/** Beyond this many flags among sizes, the launch alone decides. */
const MOST_FLAGS = 6;

function inWords(flags: Numbers): string {
  const words = Object.entries(flags).map(([name, value]) => `${name} is ${value}`);
  return words.length === 0 ? "" : ` where ${words.join(" and ")}`;
}

/** `[BLOCK]` reshapes to `[32]` in some configs only. */
function checkSizes(statement: OpStatement, sizes: Sizes, where: string): Diagnostic | undefined {
  const dim = (each: Dim): Dim => sizes(each) ?? each;
  const type = (of: Type): Type => {
    if (of.kind === "constexpr" && of.of === "int") return { ...of, text: String(dim(of.text)) };
    return "shape" in of ? { ...of, shape: of.shape.map(dim) } : of;
  };
  const answer = statement.op.infer(typedArguments(statement, { type, elem: (elem) => elem }));
  return typeof answer === "string" ? errorDiagnostic(tileSize.rule(answer, where), statement.at) : undefined;
}

type Numbers = Readonly<Record<string, unknown>>;

/** The value of a dimension in a config; undefined where it is decided at launch. */
type Sizes = (dim: Dim) => number | undefined;

/** Each text is read once: a kernel has few, and hundreds of values whose shapes consist of them. */
function sizesIn(numbers: Numbers): Sizes {
  const known = new Map<string, number | undefined>();
  return (dim) => {
    if (typeof dim === "number") return dim;
    if (!known.has(dim)) known.set(dim, valueOf(dim, numbers));
    return known.get(dim);
  };
}

function valueOf(text: string, numbers: Numbers): number | undefined {
  try {
    return constexprValue(text, numbers);
  } catch {
    return undefined;
  }
}

function checkTile(value: Value, sizes: Sizes, where: string): Diagnostic | undefined {
  const { type } = value;
  if (!("shape" in type)) return undefined;
  let numel = 1;
  for (const dim of type.shape) {
    const size = sizes(dim);
    if (size === undefined) return undefined;
    if (!isPower(size)) return errorDiagnostic(tileSize.dimension(dim, size, where), value.at);
    numel *= size;
  }
  if (type.kind === "descriptor") {
    const last = type.shape.at(-1)!;
    const [size, bits] = [sizes(last)!, narrowest(type.to)];
    const least = (DESCRIPTOR_BYTES * 8) / bits;
    if (size < least) return errorDiagnostic(tileSize.descriptor(last, size, where, bits, least), value.at);
  }
  if (numel <= MAX_NUMEL) return undefined;
  const shape = `[${type.shape.join(", ")}]`;
  return errorDiagnostic(tileSize.elements(shape, numel, where, MAX_NUMEL), value.at);
}

const narrowest = (elem: Elem): number => Math.min(...members(elem).map((name) => dtypeTable[name].bits));

function checkLeast(statement: OpStatement, sizes: Sizes, where: string): readonly Diagnostic[] {
  const bounds = statement.op.needs.least?.(typedArguments(statement)) ?? [];
  const said = (why: string) => (statement.op.facts.contracts ? dotSize(why) : tileSize.rule(why, ""));
  return bounds.flatMap((bound) => {
    const size = sizes(bound.dim);
    const why = size === undefined ? undefined : belowMinimumDim(bound, size, where);
    return why === undefined ? [] : errorDiagnostic(said(why), statement.at);
  });
}
