/** Builds, evaluates and proves the reader's kernel in a worker, so that an endless loop does not stop the page. */
import { originalPositionFor, TraceMap } from "@jridgewell/trace-mapping";
import { compile, TileScriptError } from "../../src/browser.js";
import type { CompiledKernel } from "../../src/compiled/compiled-kernel.js";
import type { Diagnostic } from "../../src/diagnostics/diagnostic.js";
import { KernelDefinition } from "../../src/dsl/definition.js";
import { OperatorDefinition } from "../../src/dsl/operator.js";
import type { SourceIndex } from "../../src/ir/source-index.js";
import {
  proofDiagnostics,
  proofSummary,
  computesLines,
  outputDiagnostics,
} from "../../src/runtime/report/proof-text.js";
import { indexTexts } from "../../src/source/indexed-files.js";
import { accessDrawing } from "../../src/visualize/access-picture.js";
import { programDrawing } from "../../src/visualize/program-map.js";
import { type Mark, markOf, type Reply, type Request } from "./protocol.js";
import { outputsText } from "./outputs.js";
import { shownCase } from "./shown-case.js";
import { BrokenText, type ImportedModules, importTexts } from "./texts.js";

const reply = (message: Reply): void => self.postMessage(message);

self.onmessage = async ({ data: request }: MessageEvent<Request>) => {
  let importedModules: ImportedModules | undefined;
  const nameOf = (text: string): string => importedModules?.nameOf(text) ?? text;
  const withReaderNames = ({ at: location, message, ...mark }: Mark): Mark => ({
    ...mark,
    message: nameOf(message),
    ...(location && { at: { ...location, file: nameOf(location.file) } }),
  });
  try {
    const start = performance.now();
    importedModules = await importTexts(new Map(request.files), request.files[0]![0]);
    const source = indexTexts(importedModules.texts);
    const kernels = kernelsOf(importedModules);
    const definition = kernels.get(request.kernel ?? "") ?? [...kernels.values()][0];
    if (!definition) throw new Error("this text exports no kernel; write `export const gemm = kernel(…)`");
    const compiledKernel = compile(definition, { source });
    reply({
      stage: "built",
      id: request.id,
      kernels: [...kernels.keys()],
      kernel: compiledKernel.signature.name,
      python: compiledKernel.python,
      lines: linesOf(compiledKernel, importedModules),
      ir: compiledKernel.ir,
      marks: compiledKernel.warnings.map((each) => withReaderNames(markOf(each))),
      sizes: compiledKernel.signature.sizes,
      dtypes: compiledKernel.signature.dtypes,
      milliseconds: performance.now() - start,
    });
    if (request.only === "build") return;
    evaluate(definition, compiledKernel, source, request, nameOf, withReaderNames);
    const proof = compiledKernel.proof();
    const marks = proofDiagnostics(proof).map((each) => withReaderNames(proofMark(each)));
    reply({ stage: "proved", id: request.id, summary: proofSummary(proof), marks });
    const outputs = compiledKernel.computes();
    const wrong = outputDiagnostics(outputs).map((each) => withReaderNames(proofMark(each)));
    const lines = computesLines(compiledKernel, outputs).map(nameOf);
    reply({ stage: "compared", id: request.id, lines, marks: [...marks, ...wrong] });
  } catch (error) {
    reply({ stage: "failed", id: request.id, marks: marksOf(error).map(withReaderNames) });
  }
};

const proofMark = (each: Diagnostic): Mark => markOf(each, each.severity === "error" ? "refuted" : "proof");

type Definition = KernelDefinition | OperatorDefinition;

/** The kernels that a text exports, by name; those passed to `main` come first. */
function kernelsOf({ exports, mains }: ImportedModules): ReadonlyMap<string, Definition> {
  const isDefinition = (value: unknown): value is Definition =>
    value instanceof KernelDefinition || value instanceof OperatorDefinition;
  const definitions = Object.values(exports).filter(isDefinition);
  const mainDefinitions = mains.filter(isDefinition).filter((each) => definitions.includes(each));
  return new Map([...mainDefinitions, ...definitions].map((each) => [each.name, each]));
}

function evaluate(
  definition: Definition,
  compiledKernel: CompiledKernel,
  source: SourceIndex,
  { id, program, ...selection }: Request,
  nameOf: (text: string) => string,
  withReaderNames: (mark: Mark) => Mark,
): void {
  const start = performance.now();
  const example = shownCase(definition, compiledKernel, source, selection);
  if ("refusal" in example) return reply({ stage: "refused", id, why: example.refusal });
  const { kernel, at: location } = example;
  const { outputs, findings, comparison, unchecked, accesses = [] } = kernel.evaluate(location, { accesses: "all" });
  const grid = accesses[0]?.grid ?? [1];
  const wanted = program ?? findings.find((each) => each.program.length > 0)?.program ?? [];
  const programToDraw = wanted === "map" ? wanted : grid.map((size, axis) => Math.min(wanted[axis] ?? 0, size - 1));
  const isDrawn = ({ program: programIds }: (typeof accesses)[number]): boolean =>
    programToDraw === "map" || programIds.every((each, axis) => each === (programToDraw[axis] ?? 0));
  const drawnAccesses = accesses.filter(isDrawn);
  reply({
    stage: "evaluated",
    id,
    sizes: location.sizes,
    dtypes: location.dtypes,
    config: kernel.configs[location.config]?.values ?? {},
    grid,
    program: programToDraw,
    accesses: drawnAccesses.length,
    picture: programToDraw === "map" ? programDrawing(drawnAccesses) : accessDrawing(drawnAccesses),
    outputs: outputsText(outputs),
    comparison,
    unchecked: unchecked.map(nameOf),
    marks: findings.map(({ code, message, at: location, program: programIds, lane }) =>
      withReaderNames({
        kind: "finding",
        code,
        message:
          programIds.length > 0
            ? `${message} (program (${programIds.join(", ")}), lane [${lane.join(", ")}])`
            : message,
        at: location,
      }),
    ),
    milliseconds: performance.now() - start,
  });
}

function linesOf({ map, python }: CompiledKernel, { nameOf }: ImportedModules) {
  const traceMap = new TraceMap(map);
  return python.split("\n").map((_, i) => {
    const { source, line } = originalPositionFor(traceMap, { line: i + 1, column: 999 });
    return source === null ? null : ([nameOf(source), line] as const);
  });
}

function marksOf(error: unknown): readonly Mark[] {
  if (error instanceof BrokenText) return error.marks;
  if (error instanceof TileScriptError) return error.diagnostics.map((each) => markOf(each));
  return [{ kind: "error", code: "thrown", message: error instanceof Error ? error.message : String(error) }];
}

reply({ stage: "ready" });
