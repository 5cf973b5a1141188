/**
 * What `docs/performance.md` says of the examples, from what `npm run bench:gallery` wrote: how long each takes beside
 * PyTorch, which are behind it, and by how much they are ahead of its compiler together.
 */
import {
  changedParts,
  type GalleryCase,
  type GalleryRatio,
  type Gallery,
  readGallery,
} from "../bench/gallery-record.js";

const WAYS = ["eager", "compiled", "max-autotune", "flex", "copy"];

const named = ({ kernel, dtype, sizes }: GalleryCase): string => `${kernel} ${dtype} ${JSON.stringify(sizes)}`;
const shown = ({ sizes }: GalleryCase): string =>
  Object.entries(sizes)
    .map(([name, size]) => `${name}=${size}`)
    .join(" ");

/**
 * One row a case: its time, and how many times as long PyTorch and a copy of as many bytes take. A star marks kernels
 * that are no longer what was timed.
 */
function table({ rows, ratios }: Gallery, changed: ReadonlySet<string>): readonly string[] {
  const head = ["kernel", "sizes", "ms", ...WAYS.map((name) => `${name} ×`)];
  const lines = rows
    .filter(({ provider }) => provider === "tilescript")
    .map((row) => {
      const times = WAYS.map((way) => ratios.find((each) => each.of === way && named(each) === named(row)));
      return [
        `${row.kernel} ${row.dtype}${changed.has(row.part) ? " \\*" : ""}`,
        shown(row),
        row.ms.toPrecision(3),
        ...times.map((each) => digits(each)),
      ];
    });
  return [head, head.map(() => "---"), ...lines].map((cells) => `| ${cells.join(" | ")} |`);
}

const digits = (found: GalleryRatio | undefined): string => found?.ratio.toFixed(2) ?? "";

/** The cases where PyTorch has a faster way, the slowest first. */
function behind({ ratios }: Gallery, changed: ReadonlySet<string>): string {
  const slow = ratios
    .filter(({ of, ratio }) => of.startsWith("best of ") && Number(ratio.toFixed(2)) < 1)
    .sort((a, b) => a.ratio - b.ratio)
    .map((each) => {
      const star = changed.has(each.part) ? " \\*" : "";
      return `- \`${each.kernel}\`${star} ${shown(each)}: ${digits(each)}, ${each.of.replace(/^.*: /, "")}`;
    });
  return [`PyTorch is faster, by its fastest way, in ${slow.length} cases:`, "", ...slow].join("\n");
}

/** What the example's own option for speed saves. */
function fastSums({ ratios }: Gallery): string {
  const fast = ratios.find(({ kernel, of }) => kernel === "fp8_gemm" && of === "fast");
  return fast ? `With \`FAST_ACCUM\`, \`fp8_gemm\` takes ${digits(fast)} of its time.` : "";
}

/** How many times as long PyTorch's compiler takes, over every case that it was given too. */
function together({ ratios }: Gallery): string {
  const compiled = ratios.filter(({ of }) => of === "compiled");
  const mean = Math.exp(compiled.reduce((sum, { ratio }) => sum + Math.log(ratio), 0) / compiled.length);
  return `Over all ${compiled.length} cases that \`torch.compile\` was given too, with its default options, it takes ${mean.toFixed(2)} times as long (geometric mean).`;
}

export function galleryTable(): string {
  const gallery = readGallery();
  const { device, torch, triton, parts } = gallery;
  const changed = changedParts(gallery);
  const dates = Object.values(parts)
    .map(({ date }) => date)
    .sort();
  const stars =
    changed.size > 0
      ? " Kernels with a star have changed since they were timed; a config that was added is no change."
      : "";
  const about = `${device}, torch ${torch}, Triton ${triton}, ${dates[0]} to ${dates.at(-1)}.${stars}`;
  return [
    "",
    about,
    "",
    ...table(gallery, changed),
    "",
    behind(gallery, changed),
    "",
    fastSums(gallery),
    "",
    together(gallery),
    "",
  ].join("\n");
}
