/** Whether a snippet means as a kernel what it means as JavaScript. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Script } from "node:vm";
import * as tilescript from "tilescript";
import { TileScriptError } from "tilescript";
import { signatureOf } from "../../../src/codegen/module/signature.js";
import type { Diagnostic } from "../../../src/diagnostics/diagnostic.js";
import { definitionOf } from "../../../src/dsl/definition.js";
import { evaluateCase } from "../../../src/eval/evaluate-case.js";
import { traceAndCheck } from "../../../src/pipeline/trace-and-check.js";
import { createSourceIndex } from "../../../src/source/call-site-index.js";
import { concrete, type ConcreteKernel, type Given, runConcretely } from "./concrete.js";
import type { Snippet } from "./snippets.js";

export type Outcome =
  /** JavaScript itself fails for every input, so there is nothing to compare. */
  | { readonly kind: "meaningless" }
  | { readonly kind: "refused"; readonly code: string }
  | { readonly kind: "same" }
  | { readonly kind: "changed"; readonly given: Given; readonly concrete: number; readonly kernel: number | undefined };

const INPUTS: readonly Given["x"][] = [
  [0, 0, 0],
  [1, 2, 3],
  [3, 3, 1],
  [-1, 0, 2],
  [2, -3, 2],
  [5, 4, 0],
];

/** The file's exports. `vm` keeps its name and its lines in stacks, as an import would. */
function evaluated(path: string, text: string, scope: object): Record<string, unknown> {
  const exports = Array.from(text.matchAll(/^export (?:const|function|class) (\w+)/gm), ([, name]) => name!);
  const names = Object.keys(scope);
  const body = text.replace(/^import .*$/gm, "").replace(/^export /gm, "");
  const code = `((${names.join()}) => {${body}\nreturn { ${exports.join()} };})`;
  const make = new Script(code, { filename: path }).runInThisContext() as (...given: unknown[]) => object;
  return make(...Object.values(scope)) as Record<string, unknown>;
}

/** Writes the snippet's files, which the source pass reads. */
function written(folder: string, { files }: Snippet): readonly (readonly [string, string])[] {
  mkdirSync(folder, { recursive: true });
  return Object.entries(files).map(([name, text]) => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return [path, text] as const;
  });
}

/** Helpers come before the kernel, which may import them. */
function moduleOf(files: readonly (readonly [string, string])[], scope: object): Record<string, unknown> {
  let names = scope;
  for (const [path, text] of files) names = { ...names, ...evaluated(path, text, names) };
  return names as Record<string, unknown>;
}

/** Without `withSource`, only what tracing finds is refused. */
export function outcomeOf(snippet: Snippet, folder: string, withSource: boolean): Outcome {
  const files = written(folder, snippet);
  const cases = INPUTS.map((x, i): Given => ({ x, constexprs: { C: 2, F: i % 2 === 0 } }));
  const make = () => moduleOf(files, concrete)["snippet"] as ConcreteKernel;
  const meant = cases.map((given) => runConcretely(make, given));
  if (meant.every((value) => value === undefined)) return { kind: "meaningless" };
  const scope = Object.fromEntries(Object.keys(concrete).map((name) => [name, Reflect.get(tilescript, name)]));
  const said: Diagnostic[] = [];
  try {
    const definition = definitionOf(moduleOf(files, scope)["snippet"]);
    const { ir, diagnostics: seen } = traceAndCheck(definition, withSource ? createSourceIndex() : undefined);
    // A warning about a value that nothing uses is no answer: the engine has said that JavaScript does not decide by it.
    said.push(
      ...seen.filter(({ code, severity }) => severity === "error" || !/^(?:no-source|unused-value)$/.test(code)),
    );
    if (said[0]) return { kind: "refused", code: said[0].code };
    for (const [i, given] of cases.entries()) {
      if (meant[i] === undefined) continue;
      const at = { sizes: {}, dtypes: {}, config: 0, seed: 1, constexprs: given.constexprs };
      const x = { dtype: "int32", shape: [3], data: Int32Array.from(given.x) } as const;
      const { outputs } = evaluateCase(ir, signatureOf(ir), at, undefined, { inputs: { x } });
      const value = Number(outputs["y"]?.data[0]);
      if (value !== meant[i]) return { kind: "changed", given, concrete: meant[i], kernel: value };
    }
    return { kind: "same" };
  } catch (error) {
    if (error instanceof TileScriptError) return { kind: "refused", code: error.diagnostics[0]!.code };
    // An error of JavaScript in the author's code stops a build as well.
    if (error instanceof Error) return { kind: "refused", code: error.name };
    throw error;
  }
}
