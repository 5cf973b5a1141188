/**
 * Python's limits on nesting. CPython 3.10 to 3.12 rejects more than 20 nested loops and more than 98 indentation
 * levels in a function. Triton's code generator recurses for each level, and Python's recursion limit is 1,000 calls.
 * Measured on Triton 3.9, it is reached at 160 branches and at 50 nested calls of helper functions. Callers use part of
 * the recursion limit, so the limits here are lower.
 */
import { deepProgram } from "../diagnostics/catalog/control-codes.js";
import { type Diagnostic, errorDiagnostic } from "../diagnostics/diagnostic.js";
import {
  type Argument,
  type Block,
  type FunctionIR,
  type HostBlock,
  isFunction,
  type KernelIR,
  type OpStatement,
  type Statement,
  type Value,
} from "../ir/nodes.js";
import { argumentsOf, blocksOf, bodiesOf, hostBlocksOf, valuesIn, walk } from "../ir/walk.js";

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
