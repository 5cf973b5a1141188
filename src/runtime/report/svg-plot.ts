/** Plots a benchmark: one panel per choice of dtypes and flags, with a line or bars per measured function. */
import { inTurn } from "../cases/selection.js";
import type { BenchCaseReport, BenchReport, KernelBenchReport } from "./reports.js";

const PANEL = 320;
const MARGIN = { left: 64, top: 46, bottom: 64 };
const INNER = { width: 466, height: PANEL - MARGIN.top - MARGIN.bottom };
/** In the legend: the width of a line sample and the width of a character. */
const LEGEND = { lines: 50, character: 7 };
const FAR_LIMIT = "limit (far above)";

/** The palette of Okabe and Ito, which is distinguishable with color blindness. */
const COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"];

interface Point {
  /** The index on the horizontal axis. */
  readonly x: number;
  readonly y: number;
  readonly low: number;
  readonly high: number;
}

/** The SVG of one kernel's cases, in TFLOP/s if all operation counts are known, otherwise in GB/s. */
export function plotSvg(report: BenchReport, kernel: KernelBenchReport): string {
  const panels = new Map<string, BenchCaseReport[]>();
  for (const benchCase of kernel.cases) {
    const name = Object.entries({ ...benchCase.dtypes, ...benchCase.constexprs })
      .map((pair) => pair.join("="))
      .join(" ");
    panels.set(name, [...(panels.get(name) ?? []), benchCase]);
  }
  const panelElements = [...panels].map(
    ([name, cases], i) =>
      `<g transform="translate(0 ${i * PANEL})">${panel(title(report, kernel, name), cases, kernel.sweep)}</g>`,
  );
  const height = PANEL * panels.size;
  const names = [FAR_LIMIT, ...kernel.cases.flatMap(({ times }) => Object.keys(times))];
  const longest = Math.max(...names.map((name) => name.length));
  const width = MARGIN.left + INNER.width + LEGEND.lines + LEGEND.character * longest;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="Helvetica, Arial, DejaVu Sans, sans-serif" font-size="12">`,
    `<rect width="${width}" height="${height}" fill="white"/>`,
    ...panelElements,
    "</svg>\n",
  ].join("\n");
}

function title({ device_name: device }: BenchReport, { kernel }: KernelBenchReport, variant: string): string {
  return `${kernel}${variant ? ` (${variant})` : ""} on ${device}`;
}

function panel(heading: string, cases: readonly BenchCaseReport[], sweep: readonly string[] | undefined): string {
  const hasFlops = cases.every(({ flops }) => flops !== undefined);
  // The work of a call, scaled so that work per millisecond is in TFLOP/s or GB/s.
  const work = ({ flops, bytes }: BenchCaseReport) => (hasFlops && flops !== undefined ? flops / 1e9 : bytes / 1e6);
  const names = [...new Set(cases.flatMap(({ times }) => Object.keys(times)))];
  const series = names
    .map((name) => ({ name, points: cases.flatMap((each, x) => pointOf(each.times[name], work(each), x)) }))
    .filter(({ points }) => points.length > 0);
  const highest = Math.max(...series.flatMap(({ points }) => points.map(({ high }) => high)));
  const limit = cases.flatMap((each, x) => (each.roof ? [{ x, y: work(each) / each.roof.ms }] : []));
  // A limit far above the data would flatten the plot.
  const isLimitShown = limit.length > 0 && limit.every(({ y }) => y <= 2 * highest);
  const ticks = niceTicks(Math.max(highest, ...(isLimitShown ? limit.map(({ y }) => y) : [])));
  const highestTick = Math.max(...ticks);
  const slotWidth = INNER.width / cases.length;
  const scale: Scale = {
    left: (x) => roundToTenth(MARGIN.left + slotWidth * (x + 0.5)),
    top: (y) => roundToTenth(MARGIN.top + INNER.height * (1 - y / highestTick)),
    slotWidth,
  };
  const [axis] = sweep ?? [];
  const [firstCase] = cases;
  const bottom = MARGIN.top + INNER.height + 16;
  const right = MARGIN.left + INNER.width;
  const legend: (readonly [string, string])[] = series.map(({ name }, i) => [name, `stroke="${colorOf(i)}"`]);
  if (limit.length > 0) legend.push([isLimitShown ? "limit" : FAR_LIMIT, LIMIT]);
  return [
    drawText(MARGIN.left, 24, heading, 'font-size="14" font-weight="bold"'),
    drawText(14, MARGIN.top - 8, hasFlops ? "TFLOP/s" : "GB/s"),
    ...ticks.flatMap((tick) => [
      `<line x1="${MARGIN.left}" x2="${right}" y1="${scale.top(tick)}" y2="${scale.top(tick)}" stroke="#ddd"/>`,
      drawText(MARGIN.left - 6, scale.top(tick) + 4, String(tick), 'text-anchor="end"'),
    ]),
    ...cases.map(({ sizes }, x) => {
      const label = axis === undefined ? Object.values(sizes).join("×") : String(sizes[axis]);
      const rotation = `transform="rotate(-20 ${scale.left(x)} ${bottom})"`;
      return drawText(scale.left(x), bottom, label, `text-anchor="end" font-size="10" ${rotation}`);
    }),
    drawText(right + 14, bottom, sweep?.join(" = ") ?? Object.keys(firstCase?.sizes ?? {}).join("×")),
    ...series.map(({ points }, i) => (sweep ? drawLine : drawBars)(points, scale, i, series.length)),
    ...(isLimitShown ? [limitLine(limit, scale)] : []),
    ...legend.flatMap(([name, stroke], i) => {
      const [x, y] = [right + 14, MARGIN.top + 8 + 18 * i];
      return [
        `<line x1="${x}" x2="${x + 16}" y1="${y}" y2="${y}" ${stroke} stroke-width="2"/>`,
        drawText(x + 22, y + 4, name),
      ];
    }),
  ].join("\n");
}

/** Scales from values to positions, and the width of a case. */
interface Scale {
  readonly left: (x: number) => number;
  readonly top: (y: number) => number;
  readonly slotWidth: number;
}

const LIMIT = 'stroke="#888" stroke-dasharray="5 4"';
const colorOf = (series: number) => inTurn(COLORS, series);

function pointOf(time: BenchCaseReport["times"][string] | undefined, work: number, x: number): Point[] {
  return time && "median" in time ? [{ x, y: work / time.median, low: work / time.high, high: work / time.low }] : [];
}

/** Lines, for the ordered sizes of a sweep. */
function drawLine(points: readonly Point[], { left, top }: Scale, series: number): string {
  const color = colorOf(series);
  return [
    `<polyline points="${points.map(({ x, y }) => `${left(x)},${top(y)}`).join(" ")}" fill="none" stroke="${color}" stroke-width="2"/>`,
    ...points.flatMap(({ x, y, low, high }) => [
      `<line x1="${left(x)}" x2="${left(x)}" y1="${top(low)}" y2="${top(high)}" stroke="${color}"/>`,
      `<circle cx="${left(x)}" cy="${top(y)}" r="3" fill="${color}"/>`,
    ]),
  ].join("\n");
}

/** Bars, for unordered sizes. */
function drawBars(points: readonly Point[], { left, top, slotWidth }: Scale, series: number, count: number): string {
  const width = roundToTenth((0.8 * slotWidth) / count);
  return points
    .flatMap(({ x, y, low, high }) => {
      const start = roundToTenth(left(x) + (series - count / 2) * width);
      const middle = roundToTenth(start + width / 2);
      return [
        `<rect x="${start}" y="${top(y)}" width="${width}" height="${roundToTenth(top(0) - top(y))}" fill="${colorOf(series)}"/>`,
        `<line x1="${middle}" x2="${middle}" y1="${top(low)}" y2="${top(high)}" stroke="black"/>`,
      ];
    })
    .join("\n");
}

/** The roofline limit as a horizontal segment per case. */
function limitLine(
  limit: readonly { readonly x: number; readonly y: number }[],
  { left, top, slotWidth }: Scale,
): string {
  const points = limit.flatMap(({ x, y }) => [
    `${left(x) - slotWidth / 2},${top(y)}`,
    `${left(x) + slotWidth / 2},${top(y)}`,
  ]);
  return `<polyline points="${points.join(" ")}" fill="none" ${LIMIT}/>`;
}

/** Multiples of a round step from 0 to just above the maximum, about five of them. */
export function niceTicks(maximum: number): number[] {
  const minStep = maximum / 5;
  const power = 10 ** Math.floor(Math.log10(minStep));
  const step = [1, 2, 5].map((factor) => factor * power).find((each) => each >= minStep) ?? 10 * power;
  const count = Math.ceil(maximum / step);
  return Array.from({ length: count + 1 }, (_, i) => Number((i * step).toPrecision(12)));
}

function drawText(x: number, y: number, content: string, attributes = ""): string {
  const escaped = content.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  return `<text x="${roundToTenth(x)}" y="${roundToTenth(y)}" ${attributes}>${escaped}</text>`;
}

function roundToTenth(value: number): number {
  return Math.round(value * 10) / 10;
}

// Converts SVG to PNG with the installed renderer.

/** PNG pixels per SVG pixel, for high-density screens. */
const ZOOM = 2;

/** Returns the PNG, or the reason why it cannot be created. */
export async function pngOf(svg: string): Promise<Uint8Array | string> {
  let resvg: typeof import("@resvg/resvg-js");
  try {
    resvg = await import("@resvg/resvg-js");
  } catch {
    return "it needs @resvg/resvg-js; `npm install @resvg/resvg-js` installs it";
  }
  const render = (text: string, zoom: number) =>
    new resvg.Resvg(text, { fitTo: { mode: "zoom", value: zoom }, font: { loadSystemFonts: true } });
  const sample =
    '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><text y="9" font-family="sans-serif">a</text></svg>';
  if (!render(sample, 1).innerBBox())
    return "this machine has no font; make it elsewhere, with `tilescript plot` of the JSON";
  return render(svg, ZOOM).render().asPng();
}
