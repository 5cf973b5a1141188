/** `bench/results/imports.json`: what became of the kernels of a collection, added up over the parts that were run. */
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
}

export interface ImportPart {
  readonly counts: Numbers;
  /** How many kernels or accesses each reason keeps from being equal, or a view. */
  readonly reasons: Numbers;
  /** Of each kernel that Triton compiles: as it is, and with views where they were asked for. */
  readonly seconds: { readonly plain: Columns; readonly lift?: Columns };
}

const file = resolve(import.meta.dirname, "results/imports.json");

export const readRecord = (): ImportRecord | undefined =>
  existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as ImportRecord) : undefined;

/** Keeps the other parts of a collection that divide it in the same way, and the other collections. */
export async function recordPart(collection: string, part: string, found: ImportPart, python: string): Promise<void> {
  const { collections = {} } = readRecord() ?? {};
  const [, step] = part.split("/");
  const others = Object.entries(collections[collection] ?? {}).filter(([each]) => each.split("/")[1] === step);
  const parts = Object.fromEntries([...others, [part, found] as const].sort(([a], [b]) => a.localeCompare(b)));
  const triton = execFileSync(python, ["-c", "import triton; print(triton.__version__)"], { encoding: "utf8" }).trim();
  writeReport("imports", { triton, collections: { ...collections, [collection]: parts } });
  // Many numbers on a line.
  writeFileSync(file, await format(readFileSync(file, "utf8"), { parser: "json", printWidth: 120 }));
}
