/** The accesses of each element of a tensor: the content of a picture, independent of its rendering. */
import type { Access } from "../compiled/access.js";

export const LOADED = 1;
export const STORED = 2;
/** The location of a masked lane. */
export const MASKED = 4;
/** The location of a lane with a finding. */
export const REFUSED = 8;

/** The number of elements in each state. Masked and refused lanes count locations, which may be outside the tensor. */
export interface Counts {
  readonly loaded: number;
  readonly stored: number;
  /** Loaded and stored; also counted in `loaded` and `stored`. */
  readonly both: number;
  /** Elements with masked lanes only. */
  readonly masked: number;
  readonly refused: number;
}

/** A tensor, the state of each accessed cell, and the source lines of the accesses. */
export interface TensorAccessMap {
  readonly tensorGrid: TensorGrid;
  readonly states: ReadonlyMap<number, { readonly cell: Cell; readonly state: number }>;
  readonly counts: Counts;
  /** The number of inactive lanes outside the picture. */
  readonly outsideCount: number;
  /** The author's lines that access the tensor. */
  readonly lines: readonly number[];
  readonly kernel: string;
}

const STATE_BY_KIND = { load: LOADED, store: STORED, atomic: LOADED | STORED, poll: LOADED } as const;

type NonEmpty<T> = [T, ...T[]];

/** Groups accesses by launch and tensor, in the order of each group's first access. */
export function byTensor(accesses: readonly Access[]): readonly (readonly [TensorGrid, Readonly<NonEmpty<Access>>])[] {
  const groups = new Map<string, NonEmpty<Access>>();
  for (const access of accesses) {
    const key = `${access.launch} ${access.tensor}`;
    const group = groups.get(key);
    if (group) group.push(access);
    else groups.set(key, [access]);
  }
  const lists = [...groups.values()];
  const fold = foldWidth(lists.map(([first]) => first.shape));
  return lists.map((list) => [new TensorGrid(list[0].tensor, list[0].shape, fold), list]);
}

/** The state of each tensor's elements after these accesses. */
export function accessMaps(accesses: readonly Access[]): readonly TensorAccessMap[] {
  return byTensor(accesses).map(([tensorGrid, list]) => {
    const states = new Map<number, { cell: Cell; state: number }>();
    let outsideCount = 0;
    for (const { kind, indices, active, refused } of list)
      for (let lane = 0; lane < active.length; lane++) {
        const inactiveState = refused[lane] ? REFUSED : MASKED;
        const state = active[lane] ? STATE_BY_KIND[kind] : inactiveState;
        const cell = tensorGrid.cell(indices, lane);
        if (!cell || (!active[lane] && isFar(tensorGrid, cell))) {
          outsideCount++;
          continue;
        }
        const key = keyOf(cell);
        const entry = states.get(key);
        if (entry) entry.state |= state;
        else states.set(key, { cell, state });
      }
    const lines = [...new Set(list.flatMap(({ at }) => at?.line ?? []))].sort((a, b) => a - b);
    return { tensorGrid, states, counts: countStates(states), outsideCount, lines, kernel: list[0].kernel };
  });
}

/** The drawn surroundings of a tensor, as a multiple of its size, and their minimum. */
const MARGIN = 1;
const MIN_MARGIN = 16;

function isFar({ rows, columns }: TensorGrid, [row, column]: Cell): boolean {
  const isOutside = (index: number, size: number): boolean => {
    const margin = Math.max(MIN_MARGIN, MARGIN * size);
    return !(index >= -margin && index < size + margin);
  };
  return isOutside(row, rows) || isOutside(column, columns);
}

function countStates(states: TensorAccessMap["states"]): Counts {
  const counts = { loaded: 0, stored: 0, both: 0, masked: 0, refused: 0 };
  for (const { state } of states.values()) {
    if (state & LOADED) counts.loaded++;
    if (state & STORED) counts.stored++;
    if ((state & LOADED) !== 0 && (state & STORED) !== 0) counts.both++;
    if (state === MASKED) counts.masked++;
    if (state & REFUSED) counts.refused++;
  }
  return counts;
}

// A tensor as a grid of cells.

/** A row and a column. Both may be negative outside the tensor. */
export type Cell = readonly [row: number, column: number];

/** Cells as numeric map keys, which cost a tenth of strings. */
export const keyOf = ([row, column]: Cell): number => (row + MAX_INDEX) * 2 * MAX_INDEX + column + MAX_INDEX;
const MAX_INDEX = 2 ** 25;

/** The block of `factor` by `factor` elements that contains a cell. */
export const blockOf = ([row, column]: Cell, factor: number): Cell => [
  Math.floor(row / factor) * factor,
  Math.floor(column / factor) * factor,
];

/**
 * The layout of a tensor in a picture. The last axis is horizontal; all other axes are vertical, with the last of them
 * fastest. A tensor with one axis is folded into rows of `fold` elements.
 */
export class TensorGrid {
  readonly rows: number;
  readonly columns: number;
  /** True if the single axis is folded into rows. */
  readonly isFolded: boolean;
  /** Number of cells without an element at the end of the last row. */
  readonly unusedCount: number;
  /** The sizes of the vertical axes. */
  readonly #leading: readonly number[];

  constructor(
    readonly name: string,
    readonly shape: readonly number[],
    fold: number,
  ) {
    const last = shape.at(-1) ?? 1;
    this.isFolded = shape.length === 1 && last > fold;
    this.columns = this.isFolded ? fold : last;
    this.#leading = shape.slice(0, -1);
    this.rows = this.isFolded ? Math.ceil(last / fold) : this.#leading.reduce((product, dim) => product * dim, 1);
    this.unusedCount = this.isFolded ? this.rows * fold - last : 0;
  }

  /** The cell of a lane. Undefined if an out-of-bounds index would fall on another element's cell. */
  cell(indices: readonly Float64Array[], lane: number): Cell | undefined {
    const last = indices.at(-1)?.[lane] ?? 0;
    if (this.isFolded) return [Math.floor(last / this.columns), modulo(last, this.columns)];
    let row = 0;
    for (const [axis, size] of this.#leading.entries()) {
      const index = indices[axis]![lane]!;
      if (axis > 0 && (index < 0 || index >= size)) return undefined;
      row = row * size + index;
    }
    return [row, last];
  }

  /** The number of the tensor's elements in a block of cells. */
  elementsIn([row, column]: Cell, factor: number): number {
    const overlap = (start: number, end: number): number =>
      Math.max(0, Math.min(start + factor, end) - Math.max(start, 0));
    const full = overlap(row, this.rows) * overlap(column, this.columns);
    const isLast = row + factor >= this.rows;
    return isLast ? full - overlap(column, this.columns) + overlap(column, this.columns - this.unusedCount) : full;
  }

  /** The indices of an element as text. */
  formatElement([row, column]: Cell): string {
    if (this.shape.length === 0) return this.name;
    if (this.isFolded) return `${this.name}[${row * this.columns + column}]`;
    const indices = [column];
    let remainder = row;
    for (const size of this.#leading.slice(1).reverse()) {
      indices.unshift(modulo(remainder, size));
      remainder = Math.floor(remainder / size);
    }
    // Rows outside the tensor continue the first axis.
    if (this.#leading.length > 0) indices.unshift(remainder);
    return `${this.name}[${indices.join(", ")}]`;
  }
}

const modulo = (a: number, b: number): number => ((a % b) + b) % b;

/**
 * The width at which tensors with one axis are folded: that of the widest other tensor, or a width that makes them
 * square.
 */
function foldWidth(shapes: readonly (readonly number[])[]): number {
  const widths = shapes.flatMap((shape) => (shape.length > 1 ? shape.slice(-1) : []));
  const maxLength = Math.max(1, ...shapes.flatMap((shape) => (shape.length === 1 ? shape : [])));
  return Math.min(128, Math.max(32, 2 ** Math.ceil(Math.log2(maxLength) / 2), ...widths));
}
