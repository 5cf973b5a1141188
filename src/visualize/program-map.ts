/** Which program writes which element, as SVG: gaps and races are visible. */
import type { Access } from "../compiled/access.js";
import { drawPanels, type Drawn, type Legend, type Panel } from "./panels.js";
import { blockOf, type Cell, keyOf, type TensorGrid } from "./placed-tensor.js";
import { byTensor } from "./access-map.js";

/** How many colors programs take turns with. */
const COLOURS = 8;

/** Who writes an element. */
interface Written {
  readonly cell: Cell;
  /** The number of the first program that stores to it, counted in the grid's order; -1 where only atomics write. */
  first: number;
  /** Another program stores to it too. */
  isRaced: boolean;
  isAtomic: boolean;
}

/** Of each tensor that is written: how many elements programs write, and how many of them more than one stores to. */
export interface WrittenTensor {
  readonly tensor: string;
  readonly shape: readonly number[];
  readonly elements: number;
  readonly written: number;
  readonly atomic: number;
  readonly raced: number;
  readonly programs: number;
}

interface Mapped {
  readonly placed: TensorGrid;
  readonly grid: readonly number[];
  readonly elements: ReadonlyMap<number, Written>;
  readonly counts: WrittenTensor;
}

/** SVG text of who writes what. It needs the accesses of all programs. */
export function programMap(accesses: readonly Access[]): string {
  const mapped = mapOf(accesses);
  const kernels = [...new Set(accesses.map(({ kernel }) => kernel))].join(", ");
  const legend: Legend[] = [
    { look: "program0", words: "stored by one program; programs take turns with eight colors" },
    { look: "shared", words: "changed by atomics" },
    { look: "refused", words: "stored by several programs" },
  ];
  return drawPanels(`${kernels}: which program writes what`, mapped.map(panelOf), legend, []);
}

/** The same, as numbers. */
export function writtenTensors(accesses: readonly Access[]): readonly WrittenTensor[] {
  return mapOf(accesses).map(({ counts }) => counts);
}

function mapOf(accesses: readonly Access[]): readonly Mapped[] {
  const writing = accesses.filter(({ kind }) => kind === "store" || kind === "atomic");
  return byTensor(writing).map(([placed, list]) => {
    const elements = new Map<number, Written>();
    const programs = new Set<number>();
    for (const access of list) {
      const number = numberOf(access);
      for (let lane = 0; lane < access.active.length; lane++) {
        const cell = access.active[lane] ? placed.cell(access.indices, lane) : undefined;
        if (!cell) continue;
        programs.add(number);
        note(elements, cell, number, access.kind === "atomic");
      }
    }
    const all = [...elements.values()];
    const counts: WrittenTensor = {
      tensor: placed.name,
      shape: placed.shape,
      elements: placed.shape.reduce((product, dim) => product * dim, 1),
      written: all.length,
      atomic: all.filter(({ isAtomic }) => isAtomic).length,
      raced: all.filter(({ isRaced }) => isRaced).length,
      programs: programs.size,
    };
    return { placed, grid: list[0]!.grid, elements, counts };
  });
}

function note(elements: Map<number, Written>, cell: Cell, number: number, isAtomic: boolean): void {
  const key = keyOf(cell);
  let known = elements.get(key);
  if (!known) elements.set(key, (known = { cell, first: -1, isRaced: false, isAtomic: false }));
  if (isAtomic) known.isAtomic = true;
  else if (known.first < 0) known.first = number;
  else if (known.first !== number) known.isRaced = true;
}

/** A program's place in the grid's order, its first axis fastest. */
function numberOf({ program, grid }: Access): number {
  return program.reduceRight((sum, id, axis) => sum * grid[axis]! + id, 0);
}

function programOf(number: number, grid: readonly number[]): string {
  let rest = number;
  const ids = grid.map((size) => {
    const id = rest % size;
    rest = Math.floor(rest / size);
    return id;
  });
  return `(${ids.join(", ")})`;
}

function panelOf(mapped: Mapped): Panel {
  const { placed, elements, counts } = mapped;
  const missing = counts.elements - counts.written;
  const notes = [
    `${counts.written} of ${counts.elements} elements by ${counts.programs} programs`,
    ...(missing > 0 ? [`${missing} by none`] : []),
    ...(counts.raced > 0 ? [`${counts.raced} by several`] : []),
  ];
  return {
    placed,
    places: Array.from(elements.values(), ({ cell }) => cell),
    captions: [`${placed.name} [${placed.shape.join(", ")}]`, notes.join(", ")],
    cells: (factor) => cellsOf(mapped, factor),
  };
}

function cellsOf({ placed, elements, grid }: Mapped, factor: number): readonly (readonly [Cell, Drawn])[] {
  const blocks = new Map<number, { readonly cell: Cell; readonly list: Written[] }>();
  for (const written of elements.values()) {
    const cell = blockOf(written.cell, factor);
    const key = keyOf(cell);
    const block = blocks.get(key) ?? { cell, list: [] };
    blocks.set(key, block);
    block.list.push(written);
  }
  return Array.from(blocks.values(), ({ cell, list }) => {
    const programs = [...new Set(list.map(({ first }) => first))].filter((first) => first >= 0).sort((a, b) => a - b);
    const share = Math.min(1, Math.round((20 * list.length) / (placed.elementsIn(cell, factor) || 1)) / 20 || 0.05);
    return [cell, { look: lookOf(list, programs), share, words: wordsOf(list, programs, grid) }];
  });
}

function lookOf(list: readonly Written[], programs: readonly number[]): string {
  if (list.some(({ isRaced }) => isRaced)) return "refused";
  const [first] = programs;
  return first === undefined ? "shared" : `program${first % COLOURS}`;
}

function wordsOf(list: readonly Written[], programs: readonly number[], grid: readonly number[]): string {
  const raced = list.filter(({ isRaced }) => isRaced).length;
  const [first, ...others] = programs;
  const who =
    first === undefined
      ? "atomics of any program"
      : others.length > 0
        ? `programs ${programOf(first, grid)} to ${programOf(others.at(-1)!, grid)}`
        : `program ${programOf(first, grid)}`;
  return raced > 0 ? `${who} and others: ${raced} elements are stored by several programs` : who;
}
