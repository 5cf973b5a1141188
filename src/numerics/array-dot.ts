/** Evaluates the matrix products of `tl.dot`. */
import { numbersOf, sizeOf, tileArray, type TileArray, cast } from "./array.js";
import { allocate } from "./buffer-pool.js";
import type { NumberData } from "./numeric-int.js";
import { round, roundToTf32, truncateToTf32 } from "./numeric-float.js";

/** Rounding of float32 operands before the product. Other operands are multiplied exactly. */
export type InputPrecision = "tf32" | "tf32x3" | "ieee" | "bf16x3" | "bf16x6";
export type AccumulatorDType = "float16" | "float32" | "float64" | "int32";

export interface DotOptions {
  readonly accDType: AccumulatorDType;
  /** Triton's default is tf32. */
  readonly inputPrecision?: InputPrecision | undefined;
}

/**
 * `acc + a @ b` of `[…, M, K]` and `[…, K, N]`, with equal leading (batch) dims. Poison in a row of `a` or a column of
 * `b` poisons every result that uses it.
 *
 * float32 accumulates with one fused multiply-add per step, in order of k. (The sum is rounded to float64 first, which
 * makes a difference only if that is a tie of float32.) A float16 accumulator is rounded once, at the end. int32 wraps,
 * as in wgmma. `mma.sync`, which Triton uses on sm_90 for M < 64, saturates instead (`satfinite`).
 */
export function dot(a: TileArray, b: TileArray, acc: TileArray | undefined, options: DotOptions): TileArray {
  const size = sizesOf(a.shape, b.shape);
  const { accDType, inputPrecision = "tf32" } = options;
  const shape = [...a.shape.slice(0, -1), size.n];
  // A float16 accumulator is widened.
  const start = allocate(accDType, size.batch * size.m * size.n) as NumberData;
  if (acc) start.set(numbersOf(acc));
  const out =
    a.dtype === "float32" && b.dtype === "float32"
      ? multiplyFloat32(start as Float32Array, a.data as Float32Array, b.data as Float32Array, size, inputPrecision)
      : accumulate(start, numbersOf(a), numbersOf(b), size);
  const sum = tileArray(accDType === "float16" ? "float32" : accDType, shape, out, poisonOf(a, b, acc, size));
  return cast(sum, accDType);
}

interface Sizes {
  readonly batch: number;
  readonly m: number;
  readonly n: number;
  readonly k: number;
}

function sizesOf(a: readonly number[], b: readonly number[]): Sizes {
  const [m, k] = a.slice(-2) as [number, number];
  const [inner, n] = b.slice(-2) as [number, number];
  const batch = a.slice(0, -2);
  if (k !== inner || batch.length !== b.length - 2 || batch.some((dim, i) => dim !== b[i])) {
    throw new RangeError(`dot: shapes [${a.join(", ")}] and [${b.join(", ")}] do not match`);
  }
  return { batch: sizeOf(batch), m, n, k };
}

function multiplyFloat32(
  acc: Float32Array,
  a: Float32Array,
  b: Float32Array,
  size: Sizes,
  precision: InputPrecision,
): NumberData {
  if (precision === "ieee") return accumulate(acc, a, b, size);
  if (precision === "tf32") return accumulate(acc, a.map(truncateToTf32), b.map(truncateToTf32), size);
  const toPart = precision === "tf32x3" ? roundToTf32 : round("bfloat16");
  return multiplySplit(acc, a, b, size, precision === "bf16x6" ? 3 : 2, toPart);
}

/**
 * Splits operands into parts of decreasing size and adds the products of parts, smallest first. Products beyond the
 * order of the last part are omitted (Triton's F32DotTC pass). If a part is infinite, the small products are NaN,
 * because infinity times 0 is NaN. The pass replaces NaN with 0, so the product of the largest parts determines the
 * result.
 */
function multiplySplit(
  acc: Float32Array,
  a: Float32Array,
  b: Float32Array,
  size: Sizes,
  count: number,
  toPart: (x: number) => number,
): NumberData {
  const [aParts, bParts] = [split(a, count, toPart), split(b, count, toPart)];
  const out = new Float32Array(acc.length);
  for (let order = count - 1; order >= 0; order--) {
    if (order === 0) for (let i = 0; i < out.length; i++) if (Number.isNaN(out[i])) out[i] = 0;
    for (const [i, aPart] of [...aParts.entries()].reverse())
      for (const [j, bPart] of bParts.entries()) if (i + j === order) accumulate(out, aPart, bPart, size);
  }
  return out.map((x, i) => x + acc[i]!);
}

function split(x: Float32Array, count: number, toPart: (x: number) => number): Float32Array[] {
  let remainder = x;
  return Array.from({ length: count }, () => {
    const part = remainder.map(toPart);
    remainder = remainder.map((value) => value - toPart(value));
    return part;
  });
}

/** Adds the product to `out` and returns `out`. Each inner loop handles only one kind of array. */
function accumulate(out: NumberData, a: NumberData, b: NumberData, size: Sizes): NumberData {
  if (out instanceof Float32Array) accumulateFloats(out, a as Float32Array, b as Float32Array, size, addFloat32);
  else if (out instanceof Float64Array) accumulateFloats(out, a as Float64Array, b as Float64Array, size, addFloat64);
  else accumulateInt32(out as Int32Array, a as Int32Array, b as Int32Array, size);
  return out;
}

type Floats = Float32Array | Float64Array;

/**
 * Rounds each partial sum to the dtype of `out`. As an optimization, skips zeros of `a` and trailing zero columns of
 * `b`, because tiles of small tensors are mostly zeros. Adding their products changes only a sum of -0; its row is
 * recomputed with them. If an operand is not finite, nothing is skipped, because its product with zero is NaN.
 */
function accumulateFloats<F extends Floats>(out: F, a: F, b: F, size: Sizes, addProducts: AddProducts<F>): void {
  const { batch, m, n, k } = size;
  const { rows, width } = batch === 1 ? distinctLines(out, a, b, size) : { rows: batch * m, width: n };
  const columns = allFinite(a) ? Math.min(columnsUsed(b, n), width) : width;
  const canSkipZeros = allFinite(b);
  const steps = new Int32Array(k);
  for (let row = 0; row < rows; row++) {
    const rowStarts = { start: row * n, aStart: row * k, bStart: Math.floor(row / m) * k * n };
    let count = 0;
    for (let p = 0; p < k; p++) if (!canSkipZeros || a[row * k + p] !== 0) steps[count++] = p;
    const isComplete = count === k && columns === width;
    const originalRow = isComplete ? out : out.slice(row * n, row * n + width);
    addProducts(out, a, b, rowStarts, n, columns, steps.subarray(0, count));
    if (!isComplete && hasNegativeZero(out, row * n, width)) {
      out.set(originalRow, row * n);
      const allSteps = steps.map((_, p) => p);
      addProducts(out, a, b, rowStarts, n, width, allSteps);
    }
    for (let filled = width; filled < n; filled *= 2)
      out.copyWithin(row * n + filled, row * n, row * n + Math.min(filled, n - filled));
  }
  for (let offset = rows * n; offset < out.length; offset += rows * n) out.copyWithin(offset, 0, rows * n);
}

/** The number of distinct rows and columns of the sum. The others repeat them. */
function distinctLines(out: Floats, a: Floats, b: Floats, { m, n, k }: Sizes) {
  const [rows, width] = [periodOf(a, rowsOf(m, k)), periodOf(b, columnsOf(k, n))];
  return {
    rows: hasPeriod(out, rowsOf(m, n), rows) ? rows : m,
    width: hasPeriod(out, columnsOf(m, n), width) ? width : n,
  };
}

interface RowStarts {
  readonly start: number;
  readonly aStart: number;
  readonly bStart: number;
}

/** Adds one row of the product, for these steps of k. */
type AddProducts<F> = (out: F, a: F, b: F, rowStarts: RowStarts, n: number, columns: number, steps: Int32Array) => void;

/** Adds four steps at a time, so that partial sums stay in registers. */
const addFloat32: AddProducts<Float32Array> = (out, a, b, { start, aStart, bStart }, n, columns, steps) => {
  let i = 0;
  for (; i + 3 < steps.length; i += 4) {
    const [p0, p1, p2, p3] = [steps[i]!, steps[i + 1]!, steps[i + 2]!, steps[i + 3]!];
    const [x0, x1, x2, x3] = [a[aStart + p0]!, a[aStart + p1]!, a[aStart + p2]!, a[aStart + p3]!];
    const [b0, b1, b2, b3] = [bStart + p0 * n, bStart + p1 * n, bStart + p2 * n, bStart + p3 * n];
    addFour(out, start, columns, b, x0, b0, x1, b1, x2, b2, x3, b3);
  }
  for (; i < steps.length; i++) addOne(out, start, columns, b, a[aStart + steps[i]!]!, bStart + steps[i]! * n);
};

const addFloat64: AddProducts<Float64Array> = (out, a, b, { start, aStart, bStart }, n, columns, steps) => {
  let i = 0;
  for (; i + 1 < steps.length; i += 2) {
    const [x, y] = [a[aStart + steps[i]!]!, a[aStart + steps[i + 1]!]!];
    const [xRow, yRow] = [bStart + steps[i]! * n, bStart + steps[i + 1]! * n];
    for (let j = 0; j < columns; j++) out[start + j] = out[start + j]! + x * b[xRow + j]! + y * b[yRow + j]!;
  }
  for (; i < steps.length; i++) {
    const [x, row] = [a[aStart + steps[i]!]!, bStart + steps[i]! * n];
    for (let j = 0; j < columns; j++) out[start + j] = out[start + j]! + x * b[row + j]!;
  }
};

const { fround } = Math;

/** Adds four steps. A separate function, because V8 deoptimized a combined loop at each remainder. */
function addFour(
  out: Float32Array,
  start: number,
  columns: number,
  b: Float32Array,
  x0: number,
  b0: number,
  x1: number,
  b1: number,
  x2: number,
  b2: number,
  x3: number,
  b3: number,
): void {
  for (let j = 0; j < columns; j++) {
    const sum = fround(fround(out[start + j]! + x0 * b[b0 + j]!) + x1 * b[b1 + j]!);
    out[start + j] = fround(sum + x2 * b[b2 + j]!) + x3 * b[b3 + j]!;
  }
}

function addOne(out: Float32Array, start: number, columns: number, b: Float32Array, x: number, bRow: number): void {
  for (let j = 0; j < columns; j++) out[start + j] = out[start + j]! + x * b[bRow + j]!;
}

function allFinite(data: Floats): boolean {
  for (let i = 0; i < data.length; i++) if (!Number.isFinite(data[i])) return false;
  return true;
}

/** The number of columns up to the last nonzero one. */
function columnsUsed(b: Floats, n: number): number {
  let columns = 0;
  for (let row = 0; row < b.length; row += n)
    for (let j = n - 1; j >= columns; j--)
      if (b[row + j] !== 0) {
        columns = j + 1;
        break;
      }
  return columns;
}

function hasNegativeZero(data: Floats, start: number, length: number): boolean {
  for (let i = start; i < start + length; i++) if (Object.is(data[i], -0)) return true;
  return false;
}

function accumulateInt32(out: Int32Array, a: Int32Array, b: Int32Array, { batch, m, n, k }: Sizes): void {
  for (let row = 0; row < batch * m; row++) {
    const bStart = Math.floor(row / m) * k * n;
    const start = row * n;
    for (let p = 0; p < k; p++) {
      const x = a[row * k + p]!;
      const bRow = bStart + p * n;
      for (let j = 0; j < n; j++) out[start + j] = (out[start + j]! + Math.imul(x, b[bRow + j]!)) | 0;
    }
  }
}

function poisonOf(a: TileArray, b: TileArray, acc: TileArray | undefined, size: Sizes): Uint8Array | undefined {
  if (!a.poison && !b.poison && !acc?.poison) return undefined;
  const { batch, m, n, k } = size;
  const rows = new Uint8Array(batch * m);
  const columns = new Uint8Array(batch * n);
  a.poison?.forEach((poison, i) => {
    if (poison) rows[Math.floor(i / k)] = 1;
  });
  b.poison?.forEach((poison, i) => {
    if (poison) columns[Math.floor(i / (k * n)) * n + (i % n)] = 1;
  });
  return Uint8Array.from({ length: batch * m * n }, (_, i) => {
    const row = Math.floor(i / n);
    return acc?.poison?.[i] || rows[row] || columns[Math.floor(row / m) * n + (i % n)] ? 1 : 0;
  });
}

// Detects repeated rows and columns. A kernel whose indices wrap, such as `rm % M`, repeats rows in a block that is
// larger than its matrix. The product of equal rows is then computed once.

/** Lines of a matrix: rows, or columns. */
interface MatrixLines {
  readonly count: number;
  /** Distance between neighboring lines. */
  readonly step: number;
  readonly length: number;
  /** Distance between neighboring elements of a line. */
  readonly stride: number;
}

const rowsOf = (rows: number, columns: number): MatrixLines => ({
  count: rows,
  step: columns,
  length: columns,
  stride: 1,
});
const columnsOf = (rows: number, columns: number): MatrixLines => ({
  count: columns,
  step: 1,
  length: rows,
  stride: columns,
});

/**
 * The number of lines after which all lines repeat, bit for bit. The number of all lines if there is no such period.
 */
function periodOf(data: Float32Array | Float64Array, lines: MatrixLines): number {
  const bits = bitsOf(data);
  let attempts = 0;
  for (let period = 1; period < lines.count && attempts < MAX_ATTEMPTS; period++) {
    if (!areLinesEqual(bits, lines, period, 0)) continue;
    if (isPeriodic(bits, lines, period)) return period;
    attempts++;
  }
  return lines.count;
}

/** Bounds the search if lines equal the first for another reason, such as zeros. */
const MAX_ATTEMPTS = 4;

/** True if the lines repeat with this period. */
function hasPeriod(data: Float32Array | Float64Array, lines: MatrixLines, period: number): boolean {
  return isPeriodic(bitsOf(data), lines, period);
}

/** Elements as 32-bit words. A float64 has two. */
interface Bits {
  readonly elements: Uint32Array;
  readonly wordsPerElement: number;
}

function bitsOf(data: Float32Array | Float64Array): Bits {
  const wordsPerElement = data.BYTES_PER_ELEMENT / Uint32Array.BYTES_PER_ELEMENT;
  return { elements: new Uint32Array(data.buffer, data.byteOffset, data.length * wordsPerElement), wordsPerElement };
}

function isPeriodic(bits: Bits, lines: MatrixLines, period: number): boolean {
  for (let line = period; line < lines.count; line++)
    if (!areLinesEqual(bits, lines, line, line - period)) return false;
  return true;
}

function areLinesEqual(
  { elements, wordsPerElement }: Bits,
  { step, length, stride }: MatrixLines,
  a: number,
  b: number,
): boolean {
  for (let i = 0; i < length; i++) {
    const [x, y] = [(a * step + i * stride) * wordsPerElement, (b * step + i * stride) * wordsPerElement];
    if (elements[x] !== elements[y] || elements[x + wordsPerElement - 1] !== elements[y + wordsPerElement - 1])
      return false;
  }
  return true;
}
