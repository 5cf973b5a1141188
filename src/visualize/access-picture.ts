/** Draws memory accesses: each tensor is a grid of loaded, stored, masked or refused elements. */
import type { Access } from "../compiled/access.js";
import { drawPanels, type CellStyle, type Panel, type Drawing, svgOf } from "./panels.js";
import {
  type Counts,
  LOADED,
  MASKED,
  REFUSED,
  STORED,
  type TensorAccessMap,
  accessMaps,
  blockOf,
  type Cell,
  keyOf,
} from "./access-map.js";

const LEGEND = [
  { className: "loaded", label: "loaded" },
  { className: "stored", label: "stored" },
  { className: "both", label: "loaded and stored" },
  { className: "masked", label: "masked off" },
  { className: "refused", label: "refused: out of bounds or no value" },
] as const;

/** The SVG of the accesses of one or several programs. */
export const accessPicture = (accesses: readonly Access[]): string => svgOf(accessDrawing(accesses));

export function accessDrawing(accesses: readonly Access[]): Drawing {
  const maps = accessMaps(accesses);
  const counts = maps.map((each) => each.counts);
  const notes = accesses.length === 0 ? ["Nothing is read or written."] : [];
  return drawPanels(
    formatTitle(accesses),
    maps.map(createAccessPanel),
    LEGEND,
    [...notes, ...outsideNotes(maps)].concat(
      counts.some(({ refused }) => refused > 0)
        ? ["Refused lanes have findings; they are neither read nor written."]
        : [],
    ),
  );
}

function outsideNotes(maps: readonly TensorAccessMap[]): readonly string[] {
  return maps.flatMap(({ outsideCount, tensorGrid }) =>
    outsideCount > 0
      ? [`${tensorGrid.name}: ${formatCount(outsideCount)} further lanes, not active, lie beyond the picture.`]
      : [],
  );
}

function formatTitle(accesses: readonly Access[]): string {
  const kernels = [...new Set(accesses.map(({ kernel }) => kernel))].join(", ");
  const programs = new Set(accesses.map(({ program }) => `(${program.join(", ")})`));
  const [first = "", ...others] = programs;
  const subject = others.length > 0 ? `${programs.size} programs` : `program ${first}`;
  return kernels ? `${kernels}: ${subject}` : "no accesses";
}

function createAccessPanel(map: TensorAccessMap): Panel {
  const { tensorGrid, states, counts, lines } = map;
  const lineSuffix = lines.length > 0 ? ` · line ${lines.join(", ")}` : "";
  const foldSuffix = tensorGrid.isFolded ? ` in rows of ${tensorGrid.columns}` : "";
  return {
    tensorGrid,
    requiredCells: cellsIn(states),
    captions: [`${tensorGrid.name} [${tensorGrid.shape.join(", ")}]${foldSuffix}${lineSuffix}`, summary(counts)],
    cells: (factor) => mergeCells(map, factor),
  };
}

function* cellsIn(states: TensorAccessMap["states"]): Iterable<Cell> {
  for (const { cell } of states.values()) yield cell;
}

function summary({ loaded, stored, masked, refused }: Counts): string {
  const parts: readonly (readonly [number, string])[] = [
    [loaded, "loaded"],
    [stored, "stored"],
    [masked, "masked off"],
    [refused, "refused"],
  ];
  return parts.flatMap(([count, label]) => (count > 0 ? [`${formatCount(count)} ${label}`] : [])).join(", ");
}

const formatCount = (count: number): string => count.toLocaleString("en-US");

/** Merges the states of blocks of `factor` by `factor` elements. */
function mergeCells({ tensorGrid, states }: TensorAccessMap, factor: number): readonly (readonly [Cell, CellStyle])[] {
  const blocks = new Map<number, { readonly cell: Cell; readonly counts: Map<number, number> }>();
  for (const { cell: elementCell, state } of states.values()) {
    const cell = blockOf(elementCell, factor);
    const key = keyOf(cell);
    const block = blocks.get(key) ?? { cell, counts: new Map<number, number>() };
    blocks.set(key, block);
    block.counts.set(state, (block.counts.get(state) ?? 0) + 1);
  }
  return [...blocks.values()].map(({ cell, counts }) => {
    const mergedState = [...counts.keys()].reduce((sum, state) => sum | state, 0);
    const look = classNameOf(mergedState);
    const accessedCount = [...counts].reduce(
      (sum, [state, count]) => sum + (classNameOf(state) === "masked" ? 0 : count),
      0,
    );
    const elementCount = tensorGrid.elementsIn(cell, factor) || factor * factor;
    const share = look === "masked" ? 1 : Math.min(1, Math.round((20 * accessedCount) / elementCount) / 20 || 0.05);
    const blockTooltip = counts.size > 0 ? describeBlock(counts, elementCount) : "";
    return [
      cell,
      {
        className: look,
        share,
        tooltip: factor === 1 ? describeState(mergedState) : blockTooltip,
      },
    ];
  });
}

function classNameOf(state: number): string {
  if (state & REFUSED) return "refused";
  if (state & LOADED && state & STORED) return "both";
  if (state & STORED) return "stored";
  return state & LOADED ? "loaded" : "masked";
}

function describeState(state: number): string {
  const parts = [
    ...(state & LOADED ? ["loaded"] : []),
    ...(state & STORED ? ["stored"] : []),
    ...(state === MASKED ? ["masked off"] : []),
    ...(state & REFUSED ? ["refused"] : []),
  ];
  return parts.join(", ");
}

/** The tooltip of a cell with several elements. */
function describeBlock(counts: ReadonlyMap<number, number>, elementCount: number): string {
  const parts = [...counts].map(([state, count]) => `${count} ${describeState(state)}`);
  return `of ${elementCount} elements: ${parts.join("; ")}`;
}
