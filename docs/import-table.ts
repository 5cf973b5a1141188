/**
 * The tables of `docs/import.md`: results for collections of kernels, from `npm run bench -- import-folder … --record
 * NAME`, and for kernels drawn at random, from `npm run bench -- import-draw … --record`.
 */
import { captioned, tableLines } from "./markdown-table.js";
import { type ImportDraw, type ImportPart, readRecord } from "../bench/import-record.js";
import { type Columns, median, MOST_SECONDS } from "../bench/import-seconds.js";

export function importTable(): string {
  const record = readRecord();
  if (!record)
    throw new Error("bench/results/imports.json is missing: npm run bench -- import-folder FOLDER --record NAME");
  const collections = Object.entries(record.collections).map(
    ([name, importsByPart]) => [name, Object.values(importsByPart)] as const,
  );
  const total = ["all", collections.flatMap(([, importedParts]) => importedParts)] as const;
  const rows = [...collections, total].map(([name, importedParts]) => row(name, importedParts));
  const caption = `Triton ${record.triton}, ${record.date}; percentages refer to the kernels that Triton compiles, and to the loads and stores of the kernels with equal IR.`;
  const [, allParts] = total;
  const tables = [...tableLines(HEAD, rows), "", ...tableLines(SECONDS, secondRows(allParts))];
  return [captioned(caption, tables), ...(record.draw ? [drawTable(record.draw)] : [])].join("\n\n");
}

function drawTable(draw: ImportDraw): string {
  const { equal = 0, "equal for the traced flags": flagged = 0 } = draw.counts;
  const withFlags = equal + flagged;
  const caption = [
    `Drawn at random: Triton ${draw.triton}, ${draw.date}, seed ${draw.seed}.`,
    `${draw.files} drawn files launch ${draw.launched} kernels of their own:`,
    `${draw.kernels} of ${draw.repositories.length} repositories are imported,`,
    `${draw.placeholders} of them with placeholders for packages that are not installed;`,
    ...recordedText(draw),
    ...(draw.lacking === undefined ? [] : [`${draw.lacking} use what Triton ${draw.triton} or this machine lacks,`]),
    `no types were found for ${draw.uncompiled},`,
    `and ${draw.unreadable} are in files that cannot be read.`,
    `Of all launched kernels, ${share(equal, draw.launched)} are equal, with fixed flags ${share(withFlags, draw.launched)}.`,
  ].join(" ");
  const rows = [row("drawn", [draw])];
  return captioned(caption, [...tableLines(HEAD, rows), "", ...tableLines(SECONDS, secondRows([draw]))]);
}

function recordedText({ recorded, kernels }: ImportDraw): readonly string[] {
  if (recorded === undefined) return [];
  return [
    `${recorded.kernels} have calls that tests of ${recorded.repositories} repositories make (${recorded.equal} are equal),`,
    `the other ${kernels - recorded.kernels} have types;`,
  ];
}

const SECONDS = [
  "CPU seconds per kernel",
  "median",
  "in Triton",
  "in TileScript",
  "90th percentile",
  "maximum",
  `above ${MOST_SECONDS} s`,
];

function secondRows(parts: readonly ImportPart[]): readonly (readonly string[])[] {
  const timesOf = (kind: "plain" | "lift", column: keyof Columns): readonly number[] =>
    parts.flatMap(({ seconds }) => seconds[kind]?.[column] ?? []);
  const kinds = [
    ["without `--lift`", "plain"],
    ["with `--lift`", "lift"],
  ] as const;
  const measuredKinds = kinds.filter(([, kind]) => timesOf(kind, "own").length > 0);
  return measuredKinds.map(([name, kind]) => {
    const [tritonTimes, ownTimes] = [timesOf(kind, "triton"), timesOf(kind, "own")];
    const both = tritonTimes.map((seconds, i) => seconds + (ownTimes[i] ?? 0)).toSorted((a, b) => a - b);
    const upperTimes = [both[Math.floor(both.length * 0.9)] ?? 0, both.at(-1) ?? 0];
    const slowCount = both.filter((each) => each > MOST_SECONDS).length;
    const medians = [both, tritonTimes, ownTimes].map(median);
    return [name, ...[...medians, ...upperTimes].map((each) => each.toFixed(2)), `${slowCount} of ${both.length}`];
  });
}

const HEAD = [
  "collection",
  "kernels",
  "equal",
  "equal, also with fixed flags",
  "loads and stores",
  "lifted to views",
  "build",
  "passes tsc",
  "check finds no mistake",
  "all proved",
];

const share = (count: number, denominator: number): string => `${count} (${Math.round((100 * count) / denominator)} %)`;

function row(name: string, parts: readonly ImportPart[]): readonly string[] {
  const sum = (...counts: readonly string[]): number =>
    parts.reduce(
      (total, part) => total + counts.reduce((partTotal, each) => partTotal + (part.counts[each] ?? 0), 0),
      0,
    );
  const kernels = sum("equal", "equal for the traced calls", "equal for the traced flags", "differs", "not imported");
  const accesses = sum("accesses");
  const wasLifted = parts.every(({ seconds }) => seconds.lift !== undefined);
  return [
    name,
    String(kernels),
    share(sum("equal"), kernels),
    share(sum("equal", "equal for the traced flags"), kernels),
    ...(wasLifted ? [String(accesses), share(sum("accesses that are views"), accesses)] : ["", ""]),
    String(sum("builds")),
    String(sum("clean under tsc")),
    String(sum("check proves everything", "check leaves questions")),
    String(sum("check proves everything")),
  ];
}
