/** Random mistakes in right kernels: one word of a kernel's source becomes another. */
import { readFileSync } from "node:fs";
import type { Subject } from "./mutations.js";
import { sectionOf } from "./seed.js";

const swap = (a: string, b: string): readonly (readonly [RegExp, string])[] => [
  [new RegExp(`${a}(?![\\w])`, "g"), b.replaceAll("\\", "")],
  [new RegExp(`${b}(?![\\w])`, "g"), a.replaceAll("\\", "")],
];

/** What lanes hold that a mask leaves out becomes something else, or nothing. */
const PADDING: readonly (readonly [RegExp, string])[] = [
  [/other: -Infinity/g, "other: 0"],
  [/other: 0/g, "other: 1"],
  [/, \{ other: [^}]*\}/g, ""],
  [/, other: -?\w+/g, ""],
  [/, -Infinity\)/g, ", 0)"],
];

/** Programs that meet: one writes what another does, or what it adds is lost. */
const SHARING: readonly (readonly [RegExp, string])[] = [
  [/tl\.atomic(?:Add|Max|Min)\(/g, "tl.store("],
  [/tl\.store\(/g, "tl.atomicAdd("],
  [/tl\.programId\((\d)\)/g, "tl.programId($1).floorDiv(2)"],
  [/tl\.programId\((\d)\)/g, "tl.programId($1).mod(2)"],
  [/tl\.cdiv\((\w+), (\w+)\)/g, "tl.cdiv($1, $2).sub(1)"],
  [/tl\.cdiv\((\w+), (\w+)\)/g, "tl.cdiv($1, $2).add(1)"],
  [/tl\.numPrograms\(\d\)/g, "1"],
  [/, \{ zeroed: true \}/g, ""],
];

/** Offsets that wrap: at sizes that can be run, only numbers in the source are so large. A loop of so many turns cannot be. */
const WRAPPING: readonly (readonly [RegExp, string])[] = [
  [/\.add\(tl\.arange/g, ".add(2 ** 31 - 512).add(tl.arange"],
  [/\.mul\((\w+)\)\.add\(tl\.arange/g, ".mul($1).mul(2 ** 22).add(tl.arange"],
  [/\.lt\(/g, ".mul(2 ** 24).lt("],
  [/\.to\(tl\.int64\)/g, ""],
];

/** What becomes what. */
const CHANGES: readonly (readonly [RegExp, string])[] = [
  ...PADDING,
  ...SHARING,
  ...WRAPPING,
  ...swap("\\.lt", "\\.le"),
  ...swap("\\.ge", "\\.gt"),
  ...swap("\\.add", "\\.sub"),
  ...swap("\\.mul", "\\.add"),
  ...swap("\\.mod", "\\.floorDiv"),
  ...swap("\\.row", "\\.col"),
  ...swap("\\bM", "\\bN"),
  ...swap("BLOCK_M", "BLOCK_N"),
  ...swap("tl\\.minimum", "tl\\.maximum"),
  ...swap("tl\\.max", "tl\\.min"),
  ...swap("tl\\.sum", "tl\\.max"),
  ...swap("programId\\(0\\)", "programId\\(1\\)"),
  ...swap("stride\\(0\\)", "stride\\(1\\)"),
  [/range\(0,/g, "range(1,"],
  [/tl\.inBounds\((\w+)\)/g, "$1"],
  [/\.at\((\w+)\)/g, ".at(tl.inBounds($1))"],
  [/\.at\((\w+), (\w+)\)/g, ".at($2, $1)"],
  [/arange\(0, (\w+)\)/g, "arange(0, $1).add(1)"],
  [/arange\(0, (\w+)\)/g, "arange(0, $1).mul(2)"],
  [/, \{ mask: \w+ \}/g, ""],
  [/mask: (\w+)/g, "mask: $1.and(true)"],
  [/, 0\);/g, ", 1);"],
  [/tl\.cdiv\((\w+), (\w+)\)/g, "$1.floorDiv($2)"],
];

/** A mistake in the subject, or undefined where the change that was drawn does not fit. */
export function mutationOf({ file, kernel, anywhere }: Subject, draw: (below: number) => number) {
  const source = readFileSync(new URL(file, import.meta.url), "utf8");
  const [start, end] = anywhere ? [0, source.length] : sectionOf(source, kernel);
  const change = CHANGES[draw(CHANGES.length)]!;
  const [from, to] = change;
  const found = [...source.slice(start, end).matchAll(from)];
  const match = found[draw(Math.max(1, found.length))];
  if (!match) return undefined;
  // The rest of the line tells apart what occurs more than once.
  const rest = source.slice(start + match.index, source.indexOf("\n", start + match.index));
  const changed = match[0].replace(new RegExp(from.source), to) + rest.slice(match[0].length);
  if (rest === changed) return undefined;
  const what = `${rest.trim()} → ${changed.trim()}`;
  return { what, from: rest, to: changed, isOfPadding: PADDING.includes(change) };
}
