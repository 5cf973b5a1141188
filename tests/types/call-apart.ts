/**
 * Where the editor and the build may speak in different words, or only one of them speaks. Each entry has its reason;
 * everything else must be the same, word for word.
 */
import type { Built } from "./call-verdicts.js";

interface Apart {
  readonly reason: string;
  /** Whether the entry covers this: what the build says, and what the editor says. */
  covers(built: Built, editor: string): boolean;
}

const codes = (editor: string) => [...editor.matchAll(/\bTS(\d+):/g)].map(([, code]) => Number(code));
const isOneOf = (editor: string, ...wanted: readonly number[]) => codes(editor).some((code) => wanted.includes(code));
/** Whether the editor's error is a sentence of a rule: `'"sum: the axis is a number"'`. */
const isSentence = (editor: string) => /type '"[\w.]+: [^']*"'/.test(editor);
/** Options given where an optional operand stands. */
const optionsEarly = /^\w+\.(sum|max|min|xorSum|cumsum|cumprod|sort|bitonicMerge|topk|flip|dotScaled)\(.*\{ /;

/** A function of tiles, called with an address. */
const onAddress = /^tl\.(add|sub|trans|permute|expandDims|broadcastTo)\([pv]_/;

/** Both refuse; the editor in TypeScript's own words, or at another place. */
export const standIns: readonly Apart[] = [
  {
    reason: "TypeScript counts arguments itself",
    covers: (_, editor) => isOneOf(editor, 2554, 2555, 2559),
  },
  {
    reason: "TypeScript knows the names of options",
    covers: ({ code }, editor) => isOneOf(editor, 2353) || code === "unknown-option",
  },
  {
    reason: "TypeScript knows which methods a value has",
    covers: (_, editor) => isOneOf(editor, 2339, 2551),
  },
  {
    reason: "a parameter whose type is a plain TypeScript type, such as a number or a word: TypeScript says which",
    covers: (_, editor) => isOneOf(editor, 2322, 2345, 2375, 2379, 2739, 2740, 2741, 2769) && !isSentence(editor),
  },
  {
    reason:
      "what JavaScript passes besides values (nothing, null, an object, a function) is refused before rules are asked",
    covers: ({ code }, editor) => code === "arguments" && isSentence(editor),
  },
  {
    reason: "state is refused before rules are asked; the editor says what the rule wants there",
    covers: ({ sentence }, editor) =>
      sentence?.endsWith(": this is state; read it with .value") === true && isSentence(editor),
  },
  {
    reason: "the editor offers addresses their own methods, and the functions of tl for tiles",
    covers: ({ call }, editor) => onAddress.test(call) && isSentence(editor),
  },
  {
    reason: "the build adds what else may stand there: a list of tiles, or a number written in the function",
    covers: ({ sentence }) => /needs a tile, or a list of tiles$|its arguments are tiles; /.test(sentence ?? ""),
  },
  {
    reason: "a view has no shape and strides to ask for: the build names what a descriptor is made of",
    covers: ({ call }) => call.startsWith("tl.makeTensorDescriptor("),
  },
  {
    reason: "options in the place of an optional operand have no type here; write undefined before them",
    covers: ({ call }, editor) => optionsEarly.test(call) && isSentence(editor),
  },
  {
    reason: "with a format that does not exist, the editor speaks of the tile and each format that does",
    covers: ({ sentence }) => sentence?.startsWith("dotScaled: a format is one of") === true,
  },
  {
    reason: "text is of no kind to types and a constexpr of strings to the build",
    covers: ({ sentence }) => sentence?.endsWith("needs a number, not a string constexpr") === true,
  },
  {
    reason: "dimensions are asked in the editor once the shape fits",
    covers: ({ sentence }) => /^broadcastTo: .* is not a power of two/.test(sentence ?? ""),
  },
  {
    reason: "the editor compares operands two by two, the build asks each for its dtype first",
    covers: ({ call }) => call.startsWith("tl.swizzle2d("),
  },
];

/** The build accepts what the editor refuses. */
export const onlyTheEditor: readonly Apart[] = [
  {
    reason:
      "a parameter whose type is a plain TypeScript type; a cast that forces another value through is taken as it is",
    covers: (_, editor) => isOneOf(editor, 2322, 2345, 2554, 2559, 2739, 2740, 2741) && !isSentence(editor),
  },
  {
    reason:
      "the project's exactOptionalPropertyTypes refuses an option that is undefined; JavaScript passes one as left out",
    covers: ({ call }, editor) => isOneOf(editor, 2375, 2379) && call.includes(": undefined"),
  },
  {
    reason: "the editor offers addresses their own methods, and the functions of tl for tiles",
    covers: ({ call }, editor) => onAddress.test(call) && isSentence(editor),
  },
  {
    reason: "options in the place of an optional operand have no type here; write undefined before them",
    covers: ({ call }, editor) => optionsEarly.test(call) && isSentence(editor),
  },
];

/** The editor accepts what the build refuses. */
export const onlyTheBuild: readonly Apart[] = [
  {
    reason: "the length of a span that does not start at 0 is not computed by types",
    covers: ({ call }) => call.includes("tl.arange("),
  },
  {
    reason: "an option whose type is a type parameter takes anything in the editor",
    covers: ({ code }) => code === "arguments",
  },
  {
    reason: "the order of several axes is not typed",
    covers: ({ sentence }) => /^expandDims: .* must count up$/.test(sentence ?? ""),
  },
  {
    reason: "types do not divide K by the columns of a scale",
    covers: ({ sentence }) => sentence?.startsWith("dotScaled: a scale is of 16 or 32 elements along K") === true,
  },
  {
    reason: "types do not compare the widths of two floats",
    covers: ({ sentence }) => sentence === "to: fpDowncastRounding is for casts of floats to narrower floats",
  },
  {
    reason: "the type of what a helper function returns is inferred from it and is not checked",
    covers: ({ sentence }) => sentence === "mapElementwise: a number has no dtype; return tl.full([], x, dtype)",
  },
  {
    reason: "types do not read the placeholders in Python source",
    covers: ({ sentence }) => /^raw: \{\d+\} has no operand; /.test(sentence ?? ""),
  },
  {
    reason: "an option that is undefined counts as given in the editor",
    covers: ({ call, sentence }) =>
      call.includes("mask: undefined") && sentence?.endsWith("other needs a mask") === true,
  },
];

/** Results that the editor types more loosely. */
export const looser: readonly Apart[] = [
  {
    reason: "the length of a span that does not start at 0, and a product of dimensions, are some number to types",
    covers: ({ call }) => /tl\.(arange|ravel)\(|\.ravel\(/.test(call),
  },
  {
    reason: "a size on the host has no text in its type",
    covers: ({ call }) => /tl\.(nextPowerOf2|bitLength)\(/.test(call),
  },
];
