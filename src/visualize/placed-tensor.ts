/** A tensor as a grid of cells: where its elements lie in a picture, and how far the picture reaches. */

/** Rows and columns of cells; both may be negative, outside the tensor. */
export type Cell = readonly [row: number, column: number];

/** Cells as keys of maps: numbers cost a tenth of strings. */
export const keyOf = ([row, column]: Cell): number => (row + REACH) * 2 * REACH + column + REACH;
const REACH = 2 ** 25;

/** The cell of `factor` by `factor` elements that holds a cell. */
export const blockOf = ([row, column]: Cell, factor: number): Cell => [
  Math.floor(row / factor) * factor,
  Math.floor(column / factor) * factor,
];

/**
 * A tensor on paper: its last axis runs to the right, all axes before it run down, the last of those fastest. A tensor of
 * one axis is folded into rows of `fold` elements.
 */
export class TensorGrid {
  readonly rows: number;
  readonly columns: number;
  /** Whether the one axis is folded into rows. */
  readonly isFolded: boolean;

  constructor(
    readonly name: string,
    readonly shape: readonly number[],
    fold: number,
  ) {
    const last = shape.at(-1) ?? 1;
    this.isFolded = shape.length === 1 && last > fold;
    this.columns = this.isFolded ? fold : last;
    const leading = shape.slice(0, -1).reduce((product, dim) => product * dim, 1);
    this.rows = this.isFolded ? Math.ceil(last / fold) : leading;
  }

  /** The place of a lane; undefined where an index outside the tensor would fall on another element's place. */
  cell(indices: readonly Float64Array[], lane: number): Cell | undefined {
    const last = indices.at(-1)?.[lane] ?? 0;
    if (this.isFolded) return [Math.floor(last / this.columns), modulo(last, this.columns)];
    let row = 0;
    for (let axis = 0; axis < this.shape.length - 1; axis++) {
      const index = indices[axis]![lane]!;
      if (axis > 0 && (index < 0 || index >= this.shape[axis]!)) return undefined;
      row = row * this.shape[axis]! + index;
    }
    return [row, last];
  }

  /** How many elements of the tensor a block of cells holds. */
  elementsIn([row, column]: Cell, factor: number): number {
    const reach = (start: number, end: number): number =>
      Math.max(0, Math.min(start + factor, end) - Math.max(start, 0));
    if (!this.isFolded) return reach(row, this.rows) * reach(column, this.columns);
    const behind = this.rows * this.columns - this.shape[0]!;
    const full = reach(row, this.rows) * reach(column, this.columns);
    const isLast = row + factor >= this.rows;
    return isLast ? full - reach(column, this.columns) + reach(column, this.columns - behind) : full;
  }

  /** The indices of an element, in words. */
  nameOf([row, column]: Cell): string {
    if (this.shape.length === 0) return this.name;
    if (this.isFolded) return `${this.name}[${row * this.columns + column}]`;
    const leading: number[] = [];
    let rest = row;
    for (let axis = this.shape.length - 2; axis >= 0; axis--) {
      const dim = axis === 0 ? Infinity : this.shape[axis]!;
      leading.unshift(axis === 0 ? rest : modulo(rest, dim));
      rest = Math.floor(rest / dim);
    }
    return `${this.name}[${[...leading, column].join(", ")}]`;
  }
}

const modulo = (a: number, b: number): number => ((a % b) + b) % b;

/** The width at which tensors of one axis are folded: that of the widest other tensor, or what makes them square. */
export function foldOf(shapes: readonly (readonly number[])[]): number {
  const widths = shapes.flatMap((shape) => (shape.length > 1 ? [shape.at(-1)!] : []));
  const longest = Math.max(1, ...shapes.map((shape) => (shape.length === 1 ? shape[0]! : 1)));
  return Math.min(128, Math.max(32, 2 ** Math.ceil(Math.log2(longest) / 2), ...widths));
}
