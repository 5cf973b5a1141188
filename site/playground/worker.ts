/** Builds, evaluates and proves the reader's kernel, away from the page: an endless loop stops no more than this worker. */
import { originalPositionFor, TraceMap } from "@jridgewell/trace-mapping";
import { accessPicture, compile, programMap, TileScriptError } from "../../src/browser.js";
import type { Case, CompiledKernel, Config } from "../../src/contract/compiled.js";
import { KernelDefinition } from "../../src/dsl/definition.js";
import { OperatorDefinition } from "../../src/dsl/operator.js";
import type { SourceIndex } from "../../src/ir/source.js";
import { smallCase } from "../../src/runtime/cases/small-case.js";
import { proofDiagnostics, proofSummary } from "../../src/runtime/report/proof-text.js";
import { indexTexts } from "../../src/source/source-texts.js";
import { type Mark, markOf, type Reply, type Request } from "./protocol.js";
import { type Imported, importTexts } from "./texts.js";

const reply = (message: Reply): void => self.postMessage(message);

self.onmessage = async ({ data: request }: MessageEvent<Request>) => {
  let imported: Imported | undefined;
  const named = (mark: Mark): Mark =>
    imported && mark.at ? { ...mark, at: { ...mark.at, file: imported.nameOf(mark.at.file) } } : mark;
  try {
    const start = performance.now();
    imported = await importTexts(new Map(request.files), request.files[0]![0]);
    const source = indexTexts(imported.texts);
    const kernels = kernelsOf(imported.exports);
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
    evaluate(definition, compiled, source, request, named);
    const proof = compiled.proof();
    const marks = proofDiagnostics(proof).map((each) => named(markOf(each, "proof")));
    reply({ stage: "proved", id: request.id, summary: proofSummary(proof), marks });
  } catch (error) {
    reply({ stage: "failed", id: request.id, marks: marksOf(error).map(named) });
  }
};

type Definition = KernelDefinition | OperatorDefinition;

function kernelsOf(exports: Readonly<Record<string, unknown>>): ReadonlyMap<string, Definition> {
  const found = Object.values(exports).filter(
    (value): value is Definition => value instanceof KernelDefinition || value instanceof OperatorDefinition,
  );
  return new Map(found.map((each) => [each.name, each]));
}

function evaluate(
  definition: Definition,
  compiled: CompiledKernel,
  source: SourceIndex,
  { id, program, ...chosen }: Request,
  named: (mark: Mark) => Mark,
): void {
  const start = performance.now();
  const [kernel, at, why] = launched(definition, compiled, source, chosen);
  if (!at) return reply({ stage: "refused", id, why });
  const whole = kernel.evaluate(at, { accesses: "all" });
  const grid = whole.accesses?.[0]?.grid ?? [1];
  const wanted = program === "map" ? program : grid.map((size, axis) => Math.min(program[axis] ?? 0, size - 1));
  const ofProgram = (ids: readonly number[]) =>
    whole.accesses?.filter((access) => access.program.every((each, axis) => each === (ids[axis] ?? 0)));
  const { findings, comparison, unchecked, accesses = [] } = whole;
  reply({
    stage: "evaluated",
    id,
    sizes: at.sizes,
    dtypes: at.dtypes,
    config: kernel.configs[at.config]?.values ?? {},
    grid,
    program: wanted,
    picture: wanted === "map" ? programMap(accesses) : accessPicture(ofProgram(wanted) ?? []),
    comparison,
    unchecked,
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

type Launched = readonly [CompiledKernel, Case, ""] | readonly [CompiledKernel, undefined, string];

/** The kernel and a case: those that the reader chose, else blocks and sizes that a picture shows well. */
function launched(
  definition: Definition,
  compiled: CompiledKernel,
  source: SourceIndex,
  { sizes, dtypes, config }: Pick<Request, "sizes" | "dtypes" | "config">,
): Launched {
  const selection = { seed: 0, ...(sizes && { sizes }), ...(dtypes && { dtypes }) };
  const rebuilt = (values: Config["values"]) => compile(definition, { source, configs: [{ values }] });
  const found = (kernel: CompiledKernel): Launched => {
    const one = smallCase(kernel, selection);
    return "refusal" in one ? [kernel, undefined, one.refusal] : [kernel, one.at, ""];
  };
  if (compiled.parts) return found(compiled);
  if (config && Object.keys(config).length > 0) return found(rebuilt(config));
  const own = found(compiled);
  if (!own[1]) return own;
  const values = compiled.configs[own[1].config]?.values ?? {};
  const smaller = Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, typeof value === "number" && value > 16 ? 16 : value]),
  );
  if (sizes || JSON.stringify(smaller) === JSON.stringify(values)) return own;
  try {
    const tried = found(rebuilt(smaller));
    return tried[1] ? tried : own;
  } catch (error) {
    // Blocks may be tied to each other, or have a least size.
    if (error instanceof TileScriptError) return own;
    throw error;
  }
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
