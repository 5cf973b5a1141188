/**
 * Checks the results of ops: index arithmetic that differs from Python's, and, on request, ops that make a NaN or an
 * infinity.
 */
import { broadcastTo, sizeOf, type TileArray } from "../numerics/array.js";
import { cast } from "../numerics/array-cast.js";
import { negativeDivision, nonFinite, overflow } from "../diagnostics/catalog/finding-codes.js";
import { type IntName, isSigned } from "../types/dtype.js";
import type { KernelIR, OpStatement, Value } from "../ir/nodes.js";
import { type BigData, bitsOf, isBig, isFloat, type NumberData } from "../numerics/numeric.js";
import type { Op } from "../ir/op.js";
import type { Runtime } from "../values/runtime-values.js";
import type { Message } from "../diagnostics/catalog/define-code.js";
import type { FindingCode } from "../diagnostics/catalog/index.js";
import { indexValues } from "../analysis/index-values.js";
import type { ExecutionState } from "./execution-state.js";

type Args = Readonly<Record<string, Runtime>>;
/** Checks one op's operands and result. */
export type OpCheck = (args: Args, result: Runtime) => void;

export class OverflowChecker {
  readonly #index: ReadonlySet<Value>;

  constructor(
    ir: KernelIR,
    readonly running: ExecutionState,
    /** Whether ops that make a NaN or an infinity are reported. */
    readonly nonFinite: boolean,
  ) {
    this.#index = indexValues(ir);
  }

  /** The check to run after a statement, if any. */
  watch(statement: OpStatement): OpCheck | undefined {
    const { op, results, at } = statement;
    const [result] = results;
    if (results.length !== 1 || result?.type.kind !== "tile" || op.effect !== "pure") return undefined;
    const report: Report = (code, { shape }, lane, describe) => {
      const marked = new Uint8Array(sizeOf(shape));
      marked[lane] = 1;
      this.running.sanitizer.lanes(code, marked, shape, at, describe);
    };
    // Masks cannot overflow.
    if (carries(op) && result.type.dtype !== "int1" && this.#index.has(result))
      return (args, value) => {
        if (isTile(value) && !isFloat(value.dtype)) checkIndex(op, args, value, report);
      };
    const checked = op.proof.wraps && result.type.dtype !== "int1" && this.#index.has(result) && op.evaluate;
    if (checked)
      return (args, value) => {
        if (isTile(value) && !isFloat(value.dtype) && !isBig(value.dtype))
          checkIn64(this.running, statement, args, value, report);
      };
    // Ops inside a helper function report their own results.
    if (!this.nonFinite || Object.values(op.operands).includes("function")) return undefined;
    return (args, value) => {
      if (isTile(value) && isFloat(value.dtype)) checkFinite(op, args, value, report);
    };
  }
}

/** Integer arithmetic of two operands that Python can repeat. Of bits there is nothing to carry. */
const carries = ({ fold, operands, spelling }: Op): boolean =>
  fold !== undefined &&
  Object.keys(operands).join() === "x,y" &&
  !(spelling.form === "infix" && spelling.truth !== undefined);

type Report = (code: FindingCode, tile: TileArray, lane: number, describe: () => Message<FindingCode>) => void;

/** An operand lane by lane: the element of lane `i` is `data[i * step]`. */
interface Lanes {
  readonly data: ArrayLike<number | bigint>;
  readonly step: 0 | 1;
}

function lanesOf(operand: Runtime | undefined, shape: readonly number[]): Lanes {
  if (!isTile(operand)) return { data: [operand as number], step: 0 };
  if (operand.data.length === 1) return { data: operand.data, step: 0 };
  return { data: broadcastTo(operand, shape).data, step: 1 };
}

/** The largest element, or infinity if an element is negative. */
function highest(operand: Runtime | undefined): number {
  if (!isTile(operand)) return Number(operand) < 0 ? Infinity : Number(operand);
  const data = operand.data as NumberData;
  let most = 0;
  for (let i = 0; i < data.length; i++) {
    const value = data[i]!;
    if (value < 0) return Infinity;
    if (value > most) most = value;
  }
  return Number(most);
}

function hasNegative(data: BigData): boolean {
  for (let i = 0; i < data.length; i++) if (data[i]! < 0n) return true;
  return false;
}

/** Whether non-negative operands up to these cannot leave the dtype. The ops here are monotonic in each operand. */
const isSmall = (op: Op, left: number, right: number, limit: number): boolean =>
  left + right < limit && !(Number(op.fold!(left, right)) >= limit);

/** Reports `//` and `%` of a negative dividend, and overflow, once for each tile. */
function checkIndex(op: Op, { x, y }: Args, result: TileArray, report: Report): void {
  const { dtype, data, shape, poison } = result;
  // Authors choose unsigned integers to wrap.
  if (!isSigned(dtype as IntName)) return;
  const limit = 2 ** (bitsOf(dtype) - 1);
  const isWide = isBig(dtype);
  if (!isWide && isSmall(op, highest(x), highest(y), limit)) return;
  if (isWide && isTile(x) && isBig(x.dtype) && !hasNegative(x.data as BigData)) return;
  const [a, b] = [lanesOf(x, shape), lanesOf(y, shape)];
  for (let lane = 0; lane < data.length; lane++) {
    const left = a.data[lane * a.step]!;
    // Offsets never overflow 64 bits, so only negative dividends matter.
    if (isWide && left >= 0) continue;
    const right = b.data[lane * b.step]!;
    const exact = Number(op.fold!(left, right));
    const got = Number(data[lane]);
    // The division itself reports a divisor of 0.
    if (exact === got || !Number.isFinite(exact) || poison?.[lane]) continue;
    const isOutside = exact < -limit || exact >= limit;
    if (isWide && Math.abs(exact) >= 2 ** 53) continue;
    const { spelling } = op;
    const sentence =
      spelling.form === "infix" ? `${left} ${spelling.operator} ${right}` : `${op.name}(${left}, ${right})`;
    if (left < 0 && !isOutside)
      report(negativeDivision.code, result, lane, () => negativeDivision(sentence, got, exact));
    else report(overflow.code, result, lane, () => overflow(sentence, exact, got, dtype));
    return;
  }
}

/** Reports what the same op gives in 64 bits otherwise: a sum of lanes, or a number whose negative the dtype lacks. */
function checkIn64(
  running: ExecutionState,
  { op, at }: OpStatement,
  args: Args,
  result: TileArray,
  report: Report,
): void {
  const { x } = args;
  const { dtype, data, shape, poison } = result;
  if (!isSigned(dtype as IntName) || !isTile(x) || isFloat(x.dtype) || isMild(op, x, 2 ** (bitsOf(dtype) - 1))) return;
  const wide = op.evaluate!(
    { ...args, x: cast(x, "int64") },
    running.context([{ dtype: "int64", shape }], at),
  ) as TileArray;
  const lane = data.findIndex((value: number | bigint, i: number) => BigInt(value) !== wide.data[i] && !poison?.[i]);
  if (lane < 0) return;
  const of = op.proof.foldSemantics ? " of its lanes" : `(${lanesOf(x, shape).data[lane]})`;
  report(overflow.code, result, lane, () =>
    overflow(`tl.${op.name}${of}`, Number(wide.data[lane]), Number(data[lane]), dtype),
  );
}

/** Whether numbers are so far from the ends of a dtype that even all lanes together stay in it. */
function isMild({ proof: { foldSemantics: folds } }: Op, x: TileArray, limit: number): boolean {
  if (folds && !folds.adds) return false;
  let most = 0;
  for (const value of x.data as Iterable<number | bigint>) most = Math.max(most, Math.abs(Number(value)));
  return most * (folds ? x.data.length : 1) < limit;
}

/** Reports a NaN made from numbers, and an infinity made from finite numbers. */
function checkFinite(op: Op, args: Args, result: TileArray, report: Report): void {
  const { data, shape, poison } = result;
  const numbers = data as ArrayLike<number>;
  let operands: readonly Operand[] | undefined;
  for (let lane = 0; lane < numbers.length; lane++) {
    const value = numbers[lane]!;
    if (Number.isFinite(value) || poison?.[lane]) continue;
    operands ??= Object.entries(args).flatMap(([name, given]) =>
      operandsOf(name, given, shape, op.facts.lanewise === true),
    );
    const isNew = Number.isNaN(value)
      ? !operands.some((operand) => operand.any(lane, Number.isNaN))
      : !operands.some((operand) => operand.any(lane, (x) => !Number.isFinite(x)));
    if (!isNew) continue;
    const from = operands.flatMap(({ name, at }) => (at ? [`${name} = ${at(lane)}`] : []));
    const out = from.length > 0 ? ` where ${from.join(" and ")}` : "";
    const made = Number.isNaN(value) ? "NaN" : value > 0 ? "an infinity" : "a negative infinity";
    report(nonFinite.code, result, lane, () => nonFinite(op.name, made, out));
    return;
  }
}

/** An op's operand, as seen from a lane of the result. */
interface Operand {
  readonly name: string;
  /** Whether `test` holds for any element that the lane is computed from. */
  any(lane: number, test: (x: number) => boolean): boolean;
  /** The element that the lane is computed from, if it is only one. */
  readonly at?: (lane: number) => number | bigint;
}

function operandsOf(name: string, given: Runtime, shape: readonly number[], isLanewise: boolean): readonly Operand[] {
  if (Array.isArray(given))
    return (given as readonly Runtime[]).flatMap((item) => operandsOf(name, item, shape, isLanewise));
  if (typeof given === "number") return [{ name, any: (_, test) => test(given), at: () => given }];
  if (!isTile(given)) return [];
  if (isLanewise) {
    const { data, step } = lanesOf(given, shape);
    const at = (lane: number): number | bigint => data[lane * step]!;
    return [{ name, at, any: (lane, test) => test(Number(at(lane))) }];
  }
  const { data } = given;
  return [{ name, any: (_, test) => isFloat(given.dtype) && (data as NumberData).some(test) }];
}

const isTile = (x: Runtime | undefined): x is TileArray => typeof x === "object" && "data" in x;
