/** The record of `npm run bench -- gallery`, and the parts of it whose kernels have changed since. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { examples } from "../tests/support/examples.js";
import { isStillCurrent, kernelDigest } from "./kernel-digest.js";

export interface GalleryCase {
  readonly kernel: string;
  readonly dtype: string;
  readonly sizes: Readonly<Record<string, number | boolean>>;
}

export interface GalleryRow extends GalleryCase {
  readonly provider: string;
  readonly part: string;
  /** Milliseconds: the median over rounds, and the 20th and 80th percentile. */
  readonly ms: number;
  readonly low: number;
  readonly high: number;
}

/** Another project's way that did not run. */
export interface GalleryFailure extends GalleryCase {
  readonly provider: string;
  readonly part: string;
  readonly failed: string;
}

/** The ratio of a baseline's time to the example's: the median over rounds. */
export interface GalleryRatio extends GalleryCase {
  readonly part: string;
  /** A baseline, or `best of …: ` and the fastest of PyTorch's. */
  readonly of: string;
  readonly ratio: number;
}

interface GalleryPart {
  /** Digests of its kernels at the time of the measurement: a hash per module. */
  readonly kernels: Readonly<Record<string, string>>;
  readonly date: string;
}

export interface Gallery {
  readonly device: string;
  readonly torch: string;
  readonly triton: string;
  readonly parts: Readonly<Record<string, GalleryPart>>;
  readonly rows: readonly GalleryRow[];
  readonly failures: readonly GalleryFailure[];
  readonly ratios: readonly GalleryRatio[];
}

type Recorded = Omit<Gallery, "rows" | "failures"> & { readonly rows: readonly (GalleryRow | GalleryFailure)[] };

export function readGallery(): Gallery {
  const text = readFileSync(resolve(import.meta.dirname, "results/gallery-h200.json"), "utf8");
  const recorded = JSON.parse(text) as Recorded;
  const rows = recorded.rows.filter((row) => "ms" in row);
  const failures = recorded.rows.filter((row) => "failed" in row);
  return { ...recorded, rows, failures };
}

/** The parts whose kernels have changed since they were timed. */
export function changedParts({
  parts,
}: {
  readonly parts: Readonly<Record<string, Pick<GalleryPart, "kernels">>>;
}): ReadonlySet<string> {
  const golden = resolve(import.meta.dirname, "../tests/unit/codegen/golden");
  const currentDigests = new Map(
    examples.map(({ name, kernel }) => [kernel.name, kernelDigest(readFileSync(`${golden}/${name}.py`, "utf8"))]),
  );
  const changedEntries = Object.entries(parts).filter(([, { kernels }]) =>
    Object.entries(kernels).some(([name, timedDigest]) => !isStillCurrent(timedDigest, currentDigests.get(name) ?? "")),
  );
  return new Set(changedEntries.map(([part]) => part));
}
