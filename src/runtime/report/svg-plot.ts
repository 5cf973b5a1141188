/** A benchmark as a plot: a panel for each choice of dtypes and flags, a line or a bar for each measured function. */
import type { BenchCaseReport, BenchReport, KernelBenchReport } from "./reports.js";

const PANEL = 320;
const MARGIN = { left: 64, top: 46, bottom: 64 };
const INNER = { width: 466, height: PANEL - MARGIN.top - MARGIN.bottom };
/** In the legend: the height of a line, and the width of a character. */
const LEGEND = { lines: 50, character: 7 };
const FAR_LIMIT = "limit (far above)";

/** Okabe and Ito's colors, which color-blind readers can tell apart. */
const COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"];

interface Point {
  /** Place on the horizontal axis. */
  readonly x: number;
  readonly y: number;
  readonly low: number;
  readonly high: number;
}

/** SVG text of one kernel's cases; TFLOP/s where the operations are known, else GB/s. */
export function plotSvg(report: BenchReport, kernel: KernelBenchReport): string {
  const panels = new Map<string, BenchCaseReport[]>();
  for (const each of kernel.cases) {
    const name = Object.entries({ ...each.dtypes, ...each.constexprs })
      .map((pair) => pair.join("="))
      .join(" ");
    panels.set(name, [...(panels.get(name) ?? []), each]);
  }
  const drawn = [...panels].map(
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
    ...drawn,
    "</svg>\n",
  ].join("\n");
}

function title({ device_name: device }: BenchReport, { kernel }: KernelBenchReport, variant: string): string {
  return `${kernel}${variant ? ` (${variant})` : ""} on ${device}`;
}

function panel(heading: string, cases: readonly BenchCaseReport[], sweep: readonly string[] | undefined): string {
  const counted = cases.every(({ flops }) => flops !== undefined);
  // Work of a call in such units that a millisecond of it is a TFLOP/s or a GB/s.
  const work = (each: BenchCaseReport) => (counted ? each.flops! / 1e9 : each.bytes / 1e6);
  const names = [...new Set(cases.flatMap(({ times }) => Object.keys(times)))];
  const series = names
    .map((name) => ({ name, points: cases.flatMap((each, x) => pointOf(each.times[name], work(each), x)) }))
    .filter(({ points }) => points.length > 0);
  const highest = Math.max(...series.flatMap(({ points }) => points.map(({ high }) => high)));
  const limit = cases.flatMap((each, x) => (each.roof ? [{ x, y: work(each) / each.roof.ms }] : []));
  // A limit far above the data would flatten the plot.
  const isLimitShown = limit.length > 0 && limit.every(({ y }) => y <= 2 * highest);
  const ticks = niceTicks(Math.max(highest, ...(isLimitShown ? limit.map(({ y }) => y) : [])));
  const room = INNER.width / cases.length;
  const place: Place = {
    left: (x) => round(MARGIN.left + room * (x + 0.5)),
    top: (y) => round(MARGIN.top + INNER.height * (1 - y / ticks.at(-1)!)),
    room,
  };
  const bottom = MARGIN.top + INNER.height + 16;
  const right = MARGIN.left + INNER.width;
  const legend: (readonly [string, string])[] = series.map(({ name }, i) => [name, `stroke="${colorOf(i)}"`]);
  if (limit.length > 0) legend.push([isLimitShown ? "limit" : FAR_LIMIT, LIMIT]);
  return [
    text(MARGIN.left, 24, heading, 'font-size="14" font-weight="bold"'),
    text(14, MARGIN.top - 8, counted ? "TFLOP/s" : "GB/s"),
    ...ticks.flatMap((tick) => [
      `<line x1="${MARGIN.left}" x2="${right}" y1="${place.top(tick)}" y2="${place.top(tick)}" stroke="#ddd"/>`,
      text(MARGIN.left - 6, place.top(tick) + 4, String(tick), 'text-anchor="end"'),
    ]),
    ...cases.map(({ sizes }, x) => {
      const label = sweep ? String(sizes[sweep[0]!]) : Object.values(sizes).join("×");
      const turned = `transform="rotate(-20 ${place.left(x)} ${bottom})"`;
      return text(place.left(x), bottom, label, `text-anchor="end" font-size="10" ${turned}`);
    }),
    text(right + 14, bottom, sweep?.join(" = ") ?? Object.keys(cases[0]!.sizes).join("×")),
    ...series.map(({ points }, i) => (sweep ? line : bars)(points, place, i, series.length)),
    ...(isLimitShown ? [limitLine(limit, place)] : []),
    ...legend.flatMap(([name, stroke], i) => {
      const [x, y] = [right + 14, MARGIN.top + 8 + 18 * i];
      return [
        `<line x1="${x}" x2="${x + 16}" y1="${y}" y2="${y}" ${stroke} stroke-width="2"/>`,
        text(x + 22, y + 4, name),
      ];
    }),
  ].join("\n");
}

/** The position of a value in the plot, and the width of a case. */
interface Place {
  readonly left: (x: number) => number;
  readonly top: (y: number) => number;
  readonly room: number;
}

const LIMIT = 'stroke="#888" stroke-dasharray="5 4"';
const colorOf = (series: number) => COLORS[series % COLORS.length]!;

function pointOf(time: BenchCaseReport["times"][string] | undefined, work: number, x: number): Point[] {
  return time && "median" in time ? [{ x, y: work / time.median, low: work / time.high, high: work / time.low }] : [];
}

/** For a sweep, whose sizes are ordered. */
function line(points: readonly Point[], { left, top }: Place, series: number): string {
  const color = colorOf(series);
  return [
    `<polyline points="${points.map(({ x, y }) => `${left(x)},${top(y)}`).join(" ")}" fill="none" stroke="${color}" stroke-width="2"/>`,
    ...points.flatMap(({ x, y, low, high }) => [
      `<line x1="${left(x)}" x2="${left(x)}" y1="${top(low)}" y2="${top(high)}" stroke="${color}"/>`,
      `<circle cx="${left(x)}" cy="${top(y)}" r="3" fill="${color}"/>`,
    ]),
  ].join("\n");
}

/** For unrelated sizes. */
function bars(points: readonly Point[], { left, top, room }: Place, series: number, count: number): string {
  const width = round((0.8 * room) / count);
  return points
    .flatMap(({ x, y, low, high }) => {
      const start = round(left(x) + (series - count / 2) * width);
      const middle = round(start + width / 2);
      return [
        `<rect x="${start}" y="${top(y)}" width="${width}" height="${round(top(0) - top(y))}" fill="${colorOf(series)}"/>`,
        `<line x1="${middle}" x2="${middle}" y1="${top(low)}" y2="${top(high)}" stroke="black"/>`,
      ];
    })
    .join("\n");
}

/** The bars of each case side by side. */
function limitLine(limit: readonly { readonly x: number; readonly y: number }[], { left, top, room }: Place): string {
  const ends = limit.flatMap(({ x, y }) => [`${left(x) - room / 2},${top(y)}`, `${left(x) + room / 2},${top(y)}`]);
  return `<polyline points="${ends.join(" ")}" fill="none" ${LIMIT}/>`;
}

/** Round numbers from 0 to just above the largest value, about five of them. */
export function niceTicks(most: number): number[] {
  const rough = most / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= rough)!;
  const count = Math.ceil(most / step);
  return Array.from({ length: count + 1 }, (_, i) => Number((i * step).toPrecision(12)));
}

function text(x: number, y: number, words: string, attributes = ""): string {
  const escaped = words.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  return `<text x="${round(x)}" y="${round(y)}" ${attributes}>${escaped}</text>`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
