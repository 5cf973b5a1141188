/** The methods of a compiled kernel that emit Python. */
import type { EmittedModule, Part } from "../codegen/module/module.js";
import { runtimeModule } from "../codegen/module/preamble.js";
import { sourceMap } from "../codegen/syntax/layout.js";
import type { CompiledKernel, EmitOptions, Emitted, TestCase, NamedTile } from "../compiled/compiled-kernel.js";
import { noLaunchCache } from "../diagnostics/catalog/definition-codes.js";
import { type Diagnostic, type Location, warning } from "../diagnostics/diagnostic.js";
import { cacheKey } from "../compiled/canonical-json.js";
import type { KernelIR } from "../ir/nodes.js";
import type { SourceIndex } from "../ir/source-index.js";
import { walk } from "../ir/walk.js";
import { showType, type Type } from "../types/types.js";

/** `emitPart` emits a module of `file`, and `warningsOf` are those about options. */
export function emitters(
  kernel: { readonly name: string; readonly at: Location | undefined },
  file: string,
  emitPart: (options?: EmitOptions, part?: Part) => EmittedModule,
  warningsOf: (options?: EmitOptions) => readonly Diagnostic[],
): Pick<CompiledKernel, "emit" | "emitForPackage" | "runtimeModule"> {
  const emitted = ({ text, lines, cacheObstacle }: EmittedModule, options?: EmitOptions): Emitted => {
    const warnings = [...warningsOf(options)];
    if (cacheObstacle !== undefined) warnings.push(warning(noLaunchCache(kernel.name, cacheObstacle), kernel.at));
    return { python: text, map: sourceMap(file, lines), ...(warnings.length > 0 && { warnings }) };
  };
  return {
    emit: (options) => emitted(emitPart(options), options),
    emitForPackage(module, options) {
      const printed = emitPart({ ...options, bare: true }, { runtime: "._runtime" });
      const tests = emitPart(options, { testsOf: module });
      return { ...emitted(printed, options), runtimeNames: printed.runtimeNames, tests: tests.text };
    },
    runtimeModule,
  };
}

// Plans of cases ask for the cost and the validity of the same launches many times.

/** Property tests draw any number of launches. */
const MAX_ENTRIES = 2_000;

/** Caches a function of everything in a test case but the values of its tensors. */
export function byLaunch<Result>(compute: (testCase: TestCase) => Result): (testCase: TestCase) => Result {
  const results = new Map<string, { readonly result: Result }>();
  return (testCase) => {
    const { seed: _seed, special: _special, ...launch } = testCase;
    const key = cacheKey(launch);
    const known = results.get(key);
    if (known) return known.result;
    const result = compute(testCase);
    if (results.size >= MAX_ENTRIES) results.clear();
    results.set(key, { result });
    return result;
  };
}

// The author's variables that hold tiles, for the hints of an editor.

export function namedTiles({ body, functions }: KernelIR, source: SourceIndex | undefined): readonly NamedTile[] {
  const tiles: NamedTile[] = [];
  const add = (name: string | undefined, statement: NamedTile["statement"], type: Type): void => {
    if (name !== undefined && type.kind === "tile" && type.shape.length > 0)
      tiles.push({ name, statement, type: showType(type) });
  };
  for (const block of [body, ...functions.map((helper) => helper.body)])
    walk(block, (statement) => {
      const site = statement.location && source?.site(statement.location);
      if (!site) return;
      if (statement.kind === "let") add(site.name, site.statement, statement.variable.type);
      if (statement.kind === "op")
        statement.results.forEach(({ type, isAnonymous }, i) => {
          if (!isAnonymous) add(site.names ? site.names[i] : site.name, site.statement, type);
        });
    });
  return tiles;
}
