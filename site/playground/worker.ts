/** Builds, evaluates and proves the reader's kernel, away from the page: an endless loop stops no more than this worker. */
import { originalPositionFor, TraceMap } from "@jridgewell/trace-mapping";
import { accessPicture, compile, programMap, TileScriptError } from "../../src/browser.js";
import type { CompiledKernel } from "../../src/compiled/compiled-kernel.js";
import { KernelDefinition } from "../../src/dsl/definition.js";
import { OperatorDefinition } from "../../src/dsl/operator.js";
import type { SourceIndex } from "../../src/ir/source.js";
import { proofDiagnostics, proofSummary } from "../../src/runtime/report/proof-text.js";
import { indexTexts } from "../../src/source/file-texts.js";
import { type Mark, markOf, type Reply, type Request } from "./protocol.js";
import { shownCase } from "./shown-case.js";
import { type Imported, importTexts } from "./texts.js";

const reply = (message: Reply): void => self.postMessage(message);

self.onmessage = async ({ data: request }: MessageEvent<Request>) => {
  let imported: Imported | undefined;
  const nameOf = (words: string): string => imported?.nameOf(words) ?? words;
  const named = ({ at, message, ...mark }: Mark): Mark => ({
    ...mark,
    message: nameOf(message),
    ...(at && { at: { ...at, file: nameOf(at.file) } }),
  });
  try {
    const start = performance.now();
    imported = await importTexts(new Map(request.files), request.files[0]![0]);
    const source = indexTexts(imported.texts);
    const kernels = kernelsOf(imported);
    const definition = kernels.get(request.kernel ?? "") ?? [...kernels.values()][0];
    if (!definition) throw new Error("this text exports no kernel; write `export const gemm = kernel(…)`");
    const compiled = compile(definition, { source });
    reply({
      stage: "built",
      id: request.id,
      kernels: [...kernels.keys()],
      kernel: compiled.signature.name,
      python: compiled.python,
      lines: linesOf(compiled, imported),
      ir: compiled.ir,
      marks: compiled.warnings.map((each) => named(markOf(each))),
      sizes: compiled.signature.sizes,
      dtypes: compiled.signature.dtypes,
      milliseconds: performance.now() - start,
    });
    if (request.only === "build") return;
    evaluate(definition, compiled, source, request, nameOf, named);
    const proof = compiled.proof();
    const marks = proofDiagnostics(proof).map((each) => named(markOf(each, "proof")));
    reply({ stage: "proved", id: request.id, summary: proofSummary(proof), marks });
  } catch (error) {
    reply({ stage: "failed", id: request.id, marks: marksOf(error).map(named) });
  }
};

type Definition = KernelDefinition | OperatorDefinition;

/** The kernels that a text exports, by name; first what it gives to `main`. */
function kernelsOf({ exports, mains }: Imported): ReadonlyMap<string, Definition> {
  const isDefinition = (value: unknown): value is Definition =>
    value instanceof KernelDefinition || value instanceof OperatorDefinition;
  const exported = Object.values(exports).filter(isDefinition);
  const first = mains.filter(isDefinition).filter((each) => exported.includes(each));
  return new Map([...first, ...exported].map((each) => [each.name, each]));
}

function evaluate(
  definition: Definition,
  compiled: CompiledKernel,
  source: SourceIndex,
  { id, program, ...chosen }: Request,
  nameOf: (words: string) => string,
  named: (mark: Mark) => Mark,
): void {
  const start = performance.now();
  const shown = shownCase(definition, compiled, source, chosen);
  if ("refusal" in shown) return reply({ stage: "refused", id, why: shown.refusal });
  const { kernel, at } = shown;
  const { findings, comparison, unchecked, accesses = [] } = kernel.evaluate(at, { accesses: "all" });
  const grid = accesses[0]?.grid ?? [1];
  const wanted = program === "map" ? program : grid.map((size, axis) => Math.min(program[axis] ?? 0, size - 1));
  const isDrawn = ({ program: by }: (typeof accesses)[number]): boolean =>
    wanted === "map" || by.every((each, axis) => each === (wanted[axis] ?? 0));
  const drawn = accesses.filter(isDrawn);
  reply({
    stage: "evaluated",
    id,
    sizes: at.sizes,
    dtypes: at.dtypes,
    config: kernel.configs[at.config]?.values ?? {},
    grid,
    program: wanted,
    accesses: drawn.length,
    picture: wanted === "map" ? programMap(drawn) : accessPicture(drawn),
    comparison,
    unchecked: unchecked.map(nameOf),
    marks: findings.map(({ code, message, at: place, program: by, lane }) =>
      named({
        kind: "finding",
        code,
        message: by.length > 0 ? `${message} (program (${by.join(", ")}), lane [${lane.join(", ")}])` : message,
        at: place,
      }),
    ),
    milliseconds: performance.now() - start,
  });
}

function linesOf({ map, python }: CompiledKernel, { nameOf }: Imported) {
  const traced = new TraceMap(map);
  return python.split("\n").map((_, i) => {
    const { source, line } = originalPositionFor(traced, { line: i + 1, column: 999 });
    return source === null ? null : ([nameOf(source), line] as const);
  });
}

function marksOf(error: unknown): readonly Mark[] {
  if (error instanceof TileScriptError) return error.diagnostics.map((each) => markOf(each));
  return [{ kind: "error", code: "thrown", message: error instanceof Error ? error.message : String(error) }];
}

reply({ stage: "ready" });
