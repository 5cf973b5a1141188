/** The accesses of each element of a tensor: the content of a picture, independent of its rendering. */
import type { Access } from "../compiled/access.js";
import { type Cell, foldWidth, keyOf, TensorGrid } from "./placed-tensor.js";

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
