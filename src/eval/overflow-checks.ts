/**
 * Checks the results of ops: index arithmetic that differs from Python's, and optionally ops that create NaN or
 * infinity.
 */
import { sizeOf, type TileArray, broadcastTo, tileArray, cast } from "../numerics/array.js";
import { division, negativeDivision, nonFinite, overflow } from "../diagnostics/catalog/finding-codes.js";
import { type IntName, isSigned } from "../types/dtype.js";
import type { Limits } from "../types/limits.js";
import type { KernelIR, OpStatement, Value } from "../ir/nodes.js";
import type { Op } from "../ir/op.js";
import { isTile } from "../values/operands.js";
import type { Runtime } from "../values/runtime-values.js";
import type { Message } from "../diagnostics/message.js";
import type { FindingCode } from "../diagnostics/catalog/index.js";
import { indexValues } from "../analysis/index-values.js";
import type { ExecutionState } from "./execution-state.js";
import {
  divide,
  type BigData,
  bitsOf,
  isBig,
  isFloat,
  type NumberData,
  type NumericDType,
} from "../numerics/numeric-int.js";

// The elements of an operand, relative to the lanes of a result.

type Lanes = (lane: number) => number | bigint;

/** An operand lane by lane, broadcast to a shape. */
function lanesOf(operand: Runtime | undefined, shape: readonly number[]): Lanes {
  if (!isTile(operand)) return () => operand as number;
  const { data } = operand.data.length === 1 ? operand : broadcastTo(operand, shape);
  const step = data.length === 1 ? 0 : 1;
  return (lane) => data[lane * step]!;
}

type Args = Readonly<Record<string, Runtime>>;
export type OpCheck = (args: Args, result: Runtime) => void;

export class OverflowChecker {
  readonly #indexValues: ReadonlySet<Value>;
  readonly #limits: Limits;

  constructor(
    ir: KernelIR,
    readonly state: ExecutionState,
    /** True to report ops that create NaN or infinity. */
    readonly nonFinite: boolean,
  ) {
    this.#indexValues = indexValues(ir);
    this.#limits = ir.limits;
  }

  /** The check to run after a statement, if any. */
  checkFor(statement: OpStatement): OpCheck | undefined {
    const { op, results, location } = statement;
    const [result] = results;
    if (results.length !== 1 || result?.type.kind !== "tile" || op.effect !== "pure") return undefined;
    const report: Report = (code, { shape }, lane, describe) => {
      const lanes = new Uint8Array(sizeOf(shape));
      lanes[lane] = 1;
      this.state.sanitizer.reportLanes(code, lanes, shape, location, describe);
    };
    const divides = DIVISIONS.has(op.facts.integer);
    if (isCarrying(op) && result.type.dtype !== "int1" && this.#indexValues.has(result))
      return (args, value) => {
        if (!isTile(value) || isFloat(value.dtype)) return;
        if (divides && checkDivisor(args, value, report)) return;
        checkIndex(op, args, value, this.#limits, report);
      };
    const { evaluate } = op;
    if (op.proof.wraps && result.type.dtype !== "int1" && this.#indexValues.has(result) && evaluate)
      return (args, value) => {
        if (isTile(value) && !isFloat(value.dtype) && !isBig(value.dtype))
          checkAgainstInt64(this.state, statement, evaluate, args, value, this.#limits, report);
      };
    // Ops in a helper function report their own results.
    if (!this.nonFinite || Object.values(op.operands).includes("function")) return undefined;
    return (args, value) => {
      if (isTile(value) && isFloat(value.dtype)) checkFinite(op, args, value, report);
    };
  }
}

type FoldingOp = Op & Required<Pick<Op, "fold">>;

/** True for integer arithmetic of two operands that Python can repeat. Bitwise ops cannot overflow. */
const isCarrying = (op: Op): op is FoldingOp =>
  op.fold !== undefined &&
  Object.keys(op.operands).join() === "x,y" &&
  !(op.spelling.form === "infix" && op.spelling.truth !== undefined);

type Report = (code: FindingCode, tile: TileArray, lane: number, describe: () => Message<FindingCode>) => void;

/** The maximum element, or infinity if an element is negative. */
function maxElement(operand: Runtime | undefined): number {
  if (!isTile(operand)) return Number(operand) < 0 ? Infinity : Number(operand);
  const data = operand.data as NumberData;
  let max = 0;
  for (let i = 0; i < data.length; i++) {
    const value = data[i]!;
    if (value < 0) return Infinity;
    if (value > max) max = value;
  }
  return Number(max);
}

function mayBeNegative(operand: Runtime | undefined): boolean {
  if (!isTile(operand) || !isBig(operand.dtype)) return true;
  const data = operand.data as BigData;
  for (let i = 0; i < data.length; i++) if (data[i]! < 0n) return true;
  return false;
}

/**
 * True if the op stays below the limit for all operands up to `x` and `y`. The ops here are monotonic in each operand.
 */
const isWithinLimit = (op: FoldingOp, x: number, y: number, limit: number): boolean =>
  x + y < limit && !(Number(op.fold(x, y)) >= limit);

const DIVISIONS: ReadonlySet<string | undefined> = new Set(["quotient", "remainder"]);

/** Reports `//` and `%` by a negative divisor, once per tile. True if there is one. */
function checkDivisor({ x, y }: Args, result: TileArray, report: Report): boolean {
  const [lhsAt, rhsAt] = [lanesOf(x, result.shape), lanesOf(y, result.shape)];
  const lane = result.data.findIndex((_: number | bigint, i: number) => rhsAt(i) < 0 && !result.poison?.[i]);
  if (lane < 0) return false;
  report(division.code, result, lane, () => division(rhsAt(lane), lhsAt(lane)));
  return true;
}

/** Reports overflow, and `//` and `%` of a negative dividend, once per tile. */
function checkIndex(op: FoldingOp, { x, y }: Args, result: TileArray, limits: Limits, report: Report): void {
  const { dtype, data, shape, poison } = result;
  // Unsigned integers may wrap intentionally.
  if (!isSigned(dtype as IntName)) return;
  const limit = endOf(dtype, limits);
  const isWide = isBig(dtype);
  if (!isWide && isWithinLimit(op, maxElement(x), maxElement(y), limit)) return;
  if (isWide && !mayBeNegative(x)) return;
  const [lhsAt, rhsAt] = [lanesOf(x, shape), lanesOf(y, shape)];
  for (let lane = 0; lane < data.length; lane++) {
    const lhs = lhsAt(lane);
    // Offsets never overflow 64 bits, so only negative dividends matter.
    if (isWide && lhs >= 0) continue;
    const rhs = rhsAt(lane);
    const exact = Number(op.fold(lhs, rhs));
    const actual = Number(data[lane]);
    // The division itself reports a zero divisor.
    if (exact === actual || !Number.isFinite(exact) || poison?.[lane]) continue;
    const isOverflow = exact < -limit || exact >= limit;
    if (isWide && Math.abs(exact) >= 2 ** 53) continue;
    const expression = formatOperation(op, lhs, rhs);
    if (lhs < 0 && !isOverflow)
      report(negativeDivision.code, result, lane, () => negativeDivision(expression, actual, exact));
    else report(overflow.code, result, lane, () => overflow(expression, exact, actual, dtype));
    return;
  }
}

/** One more than the largest value of a signed dtype. */
const endOf = (dtype: NumericDType, { int32End }: Limits): number =>
  dtype === "int32" ? int32End : 2 ** (bitsOf(dtype) - 1);

const formatOperation = ({ name, spelling }: Op, x: number | bigint, y: number | bigint): string =>
  spelling.form === "infix" ? `${x} ${spelling.operator} ${y}` : `${name}(${x}, ${y})`;

/**
 * Reports a result that differs from that of the same op in 64 bits, such as a sum of lanes or the absolute value of
 * the minimum.
 */
function checkAgainstInt64(
  state: ExecutionState,
  { op, location }: OpStatement,
  evaluate: NonNullable<Op["evaluate"]>,
  args: Args,
  result: TileArray,
  limits: Limits,
  report: Report,
): void {
  const { x } = args;
  const { dtype, data, shape, poison } = result;
  if (!isSigned(dtype as IntName) || !isTile(x) || isFloat(x.dtype) || isFarFromLimits(op, x, endOf(dtype, limits)))
    return;
  const wide = evaluate(
    { ...args, x: cast(x, "int64") },
    state.context([{ dtype: "int64", shape }], location),
  ) as TileArray;
  const lane = data.findIndex((value: number | bigint, i: number) => BigInt(value) !== wide.data[i] && !poison?.[i]);
  if (lane < 0) return;
  const operandText = op.proof.foldSemantics ? " of its lanes" : `(${lanesOf(x, shape)(lane)})`;
  report(overflow.code, result, lane, () =>
    overflow(`tl.${op.name}${operandText}`, Number(wide.data[lane]), Number(data[lane]), dtype),
  );
}

/** True if the values are so small that even the sum of all lanes fits the dtype. */
function isFarFromLimits({ proof: { foldSemantics: folds } }: Op, x: TileArray, limit: number): boolean {
  if (folds && !folds.adds) return false;
  let max = 0;
  for (const value of x.data as Iterable<number | bigint>) max = Math.max(max, Math.abs(Number(value)));
  return max * (folds ? x.data.length : 1) < limit;
}

/** Reports NaN computed from numbers, and infinity computed from finite numbers. */
function checkFinite(op: Op, args: Args, result: TileArray, report: Report): void {
  const { data, shape, poison } = result;
  const numbers = data as ArrayLike<number>;
  let operands: readonly Operand[] | undefined;
  for (let lane = 0; lane < numbers.length; lane++) {
    const value = numbers[lane]!;
    if (Number.isFinite(value) || poison?.[lane]) continue;
    operands ??= Object.entries(args).flatMap(([name, argument]) =>
      operandsOf(name, argument, shape, op.facts.lanewise === true),
    );
    const isNew = Number.isNaN(value)
      ? !operands.some((operand) => operand.some(lane, Number.isNaN))
      : !operands.some((operand) => operand.some(lane, (x) => !Number.isFinite(x)));
    if (!isNew) continue;
    const operandValues = operands.flatMap(({ name, elementAt: at }) => (at ? [`${name} = ${at(lane)}`] : []));
    const condition = operandValues.length > 0 ? ` where ${operandValues.join(" and ")}` : "";
    const resultText = describeNonFinite(value);
    report(nonFinite.code, result, lane, () => nonFinite(op.name, resultText, condition));
    return;
  }
}

/** An op's operand, relative to a lane of the result. */
interface Operand {
  readonly name: string;
  /** True if `test` is true for any element that the lane depends on. */
  some(lane: number, test: (x: number) => boolean): boolean;
  /** The element that the lane depends on, if it is the only one. */
  readonly elementAt?: (lane: number) => number | bigint;
}

function operandsOf(
  name: string,
  argument: Runtime,
  shape: readonly number[],
  isLanewise: boolean,
): readonly Operand[] {
  if (Array.isArray(argument))
    return (argument as readonly Runtime[]).flatMap((item) => operandsOf(name, item, shape, isLanewise));
  if (typeof argument === "number") return [{ name, some: (_, test) => test(argument), elementAt: () => argument }];
  if (!isTile(argument)) return [];
  if (isLanewise) {
    const elementAt = lanesOf(argument, shape);
    return [{ name, elementAt, some: (lane, test) => test(Number(elementAt(lane))) }];
  }
  const { data } = argument;
  return [{ name, some: (_, test) => isFloat(argument.dtype) && (data as NumberData).some(test) }];
}

function describeNonFinite(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  return value > 0 ? "an infinity" : "a negative infinity";
}

// Int32 of fewer than 32 bits. Its values are those of 32 bits that are sign-extended, so each result of an op drops its
// high bits: sums, products and shifts are then those of the narrow type.

type Results = Runtime | readonly Runtime[];

/** Narrows the results of an op. */
export function narrowing({ facts }: Op, { int32Bits }: Limits): (args: Args, results: Results) => Results {
  if (int32Bits === 32) return (_, results) => results;
  const unused = 32 - int32Bits;
  const wrap = (value: number): number => (value << unused) >> unused;
  const narrow = (args: Args, value: Runtime): Runtime => {
    if (!isTile(value) || value.dtype !== "int32") return value;
    if (facts.integer !== "blocks") return withElements(value, (i) => wrap((value.data as NumberData)[i]!));
    // The sum in `(x + y - 1) // y` wraps as well.
    const [x, y] = [args["x"], args["y"]].map((operand) => lanesOf(operand, value.shape)) as [Lanes, Lanes];
    return withElements(value, (i) => wrap(divide(wrap(Number(x(i)) + Number(y(i)) - 1), Number(y(i)))));
  };
  return (args, results) =>
    Array.isArray(results) ? results.map((each: Runtime) => narrow(args, each)) : narrow(args, results as Runtime);
}

function withElements(value: TileArray, elementAt: (index: number) => number): TileArray {
  const data = Int32Array.from(value.data as NumberData, (_, i) => elementAt(i));
  return tileArray(value.dtype, value.shape, data, value.poison);
}
