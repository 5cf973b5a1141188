/** Records the author's torch expressions: a kernel's reference and its custom inputs. */
import { fail, type Location } from "../diagnostics/diagnostic.js";
import { referenceResult, specInputs } from "../diagnostics/catalog/reference-codes.js";
import { type Author, type RecorderArguments, record } from "../torch/record-author.js";
import type { Reference, TorchNode } from "../torch/node.js";
import { isRecord, nodeOf, tensorProxy } from "../torch/proxy.js";

/** Python source for a reference that the recorder cannot express: the body of `reference_fn`. */
export function python(
  strings: TemplateStringsArray,
  ...values: readonly (string | number)[]
): { readonly source: string } {
  return { source: String.raw({ raw: strings.raw }, ...values) };
}

/** Records a reference by calling the author's function with proxies. */
export function recordReference(
  author: Author | { readonly source: string },
  recorderArguments: RecorderArguments,
  outputs: readonly string[],
  location: Location | undefined,
): Reference {
  if (typeof author !== "function") return { kind: "python", source: dedent(author.source) };
  const { result } = record(author, recorderArguments, location);
  const unknownOutput =
    isRecord(result) && !Array.isArray(result)
      ? Object.keys(result).find((name) => !outputs.includes(name))
      : undefined;
  if (unknownOutput !== undefined) fail(referenceResult.unknown(unknownOutput, outputs), location);
  const results = resultsOf(result, outputs, location);
  if (results.length !== outputs.length)
    fail(
      referenceResult.count(formatCount(results.length, "result"), formatCount(outputs.length, "output"), outputs),
      location,
    );
  return { kind: "recorded", outputs: outputs.map((name, i) => outputNode(results[i], name, location)) };
}

/** The author's result for each output. */
function resultsOf(result: unknown, outputs: readonly string[], location: Location | undefined): readonly unknown[] {
  if (Array.isArray(result)) return result;
  if (isRecord(result)) return outputs.map((name) => result[name]);
  const node = nodeOf(result);
  if (!node || outputs.length < 2) return [result];
  return outputs.map((_, index) => tensorProxy({ kind: "item", of: node, index }, location));
}

/**
 * Records the custom inputs, by name.
 *
 * @throws TileScriptError if one is not a tensor that the kernel reads.
 */
export function recordInputs(
  author: Author,
  recorderArguments: RecorderArguments,
  names: readonly string[],
  location: Location | undefined,
): Readonly<Record<string, TorchNode>> {
  const { result } = record(author, recorderArguments, location);
  if (!isRecord(result)) fail(specInputs.byName(), location);
  const inputs = Object.entries(result).map(([name, item]) => {
    if (!names.includes(name)) fail(specInputs.unknown(name, names), location);
    const node = nodeOf(item);
    return [name, node ?? fail(specInputs.notTorch(name), location)] as const;
  });
  return Object.fromEntries(inputs);
}

function formatCount(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function outputNode(item: unknown, name: string, location: Location | undefined): TorchNode {
  const node = nodeOf(item);
  if (node === undefined) fail(referenceResult.notTorch(name), location);
  return node;
}

/** Removes the template's indentation in the author's file. */
function dedent(source: string): string {
  const lines = source.replace(/^\n/, "").trimEnd().split("\n");
  const indents = lines.filter((line) => line.trim() !== "").map((line) => line.search(/[^ ]/));
  const indent = Math.min(...indents, Infinity);
  return lines.map((line) => line.slice(Number.isFinite(indent) ? indent : 0)).join("\n");
}
