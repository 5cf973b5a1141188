/**
 * How deep Python takes a program. CPython 3.10 to 3.12 refuses more than 20 loops inside each other and more than 98
 * levels of indentation in a function. Triton's code generator calls itself for each level, and Python stops it at a depth
 * of 1,000 calls: measured on 3.9 at 160 arms of a branch and 50 helper functions that call one another. Callers
 * need a part of that depth, so the limits here are lower.
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

const LOOPS = 20;
/** Bodies inside each other; an arm counts as inside those before it, as in Python's syntax tree. */
const LEVELS = 80;
const CALLS = 32;
/** Ops of an expression of the host, which Python gets in one piece: what is used twice is written twice. */
const HOST_OPS = 2_000;

export function checkPythonLimits(ir: KernelIR): readonly Diagnostic[] {
  const bodies = bodiesOf(ir).map((body) => tooDeep(body, 0, 0));
  const found = [...bodies, tooManyCalls(ir), ...hostBlocksOf(ir).map(tooLarge)];
  return found.filter((each) => each !== undefined);
}

/** The first statement that is too deep. */
function tooDeep({ statements }: Block, loops: number, levels: number): Diagnostic | undefined {
  for (const statement of statements) {
    const inner = blocksOf(statement);
    if (inner.length === 0) continue;
    const inLoops = loops + (statement.kind === "if" ? 0 : 1);
    if (inLoops > LOOPS) return errorDiagnostic(deepProgram.loops(LOOPS), statement.at);
    if (levels + 1 > LEVELS) return errorDiagnostic(deepProgram.branches(LEVELS), statement.at);
    for (const block of inner) {
      const deeper = tooDeep(block, inLoops, levels + 1);
      if (deeper) return deeper;
    }
  }
  return undefined;
}

/** Functions are listed callees first, so the depth of each callee is known before its callers'. */
function tooManyCalls({ functions }: KernelIR): Diagnostic | undefined {
  const depths = new Map<FunctionIR, number>();
  for (const helper of functions) {
    let depth = 1;
    walk(helper.body, (statement) => {
      for (const callee of calleesOf(statement)) depth = Math.max(depth, 1 + (depths.get(callee) ?? 0));
    });
    depths.set(helper, depth);
    if (depth > CALLS) return errorDiagnostic(deepProgram.calls(CALLS), helper.at);
  }
  return undefined;
}

function calleesOf(statement: Statement): readonly FunctionIR[] {
  return argumentsOf(statement).flatMap((argument) => (isFunction(argument) ? [argument.function] : []));
}

/** The first op of the host whose expression is too large once it is written out. */
function tooLarge({ block }: HostBlock): Diagnostic | undefined {
  const sizes = new Map<Value, number>();
  const sizeOf = (argument: Argument): number =>
    valuesIn(argument).reduce((total, value) => total + (sizes.get(value) ?? 0), 0);
  const ops = block.statements.filter((statement): statement is OpStatement => statement.kind === "op");
  for (const statement of ops) {
    const size = argumentsOf(statement).reduce((total, argument) => total + sizeOf(argument), 1);
    if (size > HOST_OPS) return errorDiagnostic(deepProgram.host(HOST_OPS), statement.at);
    for (const result of statement.results) sizes.set(result, size);
  }
  return undefined;
}
