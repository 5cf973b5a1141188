/** Records the torch expressions that an author writes: a kernel's reference, and inputs of its own. */
import { fail, type Location } from "../diagnostics/diagnostic.js";
import { referenceResult, specInputs } from "../diagnostics/catalog/reference-codes.js";
import { type Author, type RecorderArguments, record } from "../torch/record-author.js";
import type { Reference, TorchNode } from "../torch/node.js";
import { isRecord, nodeOf, tensorProxy } from "../torch/proxy.js";

/** Python source for a reference that the recorder cannot express: the body of `reference_fn`. */
export function python(
  parts: TemplateStringsArray,
  ...values: readonly (string | number)[]
): { readonly source: string } {
  return { source: String.raw({ raw: parts.raw }, ...values) };
}

/** Calls the author's function with proxies that record each use. */
export function recordReference(
  author: Author | { readonly source: string } | undefined,
  given: RecorderArguments,
  outputs: readonly string[],
  at: Location | undefined,
): Reference | undefined {
  if (author === undefined) return undefined;
  if (typeof author !== "function") return { kind: "python", source: dedent(author.source) };
  const { result } = record(author, given, at);
  const node = nodeOf(result);
  const strange =
    isRecord(result) && !Array.isArray(result)
      ? Object.keys(result).find((name) => !outputs.includes(name))
      : undefined;
  if (strange !== undefined) fail(referenceResult.unknown(strange, outputs), at);
  const list = Array.isArray(result)
    ? result
    : isRecord(result)
      ? outputs.map((name) => result[name])
      : node && outputs.length > 1
        ? outputs.map((_, index) => tensorProxy({ kind: "item", of: node, index }, at))
        : [result];
  if (list.length !== outputs.length)
    fail(referenceResult.count(counted(list.length, "result"), counted(outputs.length, "output"), outputs), at);
  const nodes = list.map((item, i) => outputNode(item, outputs[i]!, at));
  return { kind: "recorded", outputs: nodes };
}

/**
 * The inputs that the author describes, by name.
 *
 * @throws TileScriptError if one is not a tensor that the kernel reads.
 */
export function recordInputs(
  author: Author,
  given: RecorderArguments,
  names: readonly string[],
  at: Location | undefined,
): Readonly<Record<string, TorchNode>> {
  const { result } = record(author, given, at);
  if (!isRecord(result)) fail(specInputs.byName(), at);
  const drawn = Object.entries(result).map(([name, item]) => {
    if (!names.includes(name)) fail(specInputs.unknown(name, names), at);
    const node = nodeOf(item);
    return [name, node ?? fail(specInputs.notTorch(name), at)] as const;
  });
  return Object.fromEntries(drawn);
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

function outputNode(item: unknown, name: string, at: Location | undefined): TorchNode {
  const node = nodeOf(item);
  if (node === undefined) fail(referenceResult.notTorch(name), at);
  return node;
}

/** Removes the template's indentation in the author's file. */
function dedent(source: string): string {
  const lines = source.replace(/^\n/, "").trimEnd().split("\n");
  const indents = lines.filter((line) => line.trim() !== "").map((line) => /^ */.exec(line)![0].length);
  const indent = Math.min(...indents, Infinity);
  return lines.map((line) => line.slice(Number.isFinite(indent) ? indent : 0)).join("\n");
}
