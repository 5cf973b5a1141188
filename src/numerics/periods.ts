/**
 * Detects repeated rows and columns. A kernel whose indices wrap, such as `rm % M`, repeats rows in a block that is
 * larger than its matrix. The product of equal rows is then computed once.
 */

/** Lines of a matrix: rows, or columns. */
export interface MatrixLines {
  readonly count: number;
  /** Distance between neighboring lines. */
  readonly step: number;
  readonly length: number;
  /** Distance between neighboring elements of a line. */
  readonly stride: number;
}

export const rowsOf = (rows: number, columns: number): MatrixLines => ({
  count: rows,
  step: columns,
  length: columns,
  stride: 1,
});
export const columnsOf = (rows: number, columns: number): MatrixLines => ({
  count: columns,
  step: 1,
  length: rows,
  stride: columns,
});

/**
 * The number of lines after which all lines repeat, bit for bit. The number of all lines if there is no such period.
 */
export function periodOf(data: Float32Array | Float64Array, lines: MatrixLines): number {
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
export function hasPeriod(data: Float32Array | Float64Array, lines: MatrixLines, period: number): boolean {
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
