/** Tries remedies for gaps of a kernel's proof: what is open with more preconditions, or with another change. */
import { preconditions } from "../analysis/preconditions.js";
import { signatureOf } from "../codegen/module/signature.js";
import type {
  Certificate,
  HostExpression,
  MissingPrecondition,
  Remedy,
  Requirements,
  TestCase,
  Trial,
} from "../compiled/compiled-kernel.js";
import {
  type Edit,
  isSameLocation,
  type Location,
  type SourceFix,
  TileScriptError,
} from "../diagnostics/diagnostic.js";
import { KernelDefinition } from "../dsl/definition.js";
import * as tl from "../dsl/tl.js";
import { trace } from "../dsl/trace.js";
import { Bindings, launchOf, rangesOf } from "../eval/bindings.js";
import { inputsOf } from "../eval/evaluate-case.js";
import { checkHostValues } from "../eval/refusal.js";
import { checkRanges } from "../eval/make-inputs.js";
import {
  type Argument,
  isList,
  isLiteral,
  type KernelIR,
  type OpStatement,
  type Statement,
  type Value,
} from "../ir/nodes.js";
import type { SourceIndex } from "../ir/source-index.js";
import { argumentsOf, definitions, valuesIn, walk } from "../ir/walk.js";
import { debugBarrier } from "../ops/effects.js";
import { opOf } from "../ops/define.js";
import { inferPreconditions } from "../prove/infer-preconditions.js";
import { changeOps, viewsAt, selectLanes } from "./mends.js";
import { cachedProof } from "./proof.js";
import { lower } from "./trace-and-check.js";

type Meta = Readonly<Record<string, unknown>>;
type Operation = (...operands: readonly unknown[]) => unknown;

/** The gaps with additional conditions. Undefined if they are invalid as `requires`. */
export const obligationsWithPreconditions = (
  definition: KernelDefinition,
  source: SourceIndex | undefined,
  conditions: readonly HostExpression[],
): readonly MissingPrecondition[] | undefined =>
  attempt(() => {
    const ir = trace(withRequirements(definition, conditions), source);
    return inferPreconditions(ir, preconditions(lower(ir)));
  });

/** The certificate with a remedy. Undefined if the kernel cannot have it. */
export const certificateWith = (
  definition: KernelDefinition,
  source: SourceIndex | undefined,
  remedy: Remedy | Requirements,
  { at, cases = [], cache }: Trial = {},
): Certificate | undefined =>
  attempt(() => {
    const ir = changedBody(trace(changedSpec(definition, remedy), source), remedy, at);
    if (!ir) return undefined;
    const lowered = lower(ir);
    for (const testCase of cases) checkHostValues(ir, new Bindings(ir, launchOf(ir, testCase)));
    if (remedy.kind === "declare" && "range" in remedy.option) checkDescribedInputs(ir, lowered, cases);
    return cachedProof(cache, ir, lowered);
  });

/** Throws if inputs that the spec describes are outside of a declared range. Other inputs are drawn from it. */
function checkDescribedInputs(ir: KernelIR, lowered: KernelIR, cases: readonly TestCase[]): void {
  const signature = signatureOf(lowered);
  for (const testCase of cases) checkRanges(signature, inputsOf(ir, signature, testCase), rangesOf(ir, testCase), ir);
}

/**
 * Undefined if the build rejects the change. The kernel was checked already. The caller is responsible for further
 * effects of a requirement, such as autotuner keys.
 */
function attempt<T>(change: () => T): T | undefined {
  try {
    return change();
  } catch (error) {
    if (!(error instanceof TileScriptError)) throw error;
    return undefined;
  }
}

/** The kernel with the spec of a remedy. */
function changedSpec(definition: KernelDefinition, remedy: Remedy | Requirements): KernelDefinition {
  const { name, spec, body, at } = definition;
  if (remedy.kind === "require") return withRequirements(definition, remedy.conditions);
  if (remedy.kind !== "declare") return definition;
  const { param, option } = remedy;
  const description = spec.params[param];
  const declared =
    description?.kind === "tensor"
      ? { ...description, options: { ...description.options, ...option } }
      : { ...description, ...option };
  return new KernelDefinition(name, { ...spec, params: { ...spec.params, [param]: declared } as never }, body, at);
}

function withRequirements(definition: KernelDefinition, conditions: readonly HostExpression[]): KernelDefinition {
  const { name, spec, body, at } = definition;
  const requires = (meta: Meta): readonly unknown[] => [
    ...([spec.requires?.(meta as never) ?? []].flat() as readonly unknown[]),
    ...conditions.map((each) => traceExpression(each, meta)),
  ];
  return new KernelDefinition(name, { ...spec, requires }, body, at);
}

/** Traces the expression as if the author had written it, such as `N.mod(B).eq(0)`. */
function traceExpression(expression: HostExpression, meta: Meta): unknown {
  if ("value" in expression) return expression.value;
  if ("param" in expression) return meta[expression.param];
  return (tl as unknown as Readonly<Record<string, Operation>>)[expression.op]!(
    ...expression.of.map((each) => traceExpression(each, meta)),
  );
}

/** The kernel with a change at a location. Undefined if nothing there can be changed so. */
function changedBody(ir: KernelIR, remedy: Remedy | Requirements, at: Location | undefined): KernelIR | undefined {
  const isThere = ({ location }: OpStatement) => at !== undefined && isSameLocation(location, at);
  const changed = (change: (statement: OpStatement) => readonly Statement[]): KernelIR => ({
    ...ir,
    body: changeOps(ir.body, change),
  });
  switch (remedy.kind) {
    case "require":
    case "declare":
      return ir;
    case "omit":
      return changed((each) => (isThere(each) ? [] : [each]));
    case "barrier": {
      const barrier = { kind: "op", op: opOf(debugBarrier), operands: [], options: {}, results: [] } as const;
      return changed((each) => (isThere(each) ? [{ ...barrier, location: at }, each] : [each]));
    }
    case "mask": {
      const claims = new Set(viewsAt(ir, [{ at }]).flatMap(claimedIndices));
      return claims.size === 0 ? undefined : changed((each) => [withoutClaims(each, claims)]);
    }
    case "other": {
      const loads = loadsBehind(ir, isThere);
      const neutral: Argument = { kind: "literal", value: remedy.value };
      return changed((each) => [loads.has(each) ? { ...each, options: { ...each.options, other: neutral } } : each]);
    }
    case "where": {
      const load = loadBehind(ir, isThere);
      return load?.kind === "op" ? selectLanes(ir, load, isThere, remedy.value) : undefined;
    }
    default:
      return remedy satisfies never;
  }
}

/** The indices of a view that the author passed to `tl.inBounds`. */
function claimedIndices({ operands: [, indices], options: { claimed } }: OpStatement): readonly Argument[] {
  if (!isList(indices) || !isList(claimed)) return [];
  return indices.filter((_, i) => isTrue(claimed[i]));
}

const isTrue = (argument: Argument | undefined): boolean => isLiteral(argument) && argument.value === true;

/** A view without these claims about its indices. */
function withoutClaims(view: OpStatement, claims: ReadonlySet<Argument>): OpStatement {
  const [, indices] = view.operands;
  const { claimed } = view.options;
  if (!isList(indices) || !isList(claimed)) return view;
  const remaining = indices.map((index, i): Argument => ({
    kind: "literal",
    value: isTrue(claimed[i]) && !claims.has(index),
  }));
  return { ...view, options: { ...view.options, claimed: remaining } };
}

/** The edit of a remedy at a location. That of `other` is at the load behind it, if there is one only. */
export function remedyEdit(
  ir: KernelIR,
  source: SourceIndex | undefined,
  location: Location,
  fix: SourceFix,
): Edit | undefined {
  const load = (): Statement | undefined => loadBehind(ir, (each) => isSameLocation(each.location, location));
  const at = fix.kind === "other" ? load()?.location : location;
  return at && source?.fixFor(at, fix);
}

/** The load that an op depends on; undefined if it depends on several. */
function loadBehind(ir: KernelIR, isThere: (statement: OpStatement) => boolean): Statement | undefined {
  const [load, ...others] = loadsBehind(ir, isThere);
  return others.length === 0 ? load : undefined;
}

/** The loads that an op depends on, but through no fold and no other load. */
function loadsBehind({ body }: KernelIR, isThere: (statement: OpStatement) => boolean): ReadonlySet<Statement> {
  const statements = definitions(body);
  const loads = new Set<Statement>();
  const visit = (value: Value): void => {
    const statement = statements.get(value);
    if (statement?.kind !== "op" || loads.has(statement)) return;
    const { op } = statement;
    if (op.effect === "read" && "other" in op.options) loads.add(statement);
    else if (!op.proof.foldSemantics) argumentsOf(statement).flatMap(valuesIn).forEach(visit);
  };
  walk(body, (statement) => {
    if (statement.kind === "op" && isThere(statement)) argumentsOf(statement).flatMap(valuesIn).forEach(visit);
  });
  return loads;
}
