/** Panels of a picture: tensors as grids to one scale, thinned out where they are large. */
import type { Cell, TensorGrid } from "./placed-tensor.js";

/** The most cells of a panel in a row or a column; a larger tensor has several elements in a cell. */
const MOST_CELLS = 96;
const PANEL_SIZE = 288;
const GAP = 36;
const CHARACTER = 6.7;
const MARGIN = { left: 12, top: 62, bottom: 34 };

/** A cell of a drawing: its class, how much of it is filled, and its tooltip. */
export interface Drawn {
  readonly look: string;
  /** The part of its elements that the look is true of, from 0 to 1. */
  readonly share: number;
  readonly words: string;
}

export interface Panel {
  readonly placed: TensorGrid;
  /** The cells to draw, by place; with `factor` elements along each side. */
  cells(factor: number): readonly (readonly [Cell, Drawn])[];
  /** The places that the picture must hold. */
  readonly places: Iterable<Cell>;
  /** Lines above the panel. */
  readonly captions: readonly string[];
}

export interface Legend {
  readonly look: string;
  readonly words: string;
}

/** Draws panels side by side, as many in a row as fit. */
export function drawPanels(
  title: string,
  panels: readonly Panel[],
  legend: readonly Legend[],
  notes: readonly string[],
): string {
  const areas = panels.map(areaOf);
  const longest = Math.max(1, ...areas.flatMap(({ height, width }) => [height, width]));
  let factor = 1;
  while (longest / factor > MOST_CELLS) factor *= 2;
  const size = Math.max(2, Math.min(14, Math.floor(PANEL_SIZE / (longest / factor))));
  const drawn = panels.map((panel, i) => drawPanel(panel, areas[i]!, factor, size));
  let [x, y, bottom, right] = [MARGIN.left, MARGIN.top, MARGIN.top, 0];
  const placed = drawn.map(({ svg, width, height }) => {
    if (x > MARGIN.left && x + width > WIDE) [x, y] = [MARGIN.left, bottom + MARGIN.top - 12];
    const at = `<g transform="translate(${x} ${y})">${svg}</g>`;
    right = Math.max(right, x + width);
    bottom = Math.max(bottom, y + height);
    x += width + GAP;
    return at;
  });
  const lines = [...notes, ...(factor > 1 ? [`Each cell is ${factor} × ${factor} elements.`] : [])];
  const key = drawLegend(legend, bottom + 24);
  const noted = lines.map((line, i) => text(MARGIN.left, bottom + 52 + 16 * i, line));
  const width = Math.ceil(Math.max(right, key.width, ...[title, ...lines].map(widthOf)) + MARGIN.left);
  const height = bottom + MARGIN.bottom + 8 + 16 * lines.length;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" class="tilescript-picture" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escape(title)}">`,
    `<style>${STYLE}</style>`,
    text(MARGIN.left, 20, title, "title"),
    ...placed,
    key.svg,
    ...noted,
    "</svg>\n",
  ].join("\n");
}

const WIDE = 1100;

/** Colors of Okabe and Ito, which color-blind readers can tell apart. Text follows the reader's color scheme. */
const STYLE = [
  ".tilescript-picture{color:#1f2328;font:11px ui-monospace,Menlo,Consolas,monospace}",
  "@media (prefers-color-scheme:dark){.tilescript-picture{color:#d5dae0}}",
  ".tilescript-picture text{fill:currentColor}.tilescript-picture .title{font-weight:bold;font-size:13px}",
  ".tilescript-picture .grid{stroke:currentColor;stroke-opacity:.16;stroke-width:.5;fill:none}",
  ".tilescript-picture .edge{stroke:currentColor;stroke-width:1;fill:none}",
  ".tilescript-picture .loaded{fill:#2f7fc1}.tilescript-picture .stored{fill:#e69f00}",
  ".tilescript-picture .both{fill:#b05fa3}.tilescript-picture .masked{fill:#8b929b;fill-opacity:.45}",
  ".tilescript-picture .refused{fill:#d4351c;stroke:currentColor;stroke-width:.8}",
  ...["#2f7fc1", "#e69f00", "#009e73", "#b05fa3", "#56b4e9", "#a6761d", "#66a61e", "#7570b3"].map(
    (color, i) => `.tilescript-picture .program${i}{fill:${color}}`,
  ),
  ".tilescript-picture .shared{fill:#6b7280}",
].join("");

/** The part of the plane that a panel shows. */
interface Area {
  readonly top: number;
  readonly left: number;
  readonly height: number;
  readonly width: number;
}

function areaOf({ placed, places }: Panel): Area {
  let [top, bottom, left, right] = [0, placed.rows, 0, placed.columns];
  for (const [row, column] of places) {
    if (row < top) top = row;
    else if (row >= bottom) bottom = row + 1;
    if (column < left) left = column;
    else if (column >= right) right = column + 1;
  }
  return { top, left, height: bottom - top, width: right - left };
}

function drawPanel({ placed, cells, captions }: Panel, area: Area, factor: number, size: number) {
  const scale = size / factor;
  // Cells begin at multiples of the factor.
  const top = Math.floor(area.top / factor) * factor;
  const left = Math.floor(area.left / factor) * factor;
  const [x, y] = [(column: number) => round((column - left) * scale), (row: number) => round((row - top) * scale)];
  const rects = merged(cells(factor), factor).map(({ cell: [row, column], height, width, look, share, words }) => {
    const opacity = share < 1 ? ` opacity="${round(0.35 + 0.65 * share)}"` : "";
    return `<rect x="${x(column)}" y="${y(row)}" width="${round(width * scale)}" height="${round(height * scale)}" class="${look}"${opacity}><title>${escape(words)}</title></rect>`;
  });
  const { rows, columns } = placed;
  const [right, bottom] = [x(columns), y(rows)];
  const across =
    size < 4 ? [] : range(1, Math.ceil(columns / factor)).map((i) => `M${x(i * factor)} ${y(0)}V${bottom}`);
  const down = size < 4 ? [] : range(1, Math.ceil(rows / factor)).map((i) => `M${x(0)} ${y(i * factor)}H${right}`);
  const svg = [
    ...captions.map((line, i) => text(0, -6 - 15 * (captions.length - 1 - i), line)),
    ...rects,
    `<path class="grid" d="${[...across, ...down].join("")}"/>`,
    `<path class="edge" d="${outline(placed, x, y)}"/>`,
  ].join("");
  const width = Math.max(x(area.left + area.width), ...captions.map(widthOf));
  return { svg, width, height: y(area.top + area.height) };
}

/** The edge of a tensor; the last row of a folded one may be short. */
function outline({ rows, columns, isFolded, shape }: TensorGrid, x: (c: number) => number, y: (r: number) => number) {
  const rest = isFolded ? shape[0]! % columns : 0;
  if (rest === 0) return `M${x(0)} ${y(0)}H${x(columns)}V${y(rows)}H${x(0)}Z`;
  return `M${x(0)} ${y(0)}H${x(columns)}V${y(rows - 1)}H${x(rest)}V${y(rows)}H${x(0)}Z`;
}

interface Rect extends Drawn {
  readonly cell: Cell;
  readonly height: number;
  readonly width: number;
}

/** Neighbors that look the same become one rectangle: along rows, then down. */
function merged(cells: readonly (readonly [Cell, Drawn])[], factor: number): readonly Rect[] {
  const rows = new Map<number, Rect[]>();
  for (const [cell, drawn] of cells.toSorted(([a], [b]) => a[0] - b[0] || a[1] - b[1])) {
    const row = rows.get(cell[0]) ?? [];
    rows.set(cell[0], row);
    const last = row.at(-1);
    if (last && isAlike(last, drawn) && last.cell[1] + last.width === cell[1])
      row[row.length - 1] = { ...last, width: last.width + factor };
    else row.push({ cell, height: factor, width: factor, ...drawn });
  }
  const open = new Map<string, Rect>();
  const done: Rect[] = [];
  for (const rect of [...rows.values()].flat()) {
    const key = `${rect.cell[1]} ${rect.width}`;
    const above = open.get(key);
    if (above && isAlike(above, rect) && above.cell[0] + above.height === rect.cell[0])
      open.set(key, { ...above, height: above.height + factor });
    else {
      if (above) done.push(above);
      open.set(key, rect);
    }
  }
  return [...done, ...open.values()];
}

const isAlike = (a: Drawn, b: Drawn): boolean => a.look === b.look && a.share === b.share && a.words === b.words;

function drawLegend(legend: readonly Legend[], y: number): { readonly svg: string; readonly width: number } {
  let x = MARGIN.left;
  const parts = legend.map(({ look, words }) => {
    const part = `<rect x="${round(x)}" y="${y - 9}" width="10" height="10" class="${look}"/>${text(round(x + 15), y, words)}`;
    x += 15 + widthOf(words) + 18;
    return part;
  });
  return { svg: parts.join(""), width: x };
}

const widthOf = (words: string): number => Math.ceil(words.length * CHARACTER) + MARGIN.left;
const round = (value: number): number => Math.round(value * 100) / 100;
const range = (from: number, to: number): number[] =>
  Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i);

function text(x: number, y: number, words: string, look?: string): string {
  return `<text x="${x}" y="${y}"${look ? ` class="${look}"` : ""}>${escape(words)}</text>`;
}

function escape(words: string): string {
  return words.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
