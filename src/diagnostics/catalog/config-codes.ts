/** Mistakes in configs and autotuning. */
import { type MessageParts, suggestName, defineCode } from "../message.js";
export const configValue = defineCode("config-value", {
  type: (config: string, name: string, value: unknown, expected: string) => [
    `${config}: ${name} is ${typeof value === "number" ? String(value) : JSON.stringify(value)}`,
    `it takes ${expected}`,
  ],
  choice: (config: string, name: string, value: unknown, choices: readonly string[]) => [
    `${config}: ${name} is ${JSON.stringify(value)}`,
    `it is one of ${choices.join(", ")}`,
  ],
  integer: (config: string, name: string, value: unknown) => [
    `${config}: ${name} is ${String(value)}`,
    `it takes an integer`,
  ],
  negativeZero: (config: string, name: string) => [
    `${config}: ${name} is -0, which Triton takes for 0`,
    `write 0, or declare ${name} as scalar(tl.float32)`,
  ],
  numWarps: (config: string, value: number) => [`${config}: numWarps is ${value}`, `it is a power of two up to 32`],
  launchOption: (config: string, name: string, value: number) => [
    `${config}: ${name} is ${value}`,
    `it is a positive integer`,
  ],
});

export const configMissing = defineCode("config-missing", (config: string, name: string) => [
  `${config}: ${name} is missing`,
  `give it a value`,
]);

/** Launch options by the names that authors try: Triton's, and shorter ones. */
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

function formatRemedy(name: string, names: readonly string[], options: readonly string[]): string {
  const plain = name.replaceAll("_", "").toLowerCase();
  const suggestion =
    suggestName(name, [...names, ...options]) ?? (Object.hasOwn(LAUNCH, plain) ? LAUNCH[plain] : undefined);
  return suggestion === undefined ? `it has ${names.join(", ") || "none"}` : `write ${suggestion}`;
}

const LEAVE_OUT = "leave it out of the config";

export const configName = defineCode("config-name", {
  unknown: (config: string, name: string, names: readonly string[], options: readonly string[]) => [
    `${config}: ${name} is not a constexpr of this kernel`,
    `${formatRemedy(name, names, options)}`,
  ],
  heuristic: (config: string, name: string) => [`${config}: ${name} is computed by a heuristic`, LEAVE_OUT],
  dtype: (config: string, name: string) => [`${config}: ${name} is a dtype, which the caller gives`, LEAVE_OUT],
  launch: (config: string, name: string) => [`${config}: ${name} is computed at launch`, LEAVE_OUT],
  dim: (config: string, name: string) => [`${config}: ${name} is bound from a shape`, LEAVE_OUT],
});

export const configRepeated = defineCode("config-repeated", (config: string, firstIndex: number) => [
  `${config}: it repeats config ${firstIndex}`,
  `leave one out`,
]);

export const configSources = defineCode("config-sources", {
  conflict: (kernel: string) => [`${kernel}: config and autotune both give configs`, `leave one out`],
  none: (kernel: string) => [`${kernel}: autotune has no configs`, `list at least one`],
});

export const tuningSpace = defineCode("tuning-space", {
  unknown: (kernel: string, name: string, names: readonly string[]) => [
    `${kernel}: the space names ${name}`,
    `configs choose ${names.join(", ")}`,
  ],
  empty: (kernel: string, name: string) => [
    `${kernel}: the space has no values for ${name}`,
    `list them, as in [32, 64]`,
  ],
});

export const configsInSource = defineCode(
  "configs-in-source",
  (kernel: string) => `${kernel}: write autotune.configs as a list in the kernel's spec`,
);

export const autotuneKey = defineCode("autotune-key", {
  unknown: (kernel: string, name: string, names: readonly string[]) => [
    `${kernel}: the autotune key ${name} is not a size, scalar or constexpr`,
    `it may be ${names.join(", ")}`,
  ],
  config: (kernel: string, name: string) => [
    `${kernel}: the autotune key names ${name}, which the configs choose`,
    `leave it out`,
  ],
  requires: (kernel: string, name: string, config: string) => [
    `${kernel}: requires names ${name} beside ${config}`,
    `add "${name}" to the autotune key, else a config tuned for another ${name} is launched`,
  ],
});

const REPEATED_RUNS = "autotuning runs the kernel several times";

const CANNOT_RESTORE = "and Triton cannot put back";

const restore = (name: string): string => `add restoreValue: ["${name}"]`;

const TRIAL_LEFTOVER = "so each run sees the result of the previous one";

export const autotuneReset = defineCode("autotune-reset", {
  unknown: (kernel: string, list: string, name: string) =>
    `${kernel}: ${list} names ${name}, which is not a tensor of this kernel`,
  filled: (kernel: string, name: string) => [
    `${kernel}: resetToZero names ${name}, which the caller fills, so the first call, which tunes, would lose its values`,
    `write restoreValue: ["${name}"]`,
  ],
  both: (kernel: string, name: string) => [
    `${kernel}: resetToZero and restoreValue both name ${name}`,
    `leave it out of resetToZero if the caller fills it, else out of restoreValue`,
  ],
  descriptor: (kernel: string, name: string, role: string) => [
    `${kernel}: ${REPEATED_RUNS}, ${CANNOT_RESTORE} ${name}, which is a descriptor`,
    `declare it tensor.${role}(…) and make the descriptor in the kernel, tl.makeTensorDescriptor(${name}, …)`,
  ],
  optional: (kernel: string, name: string) => [
    `${kernel}: ${REPEATED_RUNS}, ${CANNOT_RESTORE} ${name}, which may be left out`,
    `let it be required, or choose one config`,
  ],
  inPlace: (kernel: string, name: string) => [
    `${kernel}: ${REPEATED_RUNS} and ${name} is updated in place`,
    restore(name),
  ],
  accumulates: (kernel: string, name: string, access: string) => [
    `${kernel}: ${REPEATED_RUNS} and ${name} is ${access}, ${TRIAL_LEFTOVER}`,
    `declare it tensor.out(…, { zeroed: true }), or add resetToZero: ["${name}"]`,
  ],
  pointer: (kernel: string, name: string, access: string) => [
    `${kernel}: ${REPEATED_RUNS} and what the raw pointer ${name} leads to is ${access}, ${TRIAL_LEFTOVER}`,
    restore(name),
  ],
});

/** `, such as 32 or 64`. */
function nearestPowers(size: number): string {
  if (!(size > 1 && Number.isInteger(size))) return "";
  const lowerPower = 2 ** Math.floor(Math.log2(size));
  return `, such as ${lowerPower} or ${lowerPower * 2}`;
}

export const tileSize = defineCode("tile-size", {
  dimension: (dim: string | number, size: number, context: string) => [
    `${dim} is ${size}${context}`,
    `a tile's dimension is a power of two${nearestPowers(size)}`,
  ],
  descriptor: (dim: string | number, size: number, context: string, bits: number, minimum: number) => [
    `the last block dimension ${dim} of a descriptor is ${size}${context}`,
    `${bits}-bit elements need at least ${minimum}`,
  ],
  elements: (shape: string, count: number, context: string, limit: number) => [
    `the tile ${shape} has ${count} elements${context}`,
    `Triton allows ${limit}, loop over smaller tiles`,
  ],
  /** The message of an op's rule once the sizes are known; `context` precedes its remedy. */
  rule: ({ problem, remedy }: MessageParts, context: string) => [`${problem}${context}`, remedy],
  minimum: ({ problem, remedy }: MessageParts) => [problem, remedy],
});

export const dotSize = defineCode("dot-size", ({ problem, remedy }: MessageParts) => [problem, remedy]);
