/** Lays out the panels of a picture: tensors as grids with the same scale, downsampled if they are large. */
import type { Cell, TensorGrid } from "./access-map.js";

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
): Drawing {
  const panelsWithAreas = panels.map((panel) => ({ panel, area: areaOf(panel) }));
  const maxDim = Math.max(1, ...panelsWithAreas.flatMap(({ area: { height, width } }) => [height, width]));
  let factor = 1;
  while (maxDim / factor > MAX_CELLS) factor *= 2;
  const size = Math.max(2, Math.min(14, Math.floor(PANEL_SIZE / (maxDim / factor))));
  const drawings = panelsWithAreas.map(({ panel, area }) => drawPanel(panel, area, factor, size));
  let [x, y, bottom, right] = [MARGIN.left, MARGIN.top, MARGIN.top, 0];
  const positioned = drawings.map(({ shapes, width, height }): Shape => {
    if (x > MARGIN.left && x + width > MAX_WIDTH) [x, y] = [MARGIN.left, bottom + MARGIN.top - 12];
    const group = { kind: "group", x, y, shapes } as const;
    right = Math.max(right, x + width);
    bottom = Math.max(bottom, y + height);
    x += width + GAP;
    return group;
  });
  const lines = [...notes, ...(factor > 1 ? [`Each cell is ${factor} × ${factor} elements.`] : [])];
  const drawnLegend = drawLegend(legend, bottom + 24);
  const drawnNotes = lines.map((line, i) => drawText(MARGIN.left, bottom + 52 + 16 * i, line));
  return {
    title,
    width: Math.ceil(Math.max(right, drawnLegend.width, ...[title, ...lines].map(widthOf)) + MARGIN.left),
    height: bottom + MARGIN.bottom + 8 + 16 * lines.length,
    shapes: [drawText(MARGIN.left, 20, title, "title"), ...positioned, ...drawnLegend.shapes, ...drawnNotes],
  };
}

const MAX_WIDTH = 1100;

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
    ({ cell: [row, column], height, width, className, share, tooltip }): Shape => ({
      kind: "rect",
      x: x(column),
      y: y(row),
      width: round(width * scale),
      height: round(height * scale),
      className,
      ...(share < 1 && { opacity: round(0.35 + 0.65 * share) }),
      tooltip,
    }),
  );
  const { rows, columns } = tensorGrid;
  const [right, bottom] = [x(columns), y(rows)];
  const verticalLines =
    size < 4 ? [] : range(1, Math.ceil(columns / factor)).map((i) => `M${x(i * factor)} ${y(0)}V${bottom}`);
  const horizontalLines =
    size < 4 ? [] : range(1, Math.ceil(rows / factor)).map((i) => `M${x(0)} ${y(i * factor)}H${right}`);
  const shapes: readonly Shape[] = [
    ...captions.map((line, i) => drawText(0, -6 - 15 * (captions.length - 1 - i), line)),
    ...rects,
    { kind: "path", className: "grid", commands: [...verticalLines, ...horizontalLines].join("") },
    { kind: "path", className: "edge", commands: outline(tensorGrid, x, y) },
  ];
  const width = Math.max(x(area.left + area.width), ...captions.map(widthOf));
  return { shapes, width, height: y(area.top + area.height) };
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

function drawLegend(legend: readonly LegendEntry[], y: number) {
  let x = MARGIN.left;
  const shapes = legend.flatMap(({ className, label }): Shape[] => {
    const square = { kind: "rect", x: round(x), y: y - 9, width: 10, height: 10, className } as const;
    const text = drawText(round(x + 15), y, label);
    x += 15 + widthOf(label) + 18;
    return [square, text];
  });
  return { shapes, width: x };
}

const widthOf = (content: string): number => Math.ceil(content.length * CHARACTER_WIDTH) + MARGIN.left;
const round = (value: number): number => Math.round(value * 100) / 100;
const range = (start: number, end: number): number[] =>
  Array.from({ length: Math.max(0, end - start) }, (_, i) => start + i);

function drawText(x: number, y: number, text: string, className?: string): Shape {
  return { kind: "text", x, y, text, ...(className !== undefined && { className }) };
}

/** A picture as data. A page draws it with its own elements, so that no text of a kernel becomes HTML. */

export type Shape =
  | {
      readonly kind: "rect";
      readonly x: number;
      readonly y: number;
      readonly width: number;
      readonly height: number;
      readonly className: string;
      readonly opacity?: number;
      readonly tooltip?: string;
    }
  | { readonly kind: "path"; readonly className: string; readonly commands: string }
  | {
      readonly kind: "text";
      readonly x: number;
      readonly y: number;
      readonly text: string;
      readonly className?: string;
    }
  | { readonly kind: "group"; readonly x: number; readonly y: number; readonly shapes: readonly Shape[] };

export interface Drawing {
  readonly title: string;
  readonly width: number;
  readonly height: number;
  readonly shapes: readonly Shape[];
}

/**
 * The palette of Okabe and Ito, which is distinguishable with color blindness. Text follows the reader's color scheme.
 */
export const DRAWING_STYLE = [
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

/** The drawing as SVG text. */
export function svgOf({ title, width, height, shapes }: Drawing): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" class="tilescript-picture" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escape(title)}">`,
    `<style>${DRAWING_STYLE}</style>`,
    ...shapes.map(elementText),
    "</svg>\n",
  ].join("\n");
}

function elementText(shape: Shape): string {
  switch (shape.kind) {
    case "rect": {
      const { x, y, width, height, className, opacity, tooltip } = shape;
      const tag = `<rect x="${x}" y="${y}" width="${width}" height="${height}" class="${className}"${opacity === undefined ? "" : ` opacity="${opacity}"`}`;
      return tooltip === undefined ? `${tag}/>` : `${tag}><title>${escape(tooltip)}</title></rect>`;
    }
    case "path":
      return `<path class="${shape.className}" d="${shape.commands}"/>`;
    case "text": {
      const { x, y, text, className } = shape;
      return `<text x="${x}" y="${y}"${className ? ` class="${className}"` : ""}>${escape(text)}</text>`;
    }
    case "group":
      return `<g transform="translate(${shape.x} ${shape.y})">${shape.shapes.map(elementText).join("")}</g>`;
    default:
      return shape satisfies never;
  }
}

function escape(content: string): string {
  return content.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
