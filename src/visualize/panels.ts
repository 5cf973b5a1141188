/** Lays out the panels of a picture: tensors as grids with the same scale, downsampled if they are large. */
import type { Cell, TensorGrid } from "./placed-tensor.js";

/** The maximum number of cells per row or column of a panel. A cell of a larger tensor covers several elements. */
const MAX_CELLS = 96;
const PANEL_SIZE = 288;
const GAP = 36;
const CHARACTER_WIDTH = 6.7;
const MARGIN = { left: 12, top: 62, bottom: 34 };

/** A cell of a drawing: its CSS class, opacity and tooltip. */
export interface CellStyle {
  readonly className: string;
  /** The fraction of its elements in this state, from 0 to 1. */
  readonly share: number;
  readonly tooltip: string;
}

export interface Panel {
  readonly tensorGrid: TensorGrid;
  /** The cells to draw; each covers `factor` by `factor` elements. */
  cells(factor: number): readonly (readonly [Cell, CellStyle])[];
  /** The cells that the picture must include. */
  readonly requiredCells: Iterable<Cell>;
  /** Lines above the panel. */
  readonly captions: readonly string[];
}

export interface LegendEntry {
  readonly className: string;
  readonly label: string;
}

/** Draws panels in rows with as many panels as fit. */
export function drawPanels(
  title: string,
  panels: readonly Panel[],
  legend: readonly LegendEntry[],
  notes: readonly string[],
): string {
  const panelsWithAreas = panels.map((panel) => ({ panel, area: areaOf(panel) }));
  const maxDim = Math.max(1, ...panelsWithAreas.flatMap(({ area: { height, width } }) => [height, width]));
  let factor = 1;
  while (maxDim / factor > MAX_CELLS) factor *= 2;
  const size = Math.max(2, Math.min(14, Math.floor(PANEL_SIZE / (maxDim / factor))));
  const drawings = panelsWithAreas.map(({ panel, area }) => drawPanel(panel, area, factor, size));
  let [x, y, bottom, right] = [MARGIN.left, MARGIN.top, MARGIN.top, 0];
  const positioned = drawings.map(({ svg, width, height }) => {
    if (x > MARGIN.left && x + width > MAX_WIDTH) [x, y] = [MARGIN.left, bottom + MARGIN.top - 12];
    const element = `<g transform="translate(${x} ${y})">${svg}</g>`;
    right = Math.max(right, x + width);
    bottom = Math.max(bottom, y + height);
    x += width + GAP;
    return element;
  });
  const lines = [...notes, ...(factor > 1 ? [`Each cell is ${factor} × ${factor} elements.`] : [])];
  const legendElement = drawLegend(legend, bottom + 24);
  const noteElements = lines.map((line, i) => drawText(MARGIN.left, bottom + 52 + 16 * i, line));
  const width = Math.ceil(Math.max(right, legendElement.width, ...[title, ...lines].map(widthOf)) + MARGIN.left);
  const height = bottom + MARGIN.bottom + 8 + 16 * lines.length;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" class="tilescript-picture" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escape(title)}">`,
    `<style>${STYLE}</style>`,
    drawText(MARGIN.left, 20, title, "title"),
    ...positioned,
    legendElement.svg,
    ...noteElements,
    "</svg>\n",
  ].join("\n");
}

const MAX_WIDTH = 1100;

/**
 * The palette of Okabe and Ito, which is distinguishable with color blindness. Text follows the reader's color scheme.
 */
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

/** The rows and columns that a panel shows. */
interface Area {
  readonly top: number;
  readonly left: number;
  readonly height: number;
  readonly width: number;
}

function areaOf({ tensorGrid, requiredCells }: Panel): Area {
  let [top, bottom, left, right] = [0, tensorGrid.rows, 0, tensorGrid.columns];
  for (const [row, column] of requiredCells) {
    if (row < top) top = row;
    else if (row >= bottom) bottom = row + 1;
    if (column < left) left = column;
    else if (column >= right) right = column + 1;
  }
  return { top, left, height: bottom - top, width: right - left };
}

function drawPanel({ tensorGrid, cells, captions }: Panel, area: Area, factor: number, size: number) {
  const scale = size / factor;
  // Cells start at multiples of the factor.
  const top = Math.floor(area.top / factor) * factor;
  const left = Math.floor(area.left / factor) * factor;
  const [x, y] = [(column: number) => round((column - left) * scale), (row: number) => round((row - top) * scale)];
  const rects = mergeRects(cells(factor), factor).map(
    ({ cell: [row, column], height, width, className, share, tooltip }) => {
      const opacity = share < 1 ? ` opacity="${round(0.35 + 0.65 * share)}"` : "";
      return `<rect x="${x(column)}" y="${y(row)}" width="${round(width * scale)}" height="${round(height * scale)}" class="${className}"${opacity}><title>${escape(tooltip)}</title></rect>`;
    },
  );
  const { rows, columns } = tensorGrid;
  const [right, bottom] = [x(columns), y(rows)];
  const verticalLines =
    size < 4 ? [] : range(1, Math.ceil(columns / factor)).map((i) => `M${x(i * factor)} ${y(0)}V${bottom}`);
  const horizontalLines =
    size < 4 ? [] : range(1, Math.ceil(rows / factor)).map((i) => `M${x(0)} ${y(i * factor)}H${right}`);
  const svg = [
    ...captions.map((line, i) => drawText(0, -6 - 15 * (captions.length - 1 - i), line)),
    ...rects,
    `<path class="grid" d="${[...verticalLines, ...horizontalLines].join("")}"/>`,
    `<path class="edge" d="${outline(tensorGrid, x, y)}"/>`,
  ].join("");
  const width = Math.max(x(area.left + area.width), ...captions.map(widthOf));
  return { svg, width, height: y(area.top + area.height) };
}

/** The outline of a tensor. The last row of a folded tensor may be short. */
function outline({ rows, columns, unusedCount }: TensorGrid, x: (c: number) => number, y: (r: number) => number) {
  const lastRowLength = columns - unusedCount;
  if (unusedCount === 0) return `M${x(0)} ${y(0)}H${x(columns)}V${y(rows)}H${x(0)}Z`;
  return `M${x(0)} ${y(0)}H${x(columns)}V${y(rows - 1)}H${x(lastRowLength)}V${y(rows)}H${x(0)}Z`;
}

interface Rect extends CellStyle {
  readonly cell: Cell;
  readonly height: number;
  readonly width: number;
}

/** Merges equal neighbors into rectangles, first along rows, then down. */
function mergeRects(cells: readonly (readonly [Cell, CellStyle])[], factor: number): readonly Rect[] {
  const rows = new Map<number, Rect[]>();
  for (const [cell, style] of cells.toSorted(([a], [b]) => a[0] - b[0] || a[1] - b[1])) {
    const row = rows.get(cell[0]) ?? [];
    rows.set(cell[0], row);
    const last = row.at(-1);
    if (last && hasSameStyle(last, style) && last.cell[1] + last.width === cell[1])
      row[row.length - 1] = { ...last, width: last.width + factor };
    else row.push({ cell, height: factor, width: factor, ...style });
  }
  const openRects = new Map<string, Rect>();
  const closedRects: Rect[] = [];
  for (const rect of [...rows.values()].flat()) {
    const key = `${rect.cell[1]} ${rect.width}`;
    const upper = openRects.get(key);
    if (upper && hasSameStyle(upper, rect) && upper.cell[0] + upper.height === rect.cell[0])
      openRects.set(key, { ...upper, height: upper.height + factor });
    else {
      if (upper) closedRects.push(upper);
      openRects.set(key, rect);
    }
  }
  return [...closedRects, ...openRects.values()];
}

const hasSameStyle = (a: CellStyle, b: CellStyle): boolean =>
  a.className === b.className && a.share === b.share && a.tooltip === b.tooltip;

function drawLegend(legend: readonly LegendEntry[], y: number): { readonly svg: string; readonly width: number } {
  let x = MARGIN.left;
  const elements = legend.map(({ className, label }) => {
    const element = `<rect x="${round(x)}" y="${y - 9}" width="10" height="10" class="${className}"/>${drawText(round(x + 15), y, label)}`;
    x += 15 + widthOf(label) + 18;
    return element;
  });
  return { svg: elements.join(""), width: x };
}

const widthOf = (content: string): number => Math.ceil(content.length * CHARACTER_WIDTH) + MARGIN.left;
const round = (value: number): number => Math.round(value * 100) / 100;
const range = (start: number, end: number): number[] =>
  Array.from({ length: Math.max(0, end - start) }, (_, i) => start + i);

function drawText(x: number, y: number, content: string, className?: string): string {
  return `<text x="${x}" y="${y}"${className ? ` class="${className}"` : ""}>${escape(content)}</text>`;
}

function escape(content: string): string {
  return content.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
