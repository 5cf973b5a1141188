/** Float roundings before a kernel's final rounding. They determine the expected error of its outputs. */
import type { RoundingProfile, SignatureDType } from "../compiled/compiled-kernel.js";
import { isLiteral, type KernelIR, type OpStatement, type TensorParam, type Value, operandOf } from "../ir/nodes.js";
import { typeOfArgument } from "../ir/typed.js";
import { bodiesOf, walkAll, walkUses } from "../ir/walk.js";
import { bitsOf, isFloat } from "../numerics/numeric.js";
import { type Elem, members } from "../types/dtype.js";
import type { KernelLaunch, OperatorIR } from "../ir/operator-ir.js";
import type { Op } from "../ir/op.js";
import { isTorchNode, torchOperands, type TorchArgument } from "../torch/node.js";

/** Triton's default input precision of float32 dots. */
const DEFAULT_PRECISION = "tf32";

interface Roundings {
  /** The number of statements that round to each dtype before the final rounding. */
  readonly rounds: ReadonlyMap<Elem, number>;
  readonly dots: readonly Dot[];
}

interface Dot {
  readonly elem: Elem;
  readonly precision: string;
}

export function roundingProfileOf(ir: KernelIR): RoundingProfile {
  const { rounds, dots } = roundingsOf(ir);
  const toSignature = (elem: Elem): SignatureDType => (typeof elem === "string" ? elem : { variable: elem.name });
  return {
    rounds: [...rounds].map(([elem, count]) => ({ dtype: toSignature(elem), count })),
    dots: dots.map(({ elem, precision }) => ({ dtype: toSignature(elem), precision })),
  };
}

function roundingsOf(ir: KernelIR): Roundings {
  const isOnlyStored = storedOnlyPredicate(usesOf(ir));
  const rounds = new Map<Elem, number>();
  const dots = new Map<string, Dot>();
  walkAll(ir, (statement) => {
    if (statement.kind !== "op") return;
    for (const product of dotsOf(statement)) dots.set(JSON.stringify(product), product);
    const isLast = statement.op.effect !== "atomic" && statement.results.every(isOnlyStored);
    if (!isLast) for (const elem of narrowResults(statement)) rounds.set(elem, (rounds.get(elem) ?? 0) + 1);
  });
  return { rounds, dots: [...dots.values()] };
}

/**
 * The roundings of all kernels of an operator, and of the tensors that one kernel passes to another. A kernel's dtype
 * variable expands to all its members if the operator has no variable of that name.
 */
export function operatorRoundingProfile(operator: OperatorIR): RoundingProfile {
  const ownVariables = new Set(variablesOf(operator.signature));
  const expand = (elem: Elem): readonly SignatureDType[] => {
    if (typeof elem === "string") return [elem];
    return ownVariables.has(elem.name) ? [{ variable: elem.name }] : elem.members;
  };
  const roundings = operator.kernels.map(roundingsOf);
  const intermediates = intermediateDtypes(operator).map((elem) => [elem, 1] as const);
  return {
    rounds: [...roundings.flatMap(({ rounds }) => [...rounds]), ...intermediates].flatMap(([elem, count]) =>
      expand(elem).map((dtype) => ({ dtype, count })),
    ),
    dots: roundings.flatMap(({ dots }) =>
      dots.flatMap(({ elem, precision }) => expand(elem).map((dtype) => ({ dtype, precision }))),
    ),
  };
}

function variablesOf({ params }: KernelIR): readonly string[] {
  return params.flatMap((param) => ("dtype" in param && typeof param.dtype !== "string" ? [param.dtype.name] : []));
}

/** The dtypes of kernel outputs that another kernel, or PyTorch in between, uses. */
function intermediateDtypes({ forward, backward }: OperatorIR): readonly Elem[] {
  const dtypes = new Map<TensorParam, Elem>();
  const visit = (argument: TorchArgument | undefined): void => {
    if (Array.isArray(argument)) argument.forEach(visit);
    if (!isTorchNode(argument)) return;
    if (argument.kind === "launched") {
      const param = (argument.launch as KernelLaunch).kernel.params.find(({ name }) => name === argument.output);
      if (param?.kind === "tensor") dtypes.set(param, param.dtype);
    } else torchOperands(argument).forEach(visit);
  };
  for (const step of [...forward.steps, ...(backward?.steps ?? [])])
    (step.kind === "launch" ? Object.values(step.args) : torchOperands(step)).forEach(visit);
  return [...dtypes.values()];
}

function dotsOf(statement: OpStatement): readonly Dot[] {
  const { op, options } = statement;
  if (!op.facts.contracts) return [];
  const option = options["inputPrecision"];
  const precision = option && isLiteral(option) ? String(option.value) : DEFAULT_PRECISION;
  const first = operandOf(statement, "a");
  const type = first && typeOfArgument(first);
  return type?.kind === "tile" ? [{ elem: type.dtype, precision }] : [];
}

/** True if an op rounds its floating-point result. Other ops move or select elements. */
const isRounding = ({ facts, effect }: Op): boolean =>
  facts.rounds ?? (facts.lanewise === true || facts.contracts === true || effect === "atomic");

/** The dtypes narrower than float64 to which an op rounds. */
function narrowResults(statement: OpStatement): readonly Elem[] {
  if (!isRounding(statement.op)) return [];
  return statement.results.flatMap(({ type }) =>
    type.kind === "tile" && members(type.dtype).some((name) => isFloat(name) && bitsOf(name) < 64) ? [type.dtype] : [],
  );
}

type UsesOfValue = ReadonlyMap<Value, readonly (OpStatement | "kept")[]>;

/** The ops that use each value, or `kept` for uses in a variable, a branch or a helper function. */
function usesOf(ir: KernelIR): UsesOfValue {
  const uses = new Map<Value, (OpStatement | "kept")[]>();
  const addUse = (value: Value, user: OpStatement | "kept"): void => {
    const users = uses.get(value);
    if (users) users.push(user);
    else uses.set(value, [user]);
  };
  for (const body of bodiesOf(ir)) walkUses(body, (value, user) => addUse(value, user?.kind === "op" ? user : "kept"));
  return uses;
}

/**
 * Returns a predicate that is true for values whose only uses are stores, so that they are rounded for the last time.
 */
function storedOnlyPredicate(uses: UsesOfValue): (value: Value) => boolean {
  // A cache, because values share users. Without it, each path through the program would be visited.
  const cache = new Map<Value, boolean>();
  const isStored = (user: OpStatement | "kept"): boolean => {
    if (user === "kept") return false;
    if (user.op.effect === "write") return true;
    return !isRounding(user.op) && user.op.effect === "pure" && user.results.every(isOnlyStored);
  };
  const isOnlyStored = (value: Value): boolean => {
    const cached = cache.get(value);
    if (cached !== undefined) return cached;
    const isStoredOnly = (uses.get(value) ?? []).every(isStored);
    cache.set(value, isStoredOnly);
    return isStoredOnly;
  };
  return isOnlyStored;
}
