/** What happens to each element of a tensor: the content of a picture, without its looks. */
import type { Access } from "../compiled/access.js";
import { type Cell, foldOf, keyOf, TensorGrid } from "./placed-tensor.js";

export const LOADED = 1;
export const STORED = 2;
/** The place of a lane that a mask turns off. */
export const MASKED = 4;
/** The place of a lane with a finding. */
export const REFUSED = 8;

/** How many elements (for masked and refused lanes: places, which may lie outside the tensor) each is true of. */
export interface Counts {
  readonly loaded: number;
  readonly stored: number;
  /** Loaded and stored; they count as both above. */
  readonly both: number;
  /** Only masked lanes fall on them. */
  readonly masked: number;
  readonly refused: number;
}

/** A tensor, what is done to each place, and by which lines. */
export interface TensorAccessMap {
  readonly placed: TensorGrid;
  readonly states: ReadonlyMap<number, { readonly cell: Cell; readonly state: number }>;
  readonly counts: Counts;
  /** Lanes that are not active and fall nowhere in the picture. */
  readonly elsewhere: number;
  /** The lines of the author that access it. */
  readonly lines: readonly number[];
  readonly kernel: string;
}

const DONE = { load: LOADED, store: STORED, atomic: LOADED | STORED, poll: LOADED } as const;

/** The accesses by launch and tensor, in the order of the first of each. */
export function byTensor(accesses: readonly Access[]): readonly (readonly [TensorGrid, readonly Access[]])[] {
  const groups = new Map<string, Access[]>();
  for (const access of accesses) {
    const key = `${access.launch} ${access.tensor}`;
    const group = groups.get(key);
    if (group) group.push(access);
    else groups.set(key, [access]);
  }
  const lists = [...groups.values()];
  const fold = foldOf(lists.map(([first]) => first!.shape));
  return lists.map((list) => [new TensorGrid(list[0]!.tensor, list[0]!.shape, fold), list]);
}

/** What these accesses do to each tensor. */
export function accessMaps(accesses: readonly Access[]): readonly TensorAccessMap[] {
  return byTensor(accesses).map(([placed, list]) => {
    const states = new Map<number, { cell: Cell; state: number }>();
    let elsewhere = 0;
    for (const { kind, indices, active, refused } of list)
      for (let lane = 0; lane < active.length; lane++) {
        const state = active[lane] ? DONE[kind] : refused[lane] ? REFUSED : MASKED;
        const cell = placed.cell(indices, lane);
        if (!cell || (!active[lane] && isFar(placed, cell))) {
          elsewhere++;
          continue;
        }
        const key = keyOf(cell);
        const known = states.get(key);
        if (known) known.state |= state;
        else states.set(key, { cell, state });
      }
    const lines = [...new Set(list.flatMap(({ at }) => at?.line ?? []))].sort((a, b) => a - b);
    return { placed, states, counts: counted(states), elsewhere, lines, kernel: list[0]!.kernel };
  });
}

/** How far beyond a tensor its surroundings are drawn, in its own sizes, and at least. */
const MARGIN = 1;
const LEAST_MARGIN = 16;

function isFar({ rows, columns }: TensorGrid, [row, column]: Cell): boolean {
  const beyond = (index: number, size: number): boolean => {
    const margin = Math.max(LEAST_MARGIN, MARGIN * size);
    return !(index >= -margin && index < size + margin);
  };
  return beyond(row, rows) || beyond(column, columns);
}

function counted(states: TensorAccessMap["states"]): Counts {
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
