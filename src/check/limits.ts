/**
 * Checks Triton's limits on tiles for every config: powers of two, the number of elements, and the sizes of dots. Also
 * checks each op's type rule with concrete sizes.
 */
import { belowMinimumDim, DESCRIPTOR_BYTES, type Limits } from "../types/limits.js";
import { type Diagnostic, errorDiagnostic } from "../diagnostics/diagnostic.js";
import { dotSize, tileSize } from "../diagnostics/catalog/config-codes.js";
import { compiledOps, constantsOf, reachedStatements } from "../analysis/dtype-bindings.js";
import { constexprValue } from "../types/constexpr-text.js";
import { dtypeTable, type Elem, members } from "../types/dtype.js";
import {
  type KernelIR,
  type OpStatement,
  paramsOf,
  type Value,
  type Argument,
  type Block,
  type FunctionIR,
  type HostBlock,
  isFunction,
  type Statement,
} from "../ir/nodes.js";
import type { Constant } from "../values/runtime-values.js";
import type { Dim } from "../types/shape.js";
import { literalValue, type Type } from "../types/types.js";
import {
  resultsOf,
  walkAll,
  typedArguments,
  argumentsOf,
  blocksOf,
  bodiesOf,
  hostBlocksOf,
  valuesIn,
  walk,
} from "../ir/walk.js";
import { isPower } from "../types/dims.js";
import { Message } from "../diagnostics/message.js";
import { deepProgram } from "../diagnostics/catalog/control-codes.js";

export function checkLimits(ir: KernelIR): readonly Diagnostic[] {
  const diagnostics = limitsWith(ir, {});
  if (diagnostics.length > 0) return diagnostics;
  // A caller may pass other numbers than the defaults, but the defaults must be valid.
  const defaults = paramsOf(ir, "constexpr").flatMap(({ name, of: valueKind, from, default: initial }) =>
    valueKind === "int" && from === "argument" && initial !== undefined ? [[name, initial] as const] : [],
  );
  return defaults.length === 0 ? [] : limitsWith(ir, Object.fromEntries(defaults));
}

function limitsWith(ir: KernelIR, defaults: Numbers): readonly Diagnostic[] {
  const diagnostics = new Map<string, Diagnostic>();
  const nameOf = new Map(ir.params.map(({ value, name }) => [value, name]));
  const flags = sizeFlags(ir);
  const cases = ir.tuning.configs.flatMap(({ values }, i) =>
    flagAssignments(flags, values).map((truth) => ({ i, values, truth })),
  );
  cases.forEach(({ i, values, truth }) => {
    const context = (ir.tuning.key ? ` in config ${i}` : "") + describeFlags({ ...defaults, ...truth });
    const numbers: Numbers = { ...defaults, ...values, ...truth };
    const sizes = sizesIn(numbers);
    const report = (diagnostic: Diagnostic | undefined) => {
      if (diagnostic)
        diagnostics.set(`${diagnostic.message}@${diagnostic.at?.line}:${diagnostic.at?.column}`, diagnostic);
    };
    // Only the first tile with an invalid size is reported.
    const reportTile = (diagnostic: Diagnostic | undefined) => {
      if (diagnostic && !diagnostics.has(diagnostic.message)) diagnostics.set(diagnostic.message, diagnostic);
      hasInvalidTile ||= diagnostic !== undefined;
    };
    let hasInvalidTile = false;
    const constant = constantsOf(ir, (value) => numbers[nameOf.get(value) ?? ""] as Constant | undefined);
    for (const statement of reachedStatements(ir, constant)) {
      for (const value of resultsOf(statement)) reportTile(checkTile(value, sizes, context, ir.limits));
      if (statement.kind === "op") checkMinimumDims(statement, sizes, context, ir.limits).forEach(report);
    }
    for (const { value } of ir.params) reportTile(checkTile(value, sizes, context, ir.limits));
    if (hasInvalidTile) return;
    for (const statement of compiledOps(ir, constant)) report(checkSizes(statement, sizes, context));
  });
  return [...diagnostics.values()];
}

/** The flags that select the size of a tile. */
function sizeFlags(ir: KernelIR): readonly string[] {
  const texts = new Set<string>();
  walkAll(ir, (statement) => {
    for (const { type } of resultsOf(statement))
      if ("shape" in type) for (const dim of type.shape) if (String(dim).includes("choose(")) texts.add(String(dim));
  });
  const isFlag = (name: string) =>
    name.includes(".") || paramsOf(ir, "constexpr").some((param) => param.name === name && param.of === "bool");
  return [...new Set([...texts].flatMap((text) => text.match(/[A-Za-z_][\w.]*/g) ?? []))].filter(isFlag);
}

/** All assignments of these flags, except those that the config sets. */
function flagAssignments(flags: readonly string[], values: Numbers): readonly Readonly<Record<string, boolean>>[] {
  return flags
    .filter((name) => !(name in values))
    .slice(0, MAX_FLAGS)
    .reduce<Record<string, boolean>[]>(
      (assignments, name) =>
        assignments.flatMap((assignment) => [
          { ...assignment, [name]: true },
          { ...assignment, [name]: false },
        ]),
      [{}],
    );
}
/** With more flags among sizes, the remaining ones are only checked at launch. */
const MAX_FLAGS = 6;

function describeFlags(flags: Numbers): string {
  const phrases = Object.entries(flags).map(([name, value]) => `${name} is ${value}`);
  return phrases.length === 0 ? "" : ` where ${phrases.join(" and ")}`;
}

/** Checks type rules with concrete sizes: `[BLOCK]` may reshape to `[32]` only in some configs. */
function checkSizes(statement: OpStatement, sizes: Sizes, context: string): Diagnostic | undefined {
  const dim = (each: Dim): Dim => sizes(each) ?? each;
  const type = (original: Type): Type => {
    if (original.kind === "constexpr" && original.of === "int" && literalValue(original) === undefined)
      return { ...original, text: String(dim(original.text)) };
    return "shape" in original ? { ...original, shape: original.shape.map(dim) } : original;
  };
  const inferred = statement.op.infer(typedArguments(statement, { type, elem: (elem) => elem }));
  return inferred instanceof Message
    ? errorDiagnostic(tileSize.rule(inferred, context), statement.location)
    : undefined;
}

type Numbers = Readonly<Record<string, unknown>>;

/** The value of a dim in a config. Undefined if only the launch determines it. */
type Sizes = (dim: Dim) => number | undefined;

/** Caches each text: a kernel has few distinct dims, and hundreds of values with shapes that consist of them. */
function sizesIn(numbers: Numbers): Sizes {
  const cache = new Map<string, number | undefined>();
  return (dim) => {
    if (typeof dim === "number") return dim;
    if (!cache.has(dim)) cache.set(dim, valueOf(dim, numbers));
    return cache.get(dim);
  };
}

function valueOf(text: string, numbers: Numbers): number | undefined {
  try {
    return constexprValue(text, numbers);
  } catch {
    return undefined;
  }
}

function checkTile(value: Value, sizes: Sizes, context: string, { maxNumel }: Limits): Diagnostic | undefined {
  const { type } = value;
  if (!("shape" in type)) return undefined;
  let numel = 1;
  let innermost: { readonly dim: Dim; readonly size: number } | undefined;
  for (const dim of type.shape) {
    const size = sizes(dim);
    if (size === undefined) return undefined;
    if (!isPower(size)) return errorDiagnostic(tileSize.dimension(dim, size, context), value.location);
    numel *= size;
    innermost = { dim, size };
  }
  if (type.kind === "descriptor" && innermost) {
    const { dim, size } = innermost;
    const bits = narrowest(type.to);
    const minimum = (DESCRIPTOR_BYTES * 8) / bits;
    if (size < minimum) return errorDiagnostic(tileSize.descriptor(dim, size, context, bits, minimum), value.location);
  }
  if (numel <= maxNumel) return undefined;
  const shape = `[${type.shape.join(", ")}]`;
  return errorDiagnostic(tileSize.elements(shape, numel, context, maxNumel), value.location);
}

const narrowest = (elem: Elem): number => Math.min(...members(elem).map((name) => dtypeTable[name].bits));

function checkMinimumDims(
  statement: OpStatement,
  sizes: Sizes,
  context: string,
  limits: Limits,
): readonly Diagnostic[] {
  const bounds = statement.op.needs.minimumDims?.(typedArguments(statement)) ?? [];
  const toMessage = statement.op.facts.contracts ? dotSize : tileSize.minimum;
  return bounds.flatMap((bound) => {
    const size = sizes(bound.dim);
    const reason = size === undefined ? undefined : belowMinimumDim(bound, size, limits, context);
    return reason === undefined ? [] : errorDiagnostic(toMessage(reason), statement.location);
  });
}

// Python's limits on nesting. CPython 3.10 to 3.12 rejects more than 20 nested loops and more than 98 indentation
// levels in a function. Triton's code generator recurses for each level, and Python's recursion limit is 1,000 calls.
// Measured on Triton 3.9, it is reached at 160 branches and at 50 nested calls of helper functions. Callers use part of
// the recursion limit, so the limits here are lower.

const MAX_LOOPS = 20;
/** Nested bodies. An `elif` branch counts as nested in the branches before it, as in Python's syntax tree. */
const MAX_LEVELS = 80;
const MAX_CALLS = 32;
/** Ops of a host expression, which is emitted as a single expression. An operand that is used twice counts twice. */
const MAX_HOST_OPS = 2_000;

export function checkPythonLimits(ir: KernelIR): readonly Diagnostic[] {
  const bodies = bodiesOf(ir).map((body) => checkNesting(body, 0, 0));
  const diagnostics = [...bodies, checkCallDepth(ir), ...hostBlocksOf(ir).map(checkHostExpressions)];
  return diagnostics.filter((each) => each !== undefined);
}

/** Reports the first statement that is nested too deeply. */
function checkNesting({ statements }: Block, loops: number, levels: number): Diagnostic | undefined {
  for (const statement of statements) {
    const inner = blocksOf(statement);
    if (inner.length === 0) continue;
    const innerLoops = loops + (statement.kind === "if" ? 0 : 1);
    if (innerLoops > MAX_LOOPS) return errorDiagnostic(deepProgram.loops(MAX_LOOPS), statement.location);
    if (levels + 1 > MAX_LEVELS) return errorDiagnostic(deepProgram.branches(MAX_LEVELS), statement.location);
    for (const block of inner) {
      const deeper = checkNesting(block, innerLoops, levels + 1);
      if (deeper) return deeper;
    }
  }
  return undefined;
}

/**
 * Reports the first function with a call chain that is too deep. Functions are listed callees first, so callee depths
 * are known.
 */
function checkCallDepth({ functions }: KernelIR): Diagnostic | undefined {
  const depths = new Map<FunctionIR, number>();
  for (const helper of functions) {
    let depth = 1;
    walk(helper.body, (statement) => {
      for (const callee of calleesOf(statement)) depth = Math.max(depth, 1 + (depths.get(callee) ?? 0));
    });
    depths.set(helper, depth);
    if (depth > MAX_CALLS) return errorDiagnostic(deepProgram.calls(MAX_CALLS), helper.at);
  }
  return undefined;
}

function calleesOf(statement: Statement): readonly FunctionIR[] {
  return argumentsOf(statement).flatMap((argument) => (isFunction(argument) ? [argument.function] : []));
}

/** Reports the first host op whose emitted expression is too large. */
function checkHostExpressions({ block }: HostBlock): Diagnostic | undefined {
  const sizes = new Map<Value, number>();
  const sizeOf = (argument: Argument): number =>
    valuesIn(argument).reduce((total, value) => total + (sizes.get(value) ?? 0), 0);
  const ops = block.statements.filter((statement): statement is OpStatement => statement.kind === "op");
  for (const statement of ops) {
    const size = argumentsOf(statement).reduce((total, argument) => total + sizeOf(argument), 1);
    if (size > MAX_HOST_OPS) return errorDiagnostic(deepProgram.host(MAX_HOST_OPS), statement.location);
    for (const result of statement.results) sizes.set(result, size);
  }
  return undefined;
}
