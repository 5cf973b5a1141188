/** `bench/results/imports.json`: import results of collections of kernels, summed over the parts that were run. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { format } from "prettier";
import type { Columns } from "./import-seconds.js";
import { writeReport } from "./write-report.js";

type Numbers = Readonly<Record<string, number>>;

export interface ImportRecord {
  readonly date: string;
  readonly triton: string;
  /** By the name of a collection and by its parts, such as `1/4`. */
  readonly collections: Readonly<Record<string, Readonly<Record<string, ImportPart>>>>;
  readonly draw?: ImportDraw;
}

/** Kernels that were drawn at random. */
export interface ImportDraw extends ImportPart {
  readonly date: string;
  readonly triton: string;
  readonly seed: number;
  readonly repositories: readonly string[];
  /** The drawn files, and the kernels that they launch. */
  readonly files: number;
  readonly launched: number;
  /**
   * The kernels of files that cannot be imported, those that use what this Triton or this machine lacks, and those for
   * which no types were found.
   */
  readonly unreadable: number;
  readonly lacking?: number;
  readonly uncompiled: number;
  /** Kernels that were imported, and those of them for which placeholders replaced packages that are not installed. */
  readonly kernels: number;
  readonly placeholders: number;
  /** The imported kernels with calls that tests made, and the repositories of these tests. */
  readonly recorded?: { readonly kernels: number; readonly equal: number; readonly repositories: number };
}

export interface ImportPart {
  readonly counts: Numbers;
  /** The number of kernels or accesses that each reason keeps from being equal, or a view. */
  readonly reasons: Numbers;
  /** The durations for each kernel that Triton compiles: unchanged, and with views if they were requested. */
  readonly seconds: { readonly plain: Columns; readonly lift?: Columns };
}

const file = resolve(import.meta.dirname, "results/imports.json");

export const readRecord = (): ImportRecord | undefined =>
  existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as ImportRecord) : undefined;

/** Records a part. Retains the other parts of a collection with the same division, and the other collections. */
export async function recordPart(
  collection: string,
  part: string,
  importedPart: ImportPart,
  python: string,
): Promise<void> {
  const { collections = {}, draw } = readRecord() ?? {};
  const [, step] = part.split("/");
  const otherParts = Object.entries(collections[collection] ?? {}).filter(([each]) => each.split("/")[1] === step);
  const sortedParts = Object.fromEntries(
    [...otherParts, [part, importedPart] as const].sort(([a], [b]) => a.localeCompare(b)),
  );
  const triton = tritonVersion(python);
  await write({ triton, collections: { ...collections, [collection]: sortedParts }, ...(draw && { draw }) });
}

/** Records a draw. Retains the collections, with their date. */
export async function recordDraw(draw: Omit<ImportDraw, "date" | "triton">, python: string): Promise<void> {
  const date = new Date().toISOString().slice(0, 10);
  const { collections = {}, ...earlier } = readRecord() ?? {};
  await write({ ...earlier, collections, draw: { date, triton: tritonVersion(python), ...draw } });
}

const tritonVersion = (python: string): string =>
  execFileSync(python, ["-c", "import triton; print(triton.__version__)"], { encoding: "utf8" }).trim();

async function write(record: Partial<ImportRecord>): Promise<void> {
  writeReport("imports", record);
  // Puts many numbers on a line.
  writeFileSync(file, await format(readFileSync(file, "utf8"), { parser: "json", printWidth: 120 }));
}
