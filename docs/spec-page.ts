/** docs/spec.md, made from the types of params and specs, the comments above their members, and examples. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { exampleExcerpt, type KernelFileParts } from "../src/diagnostics/explanations/explanation.js";
import { builders, launchOptions, specParts, tensorOptions } from "./spec-examples.js";

const read = (path: string): string => readFileSync(resolve(import.meta.dirname, "..", path), "utf8");

/** The comment above each member of an interface, on one line. */
function commentsOf(text: string, name: string): ReadonlyMap<string, string> {
  const body = new RegExp(`^export interface ${name}\\b[^{]*\\{\\n([^]*?)\\n\\}`, "m").exec(text)?.[1];
  if (body === undefined) throw new Error(`there is no interface ${name}`);
  const members = body.matchAll(/(\/\*\*(?:(?!\*\/)[^])*\*\/)\n {2}(?:readonly )?(\w*)\??[(:<]/g);
  return new Map(Array.from(members, ([, comment, member]) => [member || "()", plain(comment!)]));
}

const plain = (comment: string): string =>
  comment
    .replace(/^\/\*\*|\*\/$/g, "")
    .split("\n")
    .map((line) => line.replace(/^\s*\* ?/, "").trim())
    .join(" ")
    .trim();

interface Entry {
  readonly name: string;
  readonly text: string;
  /** Absent for a member of another part. */
  readonly example?: KernelFileParts;
}

export interface SpecGroup {
  readonly title: string;
  readonly entries: readonly Entry[];
}

function entriesOf(
  examples: Readonly<Record<string, KernelFileParts>>,
  textOf: (name: string) => string | undefined,
): readonly Entry[] {
  return Object.entries(examples).map(([name, example]) => {
    const text = textOf(name);
    if (!text) throw new Error(`${name} has no comment; write one above its declaration`);
    return { name, text, example };
  });
}

/** The descriptions of the param builders. */
function builderTexts(types: string): (name: string) => string | undefined {
  const member = (builder: string, name: string): string | undefined => commentsOf(types, builder).get(name);
  const commentOfType = (name: string): string =>
    plain(new RegExp(`(/\\*\\*(?:(?!\\*/)[^])*\\*/)\\nexport (?:type|interface) ${name}\\b`).exec(types)![1]!);
  const texts: Readonly<Record<string, string | undefined>> = {
    tensor: member("TensorBuilder", "()"),
    "tensor.out": member("TensorBuilder", "out"),
    "tensor.inout": member("TensorBuilder", "inout"),
    "tensor(…).optional()": member("TensorParam", "optional"),
    descriptor: commentOfType("DescriptorBuilder"),
    pointer: commentOfType("PointerBuilder"),
    scalar: commentOfType("ScalarBuilder"),
    constexpr: member("ConstexprBuilder", "()"),
    "constexpr.launch": member("ConstexprBuilder", "launch"),
    "constexpr.launch.bool": member("LaunchBuilder", "bool"),
  };
  return (name) => texts[name] ?? member("ConstexprBuilder", name.replace("constexpr.", ""));
}

/** All parts of a spec, in the order of the page. */
export function specGroups(): readonly SpecGroup[] {
  const types = read("src/params/param-types.ts");
  const spec = read("src/params/spec.ts");
  const options = new Map(
    ["TensorOptions", "OutTensorOptions", "InTensorOptions"].flatMap((name) => [...commentsOf(types, name)]),
  );
  const membersOf = (name: string): readonly Entry[] =>
    Array.from(commentsOf(spec, name), ([member, text]) => ({ name: member, text }));
  return [
    { title: "Params", entries: entriesOf(builders, builderTexts(types)) },
    { title: "Options of tensors", entries: entriesOf(tensorOptions, (name) => options.get(name)) },
    { title: "Fields of the spec", entries: entriesOf(specParts, (name) => commentsOf(spec, "Spec").get(name)) },
    { title: "Fields of `autotune`", entries: membersOf("Autotune") },
    { title: "Fields of `launch`", entries: membersOf("DriverOptions") },
    {
      title: "Launch options of a config",
      entries: entriesOf(launchOptions, (name) => commentsOf(spec, "LaunchOptions").get(name)),
    },
  ];
}

const INTRODUCTIONS: Readonly<Record<string, string>> = {
  Params:
    "`params` declares the arguments of the kernel by name. The body receives them under these names, and also the sizes that the dims of tensors name: `({ x, y, N, BLOCK }) => …`.",
};

/** A group whose entries have examples is a chapter; the others belong to the chapter before. */
function chapter({ title, entries }: SpecGroup): string {
  const introduction = INTRODUCTIONS[title];
  const entryTexts = entries.map(({ name, text, example }) =>
    example ? `### \`${name}\`\n\n${text}\n\n\`\`\`ts\n${exampleExcerpt(example)}\n\`\`\`` : `- \`${name}\`: ${text}`,
  );
  if (entries.every(({ example }) => !example)) return [`### ${title}`, entryTexts.join("\n")].join("\n\n");
  return [`## ${title}`, ...(introduction ? [introduction] : []), ...entryTexts].join("\n\n");
}

/** The text of docs/spec.md, before it is formatted. */
export function specPage(): string {
  return [
    "# The spec of a kernel",
    "In `kernel(name, spec, body)`, the spec declares the arguments of a kernel, its launch, its configs and its tests. From it, TileScript emits the _wrapper_: a Python function that checks the arguments, allocates the outputs and launches the kernel. The fields `params` and `grid` are required. A kernel with block sizes also needs `config` or `autotune`. All other fields are optional. [First kernel](first-kernel.md) shows a whole spec.",
    "Each example shows parts of a kernel that copies `x` to `y`: fields of the spec, and then statements of the body. The examples omit the definition of `i`, the indices of the program's block: `const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK))`.",
    ...specGroups().map(chapter),
  ].join("\n\n");
}
