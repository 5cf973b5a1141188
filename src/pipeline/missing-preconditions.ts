/** Proof gaps of a kernel under additional preconditions, and the preconditions that would close them. */
import { preconditions } from "../analysis/preconditions.js";
import type { Certificate, HostExpression, MissingPrecondition } from "../compiled/compiled-kernel.js";
import { TileScriptError } from "../diagnostics/diagnostic.js";
import { KernelDefinition } from "../dsl/definition.js";
import * as tl from "../dsl/tl.js";
import { trace } from "../dsl/trace.js";
import type { KernelIR } from "../ir/nodes.js";
import type { SourceIndex } from "../ir/source-index.js";
import { inferPreconditions } from "../prove/infer-preconditions.js";
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
  withPreconditions(definition, source, conditions, (ir, lowered) => inferPreconditions(ir, preconditions(lowered)));

/** The certificate with additional conditions. Undefined if they are invalid as `requires`. */
export const certificateWithPreconditions = (
  definition: KernelDefinition,
  source: SourceIndex | undefined,
  conditions: readonly HostExpression[],
): Certificate | undefined =>
  withPreconditions(definition, source, conditions, (ir, lowered) => cachedProof(undefined, ir, lowered));

function withPreconditions<T>(
  definition: KernelDefinition,
  source: SourceIndex | undefined,
  conditions: readonly HostExpression[],
  prove: (ir: KernelIR, lowered: KernelIR) => T,
): T | undefined {
  try {
    // The kernel was checked already. The caller is responsible for further effects of a requirement, such as autotuner
    // keys.
    const ir = trace(withRequirements(definition, conditions), source);
    return prove(ir, lower(ir));
  } catch (error) {
    if (!(error instanceof TileScriptError)) throw error;
    return undefined;
  }
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
