/**
 * What Triton refuses in a tile, asked of every config: sizes that are no power of two, too many elements, thin dots, and
 * what an op's own rule says once the sizes are known.
 */
import { type Diagnostic, problem } from "../diagnostics.js";
import { constexprValue } from "../ir/constexpr-value.js";
import { dtypeTable, members } from "../ir/dtype.js";
import { type Block, isValue, type KernelIR, type OpStatement, type Value } from "../ir/nodes.js";
import type { Dim } from "../ir/shape.js";
import { typedArguments } from "../ir/typed.js";
import { type Type, typeOfArgument } from "../ir/types.js";
import { blocksOf, bodiesOf, resultsOf, walkAll } from "../ir/walk.js";

/** Elements that a tile may have (`TRITON_MAX_TENSOR_NUMEL`). */
export const MAX_NUMEL = 2 ** 20;
/** A matrix instruction of CUDA takes K in steps of 256 bits. */
const DOT_BITS = 256;

export function checkLimits(ir: KernelIR): readonly Diagnostic[] {
  const found = new Map<string, Diagnostic>();
  ir.tuning.configs.forEach((config, i) => {
    const where = ir.tuning.key ? ` in config ${i}` : "";
    const numbers = { ...config.values };
    const report = (diagnostic: Diagnostic | undefined) => {
      if (diagnostic) found.set(`${diagnostic.message}@${diagnostic.at?.line}:${diagnostic.at?.column}`, diagnostic);
    };
    walkAll(ir, (statement) => {
      for (const value of resultsOf(statement)) report(checkTile(value, numbers, where));
      if (statement.kind === "op" && statement.op.contracts) report(checkDot(statement, numbers, where));
    });
    for (const body of bodiesOf(ir)) walkTaken(body, (statement) => report(checkSizes(statement, numbers, where)));
  });
  return [...found.values()];
}

/** Every op outside branches that Triton may leave out when it compiles a config. */
function walkTaken(block: Block, visit: (statement: OpStatement) => void): void {
  for (const statement of block.statements) {
    if (statement.kind === "op") visit(statement);
    const isConstexpr = statement.kind === "if" && typeOfArgument(statement.condition).kind === "constexpr";
    if (!isConstexpr) for (const inner of blocksOf(statement)) walkTaken(inner, visit);
  }
}

/** `[BLOCK]` reshapes to `[32]` in some configs only. */
function checkSizes(statement: OpStatement, numbers: Numbers, where: string): Diagnostic | undefined {
  const dim = (each: Dim): Dim => dimValue(each, numbers) ?? each;
  const type = (of: Type): Type => {
    if (of.kind === "constexpr" && of.of === "int") return { ...of, text: String(dim(of.text)) };
    return "shape" in of ? { ...of, shape: of.shape.map(dim) } : of;
  };
  const answer = statement.op.infer(typedArguments(statement, { type, elem: (elem) => elem }));
  return typeof answer === "string" ? problem("tile-size", `${answer}${where}`, statement.at) : undefined;
}

type Numbers = Readonly<Record<string, unknown>>;

/** The value of a dimension in a config; undefined where it is decided at launch. */
function dimValue(dim: Dim, numbers: Numbers): number | undefined {
  if (typeof dim === "number") return dim;
  try {
    return constexprValue(dim, numbers);
  } catch {
    return undefined;
  }
}

function checkTile(value: Value, numbers: Numbers, where: string): Diagnostic | undefined {
  const { type } = value;
  if (type.kind !== "tile" && type.kind !== "pointer" && type.kind !== "view") return undefined;
  let numel = 1;
  for (const dim of type.shape) {
    const size = dimValue(dim, numbers);
    if (size === undefined) return undefined;
    if (size < 1 || !Number.isInteger(Math.log2(size)))
      return problem("tile-size", `${dim} is ${size}${where}; a tile's dimension is a power of two`, value.at);
    numel *= size;
  }
  if (numel <= MAX_NUMEL) return undefined;
  const shape = `[${type.shape.join(", ")}]`;
  return problem(
    "tile-size",
    `the tile ${shape} has ${numel} elements${where}; Triton allows ${MAX_NUMEL}, loop over smaller tiles`,
    value.at,
  );
}

function checkDot(statement: OpStatement, numbers: Numbers, where: string): Diagnostic | undefined {
  const [a] = statement.operands;
  if (!isValue(a) || a.type.kind !== "tile") return undefined;
  const inner = a.type.shape.at(-1)!;
  const k = dimValue(inner, numbers);
  if (k === undefined) return undefined;
  const narrowest = Math.min(...members(a.type.dtype).map((name) => dtypeTable[name].bits));
  const minimum = Math.max(DOT_BITS / narrowest, 1);
  if (k >= minimum) return undefined;
  return problem(
    "dot-size",
    `dot: the inner dimension ${inner} is ${k}${where}; ${narrowest}-bit operands need at least ${minimum}`,
    statement.at,
  );
}
