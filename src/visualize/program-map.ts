/** A map of the program that writes each element. It shows gaps and races. */
import type { Access } from "../compiled/access.js";
import { drawPanels, type CellStyle, type LegendEntry, type Panel, type Drawing, svgOf } from "./panels.js";
import { byTensor, blockOf, type Cell, keyOf, type TensorGrid } from "./access-map.js";

/** The number of colors, which programs use cyclically. */
const COLOR_COUNT = 8;

/** The writers of an element. */
interface ElementWriters {
  readonly cell: Cell;
  /** The index of the first program that stores to it, in grid order; -1 if only atomics write it. */
  first: number;
  /** True if another program stores to it too. */
  isRaced: boolean;
  isAtomic: boolean;
}

/** Write counts of a tensor: elements that programs write, and elements with stores of several programs. */
export interface WrittenTensor {
  readonly tensor: string;
  readonly shape: readonly number[];
  readonly elements: number;
  readonly written: number;
  readonly atomic: number;
  readonly raced: number;
  readonly programs: number;
}

interface TensorWriters {
  readonly tensorGrid: TensorGrid;
  readonly grid: readonly number[];
  readonly elements: ReadonlyMap<number, ElementWriters>;
  readonly counts: WrittenTensor;
}

/** The SVG of a program map. Requires the accesses of all programs. */
export const programMap = (accesses: readonly Access[]): string => svgOf(programDrawing(accesses));

export function programDrawing(accesses: readonly Access[]): Drawing {
  const writers = collectWriters(accesses);
  const kernels = [...new Set(accesses.map(({ kernel }) => kernel))].join(", ");
  const legend: LegendEntry[] = [
    { className: "program0", label: "stored by one program; programs take turns with eight colors" },
    { className: "shared", label: "changed by atomics" },
    { className: "refused", label: "stored by several programs" },
  ];
  return drawPanels(`${kernels}: the elements that each program writes`, writers.map(createPanel), legend, []);
}

/** The write counts of all tensors. */
export function writtenTensors(accesses: readonly Access[]): readonly WrittenTensor[] {
  return collectWriters(accesses).map(({ counts }) => counts);
}

function collectWriters(accesses: readonly Access[]): readonly TensorWriters[] {
  const writes = accesses.filter(({ kind }) => kind === "store" || kind === "atomic");
  return byTensor(writes).map(([tensorGrid, list]) => {
    const elements = new Map<number, ElementWriters>();
    const programs = new Set<number>();
    for (const access of list) {
      const programIndex = programIndexOf(access);
      for (let lane = 0; lane < access.active.length; lane++) {
        const cell = access.active[lane] ? tensorGrid.cell(access.indices, lane) : undefined;
        if (!cell) continue;
        programs.add(programIndex);
        recordWrite(elements, cell, programIndex, access.kind === "atomic");
      }
    }
    const writers = [...elements.values()];
    const counts: WrittenTensor = {
      tensor: tensorGrid.name,
      shape: tensorGrid.shape,
      elements: tensorGrid.shape.reduce((product, dim) => product * dim, 1),
      written: writers.length,
      atomic: writers.filter(({ isAtomic }) => isAtomic).length,
      raced: writers.filter(({ isRaced }) => isRaced).length,
      programs: programs.size,
    };
    return { tensorGrid, grid: list[0].grid, elements, counts };
  });
}

function recordWrite(elements: Map<number, ElementWriters>, cell: Cell, programIndex: number, isAtomic: boolean): void {
  const key = keyOf(cell);
  let writers = elements.get(key);
  if (!writers) elements.set(key, (writers = { cell, first: -1, isRaced: false, isAtomic: false }));
  if (isAtomic) writers.isAtomic = true;
  else if (writers.first < 0) writers.first = programIndex;
  else if (writers.first !== programIndex) writers.isRaced = true;
}

/** A program's index in grid order, its first axis fastest. */
function programIndexOf({ program, grid }: Access): number {
  return grid.reduceRight((sum, size, axis) => sum * size + (program[axis] ?? 0), 0);
}

function formatProgram(programIndex: number, grid: readonly number[]): string {
  let remainder = programIndex;
  const ids = grid.map((size) => {
    const id = remainder % size;
    remainder = Math.floor(remainder / size);
    return id;
  });
  return `(${ids.join(", ")})`;
}

function createPanel(writers: TensorWriters): Panel {
  const { tensorGrid, elements, counts } = writers;
  const missing = counts.elements - counts.written;
  const notes = [
    `${counts.written} of ${counts.elements} elements by ${counts.programs} programs`,
    ...(missing > 0 ? [`${missing} by none`] : []),
    ...(counts.raced > 0 ? [`${counts.raced} by several`] : []),
  ];
  return {
    tensorGrid,
    requiredCells: Array.from(elements.values(), ({ cell }) => cell),
    captions: [`${tensorGrid.name} [${tensorGrid.shape.join(", ")}]`, notes.join(", ")],
    cells: (factor) => mergeCells(writers, factor),
  };
}

function mergeCells(
  { tensorGrid, elements, grid }: TensorWriters,
  factor: number,
): readonly (readonly [Cell, CellStyle])[] {
  const blocks = new Map<number, { readonly cell: Cell; readonly list: ElementWriters[] }>();
  for (const element of elements.values()) {
    const cell = blockOf(element.cell, factor);
    const key = keyOf(cell);
    const block = blocks.get(key) ?? { cell, list: [] };
    blocks.set(key, block);
    block.list.push(element);
  }
  return Array.from(blocks.values(), ({ cell, list }) => {
    const programs = [...new Set(list.map(({ first }) => first))].filter((first) => first >= 0).sort((a, b) => a - b);
    const share = Math.min(1, Math.round((20 * list.length) / (tensorGrid.elementsIn(cell, factor) || 1)) / 20 || 0.05);
    return [cell, { className: classNameOf(list, programs), share, tooltip: describeBlock(list, programs, grid) }];
  });
}

function classNameOf(list: readonly ElementWriters[], programs: readonly number[]): string {
  if (list.some(({ isRaced }) => isRaced)) return "refused";
  const [first] = programs;
  return first === undefined ? "shared" : `program${first % COLOR_COUNT}`;
}

function describePrograms([first, ...others]: readonly number[], grid: readonly number[]): string {
  if (first === undefined) return "atomics of any program";
  const last = others.at(-1);
  return last === undefined
    ? `program ${formatProgram(first, grid)}`
    : `programs ${formatProgram(first, grid)} to ${formatProgram(last, grid)}`;
}

function describeBlock(list: readonly ElementWriters[], programs: readonly number[], grid: readonly number[]): string {
  const raced = list.filter(({ isRaced }) => isRaced).length;
  const subject = describePrograms(programs, grid);
  return raced > 0 ? `${subject} and others: ${raced} elements are stored by several programs` : subject;
}
