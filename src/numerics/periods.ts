/**
 * Rows and columns that repeat. A kernel whose indices wrap, `rm % M`, fills a block that is larger than its matrix with
 * the same rows again, and a product of equal rows is computed once.
 */

/** Lines of a matrix: rows, or columns. */
export interface Lines {
  readonly count: number;
  /** From a line to the next. */
  readonly step: number;
  readonly length: number;
  /** From an element of a line to the next. */
  readonly apart: number;
}

export const rowsOf = (rows: number, columns: number): Lines => ({
  count: rows,
  step: columns,
  length: columns,
  apart: 1,
});
export const columnsOf = (rows: number, columns: number): Lines => ({
  count: columns,
  step: 1,
  length: rows,
  apart: columns,
});

/** After how many lines they are the same again, bit by bit; all of them if none is found. */
export function periodOf(data: Float32Array, lines: Lines): number {
  const bits = new Uint32Array(data.buffer, data.byteOffset, data.length);
  let tries = 0;
  for (let period = 1; period < lines.count && tries < MOST_TRIES; period++) {
    if (!isLike(bits, lines, period, 0)) continue;
    if (repeats(bits, lines, period)) return period;
    tries++;
  }
  return lines.count;
}

/** Lines that are the same as the first for another reason, such as zeros, are not looked at for long. */
const MOST_TRIES = 4;

/** Whether lines are the same again after so many. */
export function hasPeriod(data: Float32Array, lines: Lines, period: number): boolean {
  return repeats(new Uint32Array(data.buffer, data.byteOffset, data.length), lines, period);
}

function repeats(bits: Uint32Array, lines: Lines, period: number): boolean {
  for (let line = period; line < lines.count; line++) if (!isLike(bits, lines, line, line - period)) return false;
  return true;
}

function isLike(bits: Uint32Array, { step, length, apart }: Lines, a: number, b: number): boolean {
  for (let i = 0; i < length; i++) if (bits[a * step + i * apart] !== bits[b * step + i * apart]) return false;
  return true;
}
