/** Formats arrays for `console.log`: all elements of small arrays, otherwise the first and last of each axis. */

/** The maximum number of elements to show in full. */
const MAX_FULL_SIZE = 200;
/** The number of indices to show at each end of an axis. */
const EDGE_COUNT = 3;

/** `[[1, 2, …, 9, 10], …]`, one line per row; `elementAt` returns the element at these indices. */
export function formatArray(
  shape: readonly number[],
  elementAt: (indices: readonly number[]) => number | bigint,
): string {
  const isFull = shape.reduce((product, dim) => product * dim, 1) <= MAX_FULL_SIZE;
  const formatAxis = (indices: readonly number[]): string => {
    const axis = indices.length;
    const dim = shape[axis];
    if (dim === undefined) return formatNumber(elementAt(indices));
    const indicesToShow =
      isFull || dim <= 2 * EDGE_COUNT ? range(0, dim) : [...range(0, EDGE_COUNT), -1, ...range(dim - EDGE_COUNT, dim)];
    const parts = indicesToShow.map((index) => (index < 0 ? "…" : formatAxis([...indices, index])));
    const isRow = axis === shape.length - 1;
    return `[${parts.join(isRow ? ", " : `,\n${" ".repeat(axis + 1)}`)}]`;
  };
  return formatAxis([]);
}

const range = (start: number, end: number): number[] => Array.from({ length: end - start }, (_, i) => start + i);

/** Six significant digits, which is enough for comparisons by eye with floats of any width. */
function formatNumber(value: number | bigint): string {
  if (typeof value === "bigint" || Number.isInteger(value) || !Number.isFinite(value)) return String(value);
  return String(Number(value.toPrecision(6)));
}
