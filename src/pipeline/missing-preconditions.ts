/** What stands open of a kernel if its launches had to meet more than its author wrote. */
import { preconditions } from "../analysis/preconditions.js";
import type { HostExpression, MissingPrecondition } from "../compiled/compiled-kernel.js";
import { TileScriptError } from "../diagnostics/diagnostic.js";
import { KernelDefinition } from "../dsl/definition.js";
import * as tl from "../dsl/tl.js";
import { trace } from "../dsl/trace.js";
import type { SourceIndex } from "../ir/source.js";
import { inferPreconditions } from "../prove/infer-preconditions.js";
import { loweredOf } from "./trace-and-check.js";

type Meta = Readonly<Record<string, unknown>>;
type Operation = (...operands: readonly unknown[]) => unknown;

/** Undefined where no launch can be asked that. */
export function obligationsWithPreconditions(
  definition: KernelDefinition,
  source: SourceIndex | undefined,
  conditions: readonly HostExpression[],
): readonly MissingPrecondition[] | undefined {
  try {
    // The kernel was checked; what else a requirement asks of its text, such as keys of an autotuner, is the writer's.
    const ir = trace(requiring(definition, conditions), source);
    return inferPreconditions(ir, preconditions(loweredOf(ir)));
  } catch (error) {
    if (!(error instanceof TileScriptError)) throw error;
    return undefined;
  }
}

function requiring(definition: KernelDefinition, conditions: readonly HostExpression[]): KernelDefinition {
  const { name, spec, body, at } = definition;
  const requires = (meta: Meta): readonly unknown[] => [
    ...([spec.requires?.(meta as never) ?? []].flat() as readonly unknown[]),
    ...conditions.map((each) => valueOf(each, meta)),
  ];
  return new KernelDefinition(name, { ...spec, requires }, body, at);
}

/** As the author's own `N.mod(B).eq(0)` would be traced. */
function valueOf(tree: HostExpression, meta: Meta): unknown {
  if ("value" in tree) return tree.value;
  if ("param" in tree) return meta[tree.param];
  return (tl as unknown as Readonly<Record<string, Operation>>)[tree.op]!(
    ...tree.of.map((each) => valueOf(each, meta)),
  );
}
