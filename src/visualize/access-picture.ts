/** What programs read and write, as SVG: each tensor as a grid, its elements loaded, stored, masked off or refused. */
import type { Access } from "../compiled/access.js";
import { drawPanels, type Drawn, type Panel } from "./panels.js";
import { blockOf, type Cell, keyOf } from "./placed-tensor.js";
import { type Counts, LOADED, MASKED, REFUSED, STORED, type TensorAccessMap, accessMaps } from "./access-map.js";

const LEGEND = [
  { look: "loaded", words: "loaded" },
  { look: "stored", words: "stored" },
  { look: "both", words: "loaded and stored" },
  { look: "masked", words: "masked off" },
  { look: "refused", words: "refused: out of bounds or no value" },
] as const;

/** SVG text of the accesses: those of one program, or of several together. */
export function accessPicture(accesses: readonly Access[]): string {
  const touched = accessMaps(accesses);
  const counts = touched.map((each) => each.counts);
  const notes = accesses.length === 0 ? ["Nothing is read or written."] : [];
  return drawPanels(
    titleOf(accesses),
    touched.map(panelOf),
    LEGEND,
    [...notes, ...elsewhereOf(touched)].concat(
      counts.some(({ refused }) => refused > 0)
        ? ["Refused lanes have findings; they are neither read nor written."]
        : [],
    ),
  );
}

function elsewhereOf(touched: readonly TensorAccessMap[]): readonly string[] {
  return touched.flatMap(({ elsewhere, placed }) =>
    elsewhere > 0 ? [`${placed.name}: ${grouped(elsewhere)} further lanes, not active, lie beyond the picture.`] : [],
  );
}

function titleOf(accesses: readonly Access[]): string {
  const kernels = [...new Set(accesses.map(({ kernel }) => kernel))].join(", ");
  const programs = new Set(accesses.map(({ program }) => `(${program.join(", ")})`));
  const [only = "", ...others] = programs;
  const who = others.length > 0 ? `${programs.size} programs` : `program ${only}`;
  return kernels ? `${kernels}: ${who}` : "no accesses";
}

function panelOf(touched: TensorAccessMap): Panel {
  const { placed, states, counts, lines } = touched;
  const where = lines.length > 0 ? ` · line ${lines.join(", ")}` : "";
  const folded = placed.isFolded ? ` in rows of ${placed.columns}` : "";
  return {
    placed,
    places: places(states),
    captions: [`${placed.name} [${placed.shape.join(", ")}]${folded}${where}`, summary(counts)],
    cells: (factor) => cellsOf(touched, factor),
  };
}

function* places(states: TensorAccessMap["states"]): Iterable<Cell> {
  for (const { cell } of states.values()) yield cell;
}

function summary({ loaded, stored, masked, refused }: Counts): string {
  const parts: readonly (readonly [number, string])[] = [
    [loaded, "loaded"],
    [stored, "stored"],
    [masked, "masked off"],
    [refused, "refused"],
  ];
  return parts.flatMap(([count, words]) => (count > 0 ? [`${grouped(count)} ${words}`] : [])).join(", ");
}

const grouped = (count: number): string => count.toLocaleString("en-US");

/** The states of `factor` by `factor` elements together. */
function cellsOf({ placed, states }: TensorAccessMap, factor: number): readonly (readonly [Cell, Drawn])[] {
  const blocks = new Map<number, { readonly cell: Cell; readonly counts: Map<number, number> }>();
  for (const { cell: place, state } of states.values()) {
    const cell = blockOf(place, factor);
    const key = keyOf(cell);
    const block = blocks.get(key) ?? { cell, counts: new Map<number, number>() };
    blocks.set(key, block);
    block.counts.set(state, (block.counts.get(state) ?? 0) + 1);
  }
  return [...blocks.values()].map(({ cell, counts }) => {
    const all = [...counts.keys()].reduce((sum, state) => sum | state, 0);
    const look = lookOf(all);
    const touched = [...counts].reduce((sum, [state, count]) => sum + (lookOf(state) === "masked" ? 0 : count), 0);
    const of = placed.elementsIn(cell, factor) || factor * factor;
    const share = look === "masked" ? 1 : Math.min(1, Math.round((20 * touched) / of) / 20 || 0.05);
    return [cell, { look, share, words: factor === 1 ? words(all) : counts.size > 0 ? mixed(counts, of) : "" }];
  });
}

function lookOf(state: number): string {
  if (state & REFUSED) return "refused";
  if (state & LOADED && state & STORED) return "both";
  if (state & STORED) return "stored";
  return state & LOADED ? "loaded" : "masked";
}

function words(state: number): string {
  const parts = [
    ...(state & LOADED ? ["loaded"] : []),
    ...(state & STORED ? ["stored"] : []),
    ...(state === MASKED ? ["masked off"] : []),
    ...(state & REFUSED ? ["refused"] : []),
  ];
  return parts.join(", ");
}

/** The content of a cell of several elements. */
function mixed(counts: ReadonlyMap<number, number>, of: number): string {
  const parts = [...counts].map(([state, count]) => `${count} ${words(state)}`);
  return `of ${of} elements: ${parts.join("; ")}`;
}
