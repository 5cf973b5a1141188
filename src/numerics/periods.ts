/**
 * Finds rows and columns that repeat. A kernel whose indices wrap, such as `rm % M`, repeats rows in a block that is
 * larger than its matrix; the product of equal rows is then computed once.
 */

/** Lines of a matrix: rows, or columns. */
export interface MatrixLines {
  readonly count: number;
  /** Distance between neighboring lines. */
  readonly step: number;
  readonly length: number;
  /** Distance between neighboring elements of a line. */
  readonly apart: number;
}

export const rowsOf = (rows: number, columns: number): MatrixLines => ({
  count: rows,
  step: columns,
  length: columns,
  apart: 1,
});
export const columnsOf = (rows: number, columns: number): MatrixLines => ({
  count: columns,
  step: 1,
  length: rows,
  apart: columns,
});

/** The number of lines after which all lines repeat, bit for bit; the number of all lines if none is found. */
export function periodOf(data: Float32Array | Float64Array, lines: MatrixLines): number {
  const bits = bitsOf(data);
  let tries = 0;
  for (let period = 1; period < lines.count && tries < MOST_TRIES; period++) {
    if (!isLike(bits, lines, period, 0)) continue;
    if (repeats(bits, lines, period)) return period;
    tries++;
  }
  return lines.count;
}

/** Bounds the search when lines equal the first for another reason, such as zeros. */
const MOST_TRIES = 4;

/** Whether the lines repeat with this period. */
export function hasPeriod(data: Float32Array | Float64Array, lines: MatrixLines, period: number): boolean {
  return repeats(bitsOf(data), lines, period);
}

/** Elements as words of 32 bits, of which a float64 has two. */
interface Bits {
  readonly words: Uint32Array;
  readonly each: number;
}

function bitsOf(data: Float32Array | Float64Array): Bits {
  const each = data.BYTES_PER_ELEMENT / Uint32Array.BYTES_PER_ELEMENT;
  return { words: new Uint32Array(data.buffer, data.byteOffset, data.length * each), each };
}

function repeats(bits: Bits, lines: MatrixLines, period: number): boolean {
  for (let line = period; line < lines.count; line++) if (!isLike(bits, lines, line, line - period)) return false;
  return true;
}

function isLike({ words, each }: Bits, { step, length, apart }: MatrixLines, a: number, b: number): boolean {
  for (let i = 0; i < length; i++) {
    const [x, y] = [(a * step + i * apart) * each, (b * step + i * apart) * each];
    if (words[x] !== words[y] || words[x + each - 1] !== words[y + each - 1]) return false;
  }
  return true;
}
