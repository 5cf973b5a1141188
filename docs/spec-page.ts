/** docs/spec.md, made from the types of params and specs, the comments above their members, and examples. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { excerptOf, type Parts } from "../src/diagnostics/explanations/explanation.js";
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
  readonly example: Parts;
}

const entry = ({ name, text, example }: Entry): string =>
  `### \`${name}\`\n\n${text}\n\n\`\`\`ts\n${excerptOf(example)}\n\`\`\``;

function entries(examples: Readonly<Record<string, Parts>>, textOf: (name: string) => string | undefined): string {
  return Object.entries(examples)
    .map(([name, example]) => {
      const text = textOf(name);
      if (!text) throw new Error(`${name} has no comment; write one above its declaration`);
      return entry({ name, text, example });
    })
    .join("\n\n");
}

/** The text of docs/spec.md, before it is formatted. */
export function specPage(): string {
  const types = read("src/params/param-types.ts");
  const spec = read("src/params/spec.ts");
  const [tensor, tensorOf, constexpr, launch] = [
    "TensorBuilder",
    "TensorParam",
    "ConstexprBuilder",
    "LaunchBuilder",
  ].map((name) => commentsOf(types, name)) as [
    ReadonlyMap<string, string>,
    ReadonlyMap<string, string>,
    ReadonlyMap<string, string>,
    ReadonlyMap<string, string>,
  ];
  const alone = (name: string): string =>
    plain(new RegExp(`(/\\*\\*(?:(?!\\*/)[^])*\\*/)\\nexport (?:type|interface) ${name}\\b`).exec(types)![1]!);
  const builderText: Readonly<Record<string, string | undefined>> = {
    tensor: tensor.get("()"),
    "tensor.out": tensor.get("out"),
    "tensor.inout": tensor.get("inout"),
    "tensor(…).optional()": tensorOf.get("optional"),
    descriptor: alone("DescriptorBuilder"),
    pointer: alone("PointerBuilder"),
    scalar: alone("ScalarBuilder"),
    constexpr: constexpr.get("()"),
    "constexpr.launch": constexpr.get("launch"),
    "constexpr.launch.bool": launch.get("bool"),
  };
  const options = new Map(
    ["TensorOptions", "OutTensorOptions", "InTensorOptions"].flatMap((name) => [...commentsOf(types, name)]),
  );
  return [
    "# The spec of a kernel",
    "`kernel(name, spec, body)`: the spec says what the kernel takes and how it is launched. This page is made from the types, with `npm run docs`. Each example shows parts of a kernel that copies `x` to `y`; a test builds all of them.",
    "## Params",
    "What the kernel takes, by name. The body gets each under its name, and each size that a dim names: `({ x, y, N, BLOCK }) => …`.",
    entries(builders, (name) => builderText[name] ?? constexpr.get(name.replace("constexpr.", ""))),
    "## Options of tensors",
    entries(tensorOptions, (name) => options.get(name)),
    "## Parts of the spec",
    entries(specParts, (name) => commentsOf(spec, "Spec").get(name)),
    "### In `autotune`",
    [...commentsOf(spec, "Autotune")].map(([name, text]) => `- \`${name}\`: ${text}`).join("\n"),
    "### In `launch`",
    [...commentsOf(spec, "DriverOptions")].map(([name, text]) => `- \`${name}\`: ${text}`).join("\n"),
    "## Launch options of a config",
    entries(launchOptions, (name) => commentsOf(spec, "LaunchOptions").get(name)),
  ].join("\n\n");
}
