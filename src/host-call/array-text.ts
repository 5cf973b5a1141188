/** Values as `console.log` shows them: whole where they are few, else the first and last of each axis. */

/** Arrays of more elements are shown in part. */
const WHOLE = 200;
/** How many indices are shown at each end of an axis. */
const EDGE = 3;

/** `[[1, 2, …, 9, 10], …]`, one line for each row; `at` gives the element at these indices. */
export function formatArray(shape: readonly number[], at: (indices: readonly number[]) => number | bigint): string {
  const whole = shape.reduce((product, dim) => product * dim, 1) <= WHOLE;
  const text = (indices: readonly number[]): string => {
    const axis = indices.length;
    const dim = shape[axis];
    if (dim === undefined) return numberText(at(indices));
    const shown = whole || dim <= 2 * EDGE ? range(0, dim) : [...range(0, EDGE), -1, ...range(dim - EDGE, dim)];
    const parts = shown.map((index) => (index < 0 ? "…" : text([...indices, index])));
    const isRow = axis === shape.length - 1;
    return `[${parts.join(isRow ? ", " : `,\n${" ".repeat(axis + 1)}`)}]`;
  };
  return text([]);
}

const range = (start: number, end: number): number[] => Array.from({ length: end - start }, (_, i) => start + i);

/** Six significant digits: enough to compare by eye, for floats of any width. */
function numberText(value: number | bigint): string {
  if (typeof value === "bigint" || Number.isInteger(value) || !Number.isFinite(value)) return String(value);
  return String(Number(value.toPrecision(6)));
}
