/** Mistakes in a kernel's `params`. */
import {
  type MessageParts,
  formatList,
  suggestName,
  duplicatePackageHint,
  defineCode,
  type Parts,
} from "../message.js";
/** The sentence is that of `whyParam`, beside its type. */
export const paramKind = defineCode("param-kind", (kernel: string, { problem, remedy }: MessageParts) => [
  `${kernel}: ${problem}`,
  remedy,
]);

const EVERY_OBJECT = "every JavaScript object has a";

export const paramName = defineCode("param-name", {
  notAName: (kernel: string, param: string) => [
    `${kernel}: ${JSON.stringify(param)} cannot be the name of a param`,
    `use letters, digits and _`,
  ],
  inherited: (kernel: string, param: string) => [`${kernel}: ${EVERY_OBJECT} ${param} of its own`, `rename the param`],
  taken: (kernel: string, dim: string, kind: string) =>
    kind === "scalar"
      ? [
          `${kernel}: ${dim} is a scalar and a size of a tensor`,
          `rename the scalar, and where no input has the size compute it, dims: { ${dim}: ({ count }) => count }`,
        ]
      : [`${kernel}: ${dim} is a ${kind} and a size of a tensor`, `rename one`],
});

export const paramDType = defineCode("param-dtype", {
  missing: (builder: string, example = "tl.float16") =>
    `${builder}: the first argument is a dtype, such as ${example}${duplicatePackageHint()}`,
  text: (builder: string, dtype: string) => [`${builder}: a dtype is not text`, `write ${dtype}`],
  variableOfScalar: () => ["scalar: a dtype variable has no meaning for a number", "name one dtype"],
  choices: () => "constexpr.dtype: give a list of dtypes, or a variable that tl.dtype(…) made",
});

const NO_SIZE = "which is not a size of a tensor";

export const paramDims = defineCode("param-dims", {
  blocks: () => 'descriptor: give its dims and as many block dims, ["M", "K"], ["BLOCK_M", "BLOCK_K"]',
  tooMany: (count: number) => `descriptor: has 1 to 5 axes, not ${count}`,
  numel: (kernel: string, param: string, size: string, sizes: readonly string[]) => [
    `${kernel}: ${param} has ${size} elements, ${NO_SIZE}`,
    `those are ${sizes.join(", ")}`,
  ],
});

export const descriptorPadding = defineCode("descriptor-padding", ({ problem, remedy }: MessageParts) => [
  problem,
  remedy,
]);

export const descriptorBlock = defineCode("descriptor-block", {
  notConstexpr: (kernel: string, param: string, dim: string | number) =>
    `${kernel}: the block of ${param} names ${dim}, which is not a constexpr() of params`,
  heuristic: (kernel: string, param: string, dim: string | number) =>
    `${kernel}: the block of ${param} names ${dim}, which is computed once the config is chosen`,
});

export const allOptional = defineCode("all-optional", (kernel: string) => [
  `${kernel}: every tensor may be left out, so a call may do nothing`,
  `let one be required`,
]);

export const optionalDim = defineCode("optional-dim", (kernel: string, dim: string | number, tensor: string) => [
  `${kernel}: ${dim} is a constexpr and a dim of ${tensor}, which may be left out`,
  `let a required tensor have it, or make it a size, which is 0 then`,
]);

export const rangeBound = defineCode("range-bound", {
  size: (kernel: string, tensor: string, bound: string, sizes: readonly string[]) => [
    `${kernel}: the range of ${tensor} names ${bound}, ${NO_SIZE}`,
    `those are ${sizes.join(", ")}`,
  ],
  later: (kernel: string, tensor: string, bound: string) => [
    `${kernel}: the range of ${tensor} names ${bound}, which is decided at the launch`,
    `its inputs exist before, so name sizes and arguments`,
  ],
});

export const paramRange = defineCode("param-range", {
  form: (builder: string) =>
    `${builder}: a range is its lowest value and its end, as in { range: [0, "N"] }, or a function of the sizes that gives both`,
  empty: (builder: string, low: number, end: number) => [
    `${builder}: nothing lies in the range from ${low} to ${end}`,
    `write the lowest value first`,
  ],
  fraction: (builder: string) => `${builder}: the bounds of an integer's range are integers`,
  notInteger: (builder: string, dtype: string) => [
    `${builder}: the range of a ${dtype} is not checked at a call, only that of an integer`,
    `state it in requires`,
  ],
  config: (kernel: string, param: string, value: number, low: number, end: number) => [
    `${kernel}: a config sets ${param} to ${value}`,
    `its range is ${low} up to but not including ${end}`,
  ],
});

export const paramPartition = defineCode("param-partition", {
  form: (value: string) =>
    `tensor: a partition is the size that offsets divide, { partition: "N" }, or { partition: { ends: "N" } } of the ends of rows, got ${value}`,
  dtype: (size: string) => [`tensor: a partition of ${size} holds offsets of rows`, `declare it tl.int32 or tl.int64`],
  rank: (size: string, rank: number) => `tensor: a partition of ${size} has one axis, this has ${rank}`,
  range: (size: string) => [`tensor: a partition of ${size} has the range from 0 to ${size}`, `leave range out`],
  unknown: (kernel: string, tensor: string, size: string, sizes: readonly string[]) => [
    `${kernel}: ${tensor} is a partition of ${size}, ${NO_SIZE}`,
    `those are ${sizes.join(", ")}; of another total declare a range, and draw the rows with inputs`,
  ],
});

function formatRemedy(option: string, names: readonly string[]): string {
  const suggestion = suggestName(option, names);
  return suggestion === undefined ? `it takes ${names.join(", ")}` : `write ${suggestion}`;
}

function unknownOption(builder: string, option: string, names: readonly string[]): Parts {
  if (option === "optional") return [`${builder}: there is no option optional`, `write .optional() behind it`];
  if (names.length === 0)
    return [`${builder}: it takes no options, got ${option}`, `constexpr.int(…) and the others take some`];
  return [`${builder}: there is no option ${option}`, formatRemedy(option, names)];
}

function notOptional(builder: string): Parts {
  if (builder === "scalar" || /^constexpr\.(?!launch)/.test(builder))
    return [`${builder}: a number or a choice has no .optional()`, `give it a default, which callers may leave out`];
  if (builder === "descriptor")
    return [
      "descriptor: it has no .optional()",
      "declare tensor(…).optional(), and make the descriptor in the kernel with tl.makeTensorDescriptor",
    ];
  return [`${builder}: it has no .optional(), because no caller passes it`, `leave .optional() out`];
}

export const VALUE_IN_CONFIG = "write constexpr(), and the value in config: { BLOCK: 64 }";

export const paramOption = defineCode("param-option", {
  notOptions: (builder: string, value: unknown) =>
    builder === "constexpr"
      ? [`constexpr: takes nothing, got ${JSON.stringify(value)}`, VALUE_IN_CONFIG]
      : `${builder}: the options are an object, such as { default: 1 }, got ${JSON.stringify(value)}`,
  unknown: unknownOption,
  extraArgument: (builder: string, limit: number, extra: string) => [
    `${builder}: it takes at most ${limit} argument${limit === 1 ? "" : "s"}, and ${extra} is one more`,
    `leave it out`,
  ],
  duplicate: () => ["optional: this is optional already", "write .optional() once"],
  required: notOptional,
  value: (builder: string, option: string, value: string, expected: string) => [
    `${builder}: ${option} is ${value}`,
    `give ${expected}`,
  ],
});

export const paramChoices = defineCode("param-choices", {
  strings: (builder: string) => `${builder}: the first argument lists the strings that are allowed, each once`,
  functions: () => "constexpr.fn: give the functions by name, constexpr.fn({ relu, gelu })",
  launch: () => "constexpr.launch: give a function of the sizes, ({ N }) => tl.nextPowerOf2(N)",
});

export const paramDefault = defineCode("param-default", {
  choice: (builder: string, value: string, choices: string) =>
    `${builder}: the default ${value} is not one of ${choices}`,
  /** `expected` is a noun phrase, such as "an integer". */
  kind: (builder: string, value: string, expected: string) => [
    `${builder}: the default is ${value}`,
    `give ${expected}`,
  ],
  negativeZero: (builder: string) => [
    `${builder}: the default is -0, which Triton takes for 0`,
    `give 0, or declare a scalar(tl.float32)`,
  ],
  range: (builder: string, value: string, low: string, end: string) => [
    `${builder}: the default ${value} is outside its range`,
    `give one from ${low} up to but not including ${end}`,
  ],
});

export const dtypeName = defineCode("dtype-name", {
  notAName: (name: unknown) => [`dtype: ${JSON.stringify(name)} is not a name`, `write one such as "T"`],
  inherited: (name: string) => [`dtype: ${EVERY_OBJECT} ${name} of its own`, `rename the variable`],
});

export const dtypeMembers = defineCode("dtype-members", {
  none: (name: string) => [`dtype: ${name} has no members`, `name at least one dtype`],
  duplicate: (name: string) => [`dtype: ${name} names a member twice`, `name each once`],
  notDTypes: () => ["dtype: the second argument lists dtypes", 'write tl.dtype("T", [tl.float16, tl.float32])'],
  variable: (member: string) => [`dtype: ${member} is itself a variable`, `name its members`],
  differing: (name: string, reason: string) => `${name}: ${reason}`,
  notOne: (name: string) => [`is: ${name} is compared with one dtype`, `write ${name}.is(tl.int8)`],
  notAmong: (name: string, member: string | undefined, members: readonly string[]) =>
    member === undefined
      ? `only: name at least one of ${formatList(members, "and")}`
      : `only: ${member} is none of ${formatList(members, "and")}, which ${name} may be`,
});

export const dtypeVariable = defineCode("dtype-variable", {
  duplicate: (kernel: string, variable: string, firstMembers: string, otherMembers: string) => [
    `${kernel}: two dtype variables are called ${variable}, of ${firstMembers} and of ${otherMembers}`,
    `rename one`,
  ],
  unknown: (kernel: string, variable: string, param: string) => [
    `${kernel}: no argument gives the dtype ${variable} of ${param}`,
    `add a param constexpr.dtype(${variable})`,
  ],
});
