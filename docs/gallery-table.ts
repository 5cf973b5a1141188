/**
 * The part of `docs/performance.md` about the examples, from the results of `npm run bench -- gallery`: the time of each
 * compared with PyTorch, the cases that are slower, and the mean speedup over torch.compile.
 */
import { tableLines } from "./markdown-table.js";
import {
  changedParts,
  type GalleryCase,
  type GalleryRatio,
  type Gallery,
  readGallery,
} from "../bench/gallery-record.js";

const BASELINES = ["eager", "compiled", "max-autotune", "flex", "copy"];

const caseKey = ({ kernel, dtype, sizes }: GalleryCase): string => `${kernel} ${dtype} ${JSON.stringify(sizes)}`;
const formatSizes = ({ sizes }: GalleryCase): string =>
  Object.entries(sizes)
    .map(([name, size]) => `${name}=${size}`)
    .join(" ");

/**
 * One row per case: its time, and the ratios to PyTorch and to a copy of as many bytes. A star marks kernels that have
 * changed since they were timed.
 */
function table({ rows, ratios }: Gallery, changedNames: ReadonlySet<string>): readonly string[] {
  const head = ["kernel", "sizes", "ms", ...BASELINES.map((name) => `${name} ×`)];
  const lines = rows
    .filter(({ provider }) => provider === "tilescript")
    .map((row) => {
      const times = BASELINES.map((baseline) =>
        ratios.find((each) => each.of === baseline && caseKey(each) === caseKey(row)),
      );
      return [
        `${row.kernel} ${row.dtype}${changedNames.has(row.part) ? " \\*" : ""}`,
        formatSizes(row),
        row.ms.toPrecision(3),
        ...times.map((each) => digits(each)),
      ];
    });
  return tableLines(head, lines);
}

const digits = (ratio: GalleryRatio | undefined): string => ratio?.ratio.toFixed(2) ?? "";

/** The cases in which PyTorch is faster, the slowest first. */
function slowerCases({ ratios }: Gallery, changedNames: ReadonlySet<string>): string {
  const lines = ratios
    .filter(({ of, ratio }) => of.startsWith("best of ") && Number(ratio.toFixed(2)) < 1)
    .sort((a, b) => a.ratio - b.ratio)
    .map((caseRatio) => {
      const star = changedNames.has(caseRatio.part) ? " \\*" : "";
      return `- \`${caseRatio.kernel}\`${star} ${formatSizes(caseRatio)}: ${digits(caseRatio)}, ${caseRatio.of.replace(/^.*: /, "")}`;
    });
  return [`In ${lines.length} cases, the fastest form of PyTorch is faster than the example:`, "", ...lines].join("\n");
}

/** The speedup of the example's FAST_ACCUM option. */
function fastSums({ ratios }: Gallery): string {
  const fast = ratios.find(({ kernel, of }) => kernel === "fp8_gemm" && of === "fast");
  return fast ? `With \`FAST_ACCUM\`, \`fp8_gemm\` takes ${digits(fast)} times as long as without it.` : "";
}

/** The mean ratio of torch.compile's time, over all cases that it was timed for. */
function compilerMean({ ratios }: Gallery): string {
  const compiled = ratios.filter(({ of }) => of === "compiled");
  const mean = Math.exp(compiled.reduce((sum, { ratio }) => sum + Math.log(ratio), 0) / compiled.length);
  return `\`torch.compile\` with default options takes ${mean.toFixed(2)} times as long as the example (geometric mean of ${compiled.length} cases).`;
}

export function galleryTable(): string {
  const gallery = readGallery();
  const { device, torch, triton, parts } = gallery;
  const changedNames = changedParts(gallery);
  const dates = Object.values(parts)
    .map(({ date }) => date)
    .sort();
  const stars =
    changedNames.size > 0
      ? " A star marks a kernel that has changed since it was timed. Kernels that only got another config have no star."
      : "";
  const about = `${device}, torch ${torch}, Triton ${triton}, ${dates[0]} to ${dates.at(-1)}.${stars}`;
  return [
    "",
    about,
    "",
    ...table(gallery, changedNames),
    "",
    slowerCases(gallery, changedNames),
    "",
    fastSums(gallery),
    "",
    compilerMean(gallery),
    "",
  ].join("\n");
}
