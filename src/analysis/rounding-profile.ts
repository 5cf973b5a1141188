/** Where a kernel rounds floats before it is done: what the error of its outputs follows from. */
import type { RoundingProfile, SignatureDType } from "../compiled/compiled-kernel.js";
import { isLiteral, type KernelIR, type OpStatement, type TensorParam, type Value, operandOf } from "../ir/nodes.js";
import { typeOfArgument } from "../ir/typed.js";
import { bodiesOf, walkAll, walkUses } from "../ir/walk.js";
import { bitsOf, isFloat } from "../numerics/numeric.js";
import { type Elem, members } from "../types/dtype.js";
import type { KernelLaunch, OperatorIR } from "../ir/operator-ir.js";
import type { Op } from "../ir/op.js";
import { isTorchNode, partsOf, type TorchArgument } from "../torch/node.js";

/** Triton's default for products of float32. */
const DEFAULT_PRECISION = "tf32";

interface Roundings {
  /** How many statements round to each dtype before the last rounding. */
  readonly rounds: ReadonlyMap<Elem, number>;
  readonly dots: readonly Product[];
}

interface Product {
  readonly elem: Elem;
  readonly precision: string;
}

export function roundingProfileOf(ir: KernelIR): RoundingProfile {
  const { rounds, dots } = roundingsOf(ir);
  const named = (elem: Elem): SignatureDType => (typeof elem === "string" ? elem : { variable: elem.name });
  return {
    rounds: [...rounds].map(([elem, count]) => ({ dtype: named(elem), count })),
    dots: dots.map(({ elem, precision }) => ({ dtype: named(elem), precision })),
  };
}

function roundingsOf(ir: KernelIR): Roundings {
  const isOnlyStored = onlyStored(usesOf(ir));
  const rounds = new Map<Elem, number>();
  const dots = new Map<string, Product>();
  walkAll(ir, (statement) => {
    if (statement.kind !== "op") return;
    for (const product of productsOf(statement)) dots.set(JSON.stringify(product), product);
    const isLast = statement.op.effect !== "atomic" && statement.results.every(isOnlyStored);
    if (!isLast) for (const elem of narrowResults(statement)) rounds.set(elem, (rounds.get(elem) ?? 0) + 1);
  });
  return { rounds, dots: [...dots.values()] };
}

/**
 * The roundings of all of an operator's kernels, and those of the tensors that one hands to another. A kernel's dtype
 * variable stands for all its members where the operator has none of that name.
 */
export function operatorRoundingProfile(operator: OperatorIR): RoundingProfile {
  const own = new Set(variablesOf(operator.face));
  const spread = (elem: Elem): readonly SignatureDType[] =>
    typeof elem === "string" ? [elem] : own.has(elem.name) ? [{ variable: elem.name }] : elem.members;
  const parts = operator.kernels.map(roundingsOf);
  const handed = handedOn(operator).map((elem) => [elem, 1] as const);
  return {
    rounds: [...parts.flatMap(({ rounds }) => [...rounds]), ...handed].flatMap(([elem, count]) =>
      spread(elem).map((dtype) => ({ dtype, count })),
    ),
    dots: parts.flatMap(({ dots }) =>
      dots.flatMap(({ elem, precision }) => spread(elem).map((dtype) => ({ dtype, precision }))),
    ),
  };
}

function variablesOf({ params }: KernelIR): readonly string[] {
  return params.flatMap((param) => ("dtype" in param && typeof param.dtype !== "string" ? [param.dtype.name] : []));
}

/** The dtypes of kernels' outputs that another kernel, or PyTorch between them, takes. */
function handedOn({ forward, backward }: OperatorIR): readonly Elem[] {
  const found = new Map<TensorParam, Elem>();
  const note = (argument: TorchArgument | undefined): void => {
    if (Array.isArray(argument)) argument.forEach(note);
    if (!isTorchNode(argument)) return;
    if (argument.kind === "launched") {
      const param = (argument.launch as KernelLaunch).kernel.params.find(({ name }) => name === argument.output);
      if (param?.kind === "tensor") found.set(param, param.dtype);
    } else partsOf(argument).forEach(note);
  };
  for (const step of [...forward.steps, ...(backward?.steps ?? [])])
    (step.kind === "launch" ? Object.values(step.args) : partsOf(step)).forEach(note);
  return [...found.values()];
}

function productsOf(statement: OpStatement): readonly Product[] {
  const { op, options } = statement;
  if (!op.facts.contracts) return [];
  const given = options["inputPrecision"];
  const precision = given && isLiteral(given) ? String(given.value) : DEFAULT_PRECISION;
  const first = operandOf(statement, "a");
  const type = first && typeOfArgument(first);
  return type?.kind === "tile" ? [{ elem: type.dtype, precision }] : [];
}

/** Whether an op rounds the floats that it gives. Others move or choose elements. */
const rounding = ({ facts, effect }: Op): boolean =>
  facts.rounds ?? (facts.lanewise === true || facts.contracts === true || effect === "atomic");

/** The dtypes narrower than float64 that an op rounds to. */
function narrowResults(statement: OpStatement): readonly Elem[] {
  if (!rounding(statement.op)) return [];
  return statement.results.flatMap(({ type }) =>
    type.kind === "tile" && members(type.dtype).some((name) => isFloat(name) && bitsOf(name) < 64) ? [type.dtype] : [],
  );
}

type Uses = ReadonlyMap<Value, readonly (OpStatement | "kept")[]>;

/** The ops that use each value; `kept` where a variable, a branch or a helper function takes it. */
function usesOf(ir: KernelIR): Uses {
  const uses = new Map<Value, (OpStatement | "kept")[]>();
  const note = (value: Value, by: OpStatement | "kept"): void => {
    const known = uses.get(value);
    if (known) known.push(by);
    else uses.set(value, [by]);
  };
  for (const body of bodiesOf(ir)) walkUses(body, (value, by) => note(value, by?.kind === "op" ? by : "kept"));
  return uses;
}

/** Whether a value goes to memory and nowhere else, so that it is rounded for the last time. */
function onlyStored(uses: Uses): (value: Value) => boolean {
  // Values share what uses them: without what is known, each way through the program would be followed.
  const known = new Map<Value, boolean>();
  const isStored = (by: OpStatement | "kept"): boolean => {
    if (by === "kept") return false;
    if (by.op.effect === "write") return true;
    return !rounding(by.op) && by.op.effect === "pure" && by.results.every(isOnlyStored);
  };
  const isOnlyStored = (value: Value): boolean => {
    const before = known.get(value);
    if (before !== undefined) return before;
    const found = (uses.get(value) ?? []).every(isStored);
    known.set(value, found);
    return found;
  };
  return isOnlyStored;
}
