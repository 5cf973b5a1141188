/** Proof gaps of a kernel under additional preconditions, and the preconditions that would close them. */
import { preconditions } from "../analysis/preconditions.js";
import type { HostExpression, MissingPrecondition } from "../compiled/compiled-kernel.js";
import { TileScriptError } from "../diagnostics/diagnostic.js";
import { KernelDefinition } from "../dsl/definition.js";
import * as tl from "../dsl/tl.js";
import { trace } from "../dsl/trace.js";
import type { SourceIndex } from "../ir/source-index.js";
import { inferPreconditions } from "../prove/infer-preconditions.js";
import { lower } from "./trace-and-check.js";

type Meta = Readonly<Record<string, unknown>>;
type Operation = (...operands: readonly unknown[]) => unknown;

/** Proves the kernel with additional conditions. Undefined if they are invalid as `requires`. */
export function obligationsWithPreconditions(
  definition: KernelDefinition,
  source: SourceIndex | undefined,
  conditions: readonly HostExpression[],
): readonly MissingPrecondition[] | undefined {
  try {
    // The kernel was checked already. The caller is responsible for further effects of a requirement, such as autotuner
    // keys.
    const ir = trace(withRequirements(definition, conditions), source);
    return inferPreconditions(ir, preconditions(lower(ir)));
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
