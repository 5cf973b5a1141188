/** What can be wrong with configs and autotuning. */
import { suggestName } from "../did-you-mean.js";
import { defineCode } from "./define-code.js";

export const configValue = defineCode("config-value", {
  type: (where: string, name: string, value: unknown, wanted: string) =>
    `${where}: ${name} is ${typeof value === "number" ? String(value) : JSON.stringify(value)}; it takes ${wanted}`,
  choice: (where: string, name: string, value: unknown, choices: readonly string[]) =>
    `${where}: ${name} is ${JSON.stringify(value)}; it is one of ${choices.join(", ")}`,
  integer: (where: string, name: string, value: unknown) =>
    `${where}: ${name} is ${String(value)}; it takes an integer`,
  negativeZero: (where: string, name: string) =>
    `${where}: ${name} is -0, which Triton takes for 0; write 0, or declare ${name} as scalar(tl.float32)`,
  numWarps: (where: string, value: number) => `${where}: numWarps is ${value}; it is a power of two up to 32`,
  launchOption: (where: string, name: string, value: number) =>
    `${where}: ${name} is ${value}; it is a positive integer`,
});

export const configMissing = defineCode(
  "config-missing",
  (where: string, name: string) => `${where}: ${name} is missing; give it a value`,
);

/** Options of a launch by the names that authors try: Triton's, and shorter ones. */
const LAUNCH: Readonly<Record<string, string>> = {
  warps: "numWarps",
  nwarps: "numWarps",
  stages: "numStages",
  nstages: "numStages",
  pipelinestages: "numStages",
  ctas: "numCtas",
  maxregs: "maxnreg",
  maxregisters: "maxnreg",
  kwargs: "its constants beside numWarps, { BLOCK: 64, numWarps: 4 }",
};

function configInstead(name: string, known: readonly string[], options: readonly string[]): string {
  const plain = name.replaceAll("_", "").toLowerCase();
  const near = suggestName(name, [...known, ...options]) ?? (Object.hasOwn(LAUNCH, plain) ? LAUNCH[plain] : undefined);
  return near === undefined ? `it has ${known.join(", ") || "none"}` : `write ${near}`;
}

export const configName = defineCode("config-name", {
  unknown: (where: string, name: string, known: readonly string[], options: readonly string[]) =>
    `${where}: ${name} is not a constexpr of this kernel; ${configInstead(name, known, options)}`,
  heuristic: (where: string, name: string) =>
    `${where}: ${name} is computed by a heuristic; leave it out of the config`,
  dtype: (where: string, name: string) =>
    `${where}: ${name} is a dtype, which the caller gives; leave it out of the config`,
  launch: (where: string, name: string) => `${where}: ${name} is computed at launch; leave it out of the config`,
  dim: (where: string, name: string) => `${where}: ${name} is bound from a shape; leave it out of the config`,
});

export const configRepeated = defineCode(
  "config-repeated",
  (where: string, first: number) => `${where}: it repeats config ${first}; leave one out`,
);

export const configSources = defineCode("config-sources", {
  both: (kernel: string) => `${kernel}: config and autotune both give configs; leave one out`,
  none: (kernel: string) => `${kernel}: autotune has no configs; list at least one`,
});

export const tuningSpace = defineCode("tuning-space", {
  unknown: (kernel: string, name: string, known: readonly string[]) =>
    `${kernel}: the space names ${name}; configs choose ${known.join(", ")}`,
  empty: (kernel: string, name: string) => `${kernel}: the space has no values for ${name}; list them, as in [32, 64]`,
});

export const configsInSource = defineCode(
  "configs-in-source",
  (kernel: string) => `${kernel}: write autotune.configs as a list in the kernel's spec`,
);

export const autotuneKey = defineCode("autotune-key", {
  unknown: (kernel: string, name: string, known: readonly string[]) =>
    `${kernel}: the autotune key ${name} is not a size, scalar or constexpr; it may be ${known.join(", ")}`,
  config: (kernel: string, name: string) =>
    `${kernel}: the autotune key names ${name}, which the configs choose; leave it out`,
  requires: (kernel: string, name: string, config: string) =>
    `${kernel}: requires names ${name} beside ${config}; add "${name}" to the autotune key, else a config tuned for another ${name} is launched`,
});

export const autotuneReset = defineCode("autotune-reset", {
  unknown: (kernel: string, name: string) =>
    `${kernel}: resetToZero or restoreValue names ${name}, which is not a tensor of this kernel`,
  descriptor: (kernel: string, name: string, role: string) =>
    `${kernel}: autotuning runs the kernel several times, and Triton cannot put back ${name}, which is a descriptor; declare it tensor.${role}(…) and make the descriptor in the kernel, tl.makeTensorDescriptor(${name}, …)`,
  optional: (kernel: string, name: string) =>
    `${kernel}: autotuning runs the kernel several times, and Triton cannot put back ${name}, which may be left out; let it be required, or choose one config`,
  inPlace: (kernel: string, name: string) =>
    `${kernel}: autotuning runs the kernel several times and ${name} is updated in place; add restoreValue: ["${name}"] or resetToZero`,
  accumulates: (kernel: string, name: string, how: string) =>
    `${kernel}: autotuning runs the kernel several times and ${name} is ${how}, so that it finds what a trial before left; declare it tensor.out(…, { zeroed: true }), or add resetToZero: ["${name}"]`,
  pointer: (kernel: string, name: string, how: string) =>
    `${kernel}: autotuning runs the kernel several times and what the raw pointer ${name} leads to is ${how}, so that it finds what a trial before left; declare a tensor.inout(…) with restoreValue, or choose one config`,
});

/** `, such as 32 or 64`. */
function powersBeside(size: number): string {
  if (!(size > 1 && Number.isInteger(size))) return "";
  const below = 2 ** Math.floor(Math.log2(size));
  return `, such as ${below} or ${below * 2}`;
}

export const tileSize = defineCode("tile-size", {
  dimension: (dim: string | number, size: number, where: string) =>
    `${dim} is ${size}${where}; a tile's dimension is a power of two${powersBeside(size)}`,
  descriptor: (dim: string | number, size: number, where: string, bits: number, least: number) =>
    `the last block dimension ${dim} of a descriptor is ${size}${where}; ${bits}-bit elements need at least ${least}`,
  elements: (shape: string, count: number, where: string, most: number) =>
    `the tile ${shape} has ${count} elements${where}; Triton allows ${most}, loop over smaller tiles`,
  /** What an op's own rule says once the sizes are known; `where` stands before its remedy. */
  rule: (sentence: string, where: string) => sentence.replace(/(?=; )|$/, where),
});

export const dotSize = defineCode("dot-size", (sentence: string) => sentence);
