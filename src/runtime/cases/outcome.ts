/** The outcome of one test case. Failures are data, not exceptions. */
import type { TestCase, Comparison, Finding, Tolerance, CompiledKernel } from "../../compiled/compiled-kernel.js";
import { type Location, TileScriptError } from "../../diagnostics/diagnostic.js";
import type { FailureKind, SpecializedRun, WireFailure } from "../worker/protocol.js";
import { endlessLoop } from "../../diagnostics/catalog/control-codes.js";
import { hostValue } from "../../diagnostics/catalog/host-codes.js";
import { specInputs, torchCall } from "../../diagnostics/catalog/reference-codes.js";
import { EvaluationTimeout } from "../../compiled/errors.js";
import { EnvironmentError } from "../system/errors.js";
import { eachMapping, LEAST_UPPER_BOUND, originalPositionFor, TraceMap } from "@jridgewell/trace-mapping";
import { isAbsolute, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

export interface Neighbors {
  readonly start: readonly number[];
  readonly expected: readonly (readonly number[])[];
  readonly got: readonly (readonly number[])[];
}

export interface WorstElement {
  readonly output: string;
  readonly index: readonly number[];
  readonly expected: number | bigint;
  readonly got: number | bigint;
  readonly around?: Neighbors;
}

/** The comparison of one output with the reference. The evaluator compares all outputs at once. */
export interface OutputComparison {
  readonly maxAbsDiff: number;
  readonly maxRelDiff: number;
  readonly wrong: number;
  readonly total: number;
  readonly worst?: WorstElement;
  readonly problem?: string;
  /** The kind of error that a wrong result indicates, if the evaluator knows it. */
  readonly finds?: Comparison["finds"];
  /** Present if the worst element is an integer. Absent if the evaluator did not compare. */
  readonly integers?: true;
  /** Absent if the evaluator used its default tolerance. */
  readonly tolerance?: Tolerance;
  /** The error of PyTorch's result in the inputs' dtype, against the float64 reference. */
  readonly referenceDiff?: number;
}

/**
 * The source of a mistake in code outside the kernel: torch code, inputs, the reference, or a launch or loop for these
 * sizes.
 */
type MistakeKind = "torch" | "inputs" | "reference" | "launch" | "loop";

/** An error during the case, located in the author's source if the emitted module was involved. */
export interface CaseFailure {
  readonly kind: FailureKind | MistakeKind | "internal";
  readonly message: string;
  readonly exception?: string;
  readonly at?: Location;
  /** The whole traceback. */
  readonly raw?: string;
  /** PyTorch refuses a call of the reference, for its shapes. */
  readonly isRefusedReference?: true;
  /** The line of emitted Python. */
  readonly python?: { readonly file: string; readonly line: number; readonly text: string };
}

export interface Outcome {
  readonly testCase: TestCase;
  readonly label: string;
  /** The index of its sizes in the declared shapes. */
  readonly declaredIndex?: number | undefined;
  /** True if Triton's autotuner chose the config. */
  readonly isAutotuned: boolean;
  readonly by: "python" | "eval";
  /** `unchecked`: the case ran, but there was no trustworthy result to compare with. */
  readonly status: "passed" | "failed" | "unchecked";
  readonly comparisons: readonly OutputComparison[];
  readonly findings: readonly Finding[];
  /** Other problems, such as a changed input. */
  readonly problems: readonly string[];
  readonly failure?: CaseFailure;
  readonly unchecked: readonly string[];
  /** True if the evaluator compared the algorithm with the reference, ignoring rounding. */
  readonly isAlgorithmChecked?: boolean;
  /** The locations that the evaluator executed; see `Evaluation.reached`. */
  readonly reached?: readonly Location[] | undefined;
  /** The run of the warp-specialized kernel with this config, in addition to the plain kernel. */
  readonly specialized?: SpecializedRun;
  /** On a GPU: the number of kernels compiled while the case ran. */
  readonly compiled?: number;
  readonly ms: number;
}

/** True if the case compared at least one element with the reference, and all were correct. */
export function wasCompared({ status, comparisons }: Outcome): boolean {
  return status === "passed" && comparisons.some(({ total }) => total > 0);
}

// Errors of the worker and the evaluator, with the location in the author's source.

/**
 * Converts a worker's error. Its location is the innermost frame of the emitted module that maps to the author's
 * source.
 *
 * @throws EnvironmentError if the machine is at fault, such as a full disk.
 */
export function failureOf(kernel: CompiledKernel, error: WireFailure): CaseFailure {
  if (error.kind === "no-space")
    throw new EnvironmentError(`${error.message}; free some of the disk, or set TRITON_CACHE_DIR or TMPDIR to another`);
  const frame = error.frames.at(-1);
  const locations =
    // The reference's result is checked after it has returned.
    error.kind === "reference"
      ? [definitionOf(kernel, "reference_fn")]
      : error.frames.map(
          (callFrame) => authorLocation(kernel.map, callFrame.line) ?? definitionOf(kernel, callFrame.function),
        );
  const location = locations.findLast((candidate) => candidate !== undefined);
  return {
    kind: error.kind,
    message: `${error.message}${describeRenamedParam(kernel, error.message)}`,
    ...(error.exception !== undefined && { exception: error.exception }),
    ...(location && { at: location }),
    ...(isRefusedReference(error) && { isRefusedReference: true }),
    ...(frame && { python: { file: kernel.file, line: frame.line, text: frame.text } }),
    ...(error.raw !== undefined && { raw: error.raw }),
  };
}

/** PyTorch's exceptions for arguments of unsuitable shapes. */
const REFUSALS: ReadonlySet<string | undefined> = new Set(["RuntimeError", "IndexError"]);

/** A `view` that strides forbid is refused in every shape. */
const isRefusedReference = ({ exception, message, frames }: WireFailure): boolean =>
  REFUSALS.has(exception) && !/\bstrides?\b/.test(message) && frames.some((each) => each.function === "reference_fn");

/** A hint for references, where a param may have another name in Python. */
function describeRenamedParam({ signature }: CompiledKernel, message: string): string {
  const missingName = /^name '(\w+)' is not defined/.exec(message)?.[1];
  const { tensors, pointers, scalars, constexprs } = signature;
  const param = [...tensors, ...pointers, ...scalars, ...constexprs].find(({ name }) => name === missingName);
  if (param === undefined) return "";
  return param.python === missingName
    ? `; a reference gets inputs and arguments, not ${missingName}`
    : `; in Python ${missingName} is called ${param.python}`;
}

/** The location of an emitted function whose body has no mapping, such as a wrapper or a reference. */
function definitionOf({ map, python }: CompiledKernel, name: string): Location | undefined {
  const definition = python.split("\n").findIndex((line) => line.startsWith(`def ${name}(`));
  return definition < 0 ? undefined : authorLocation(map, definition + 1);
}

/** Mistakes that only appear when a case runs. All other codes are mistakes in the reference. */
const MISTAKE_KINDS: Readonly<Record<string, MistakeKind>> = {
  [torchCall.code]: "torch",
  [specInputs.code]: "inputs",
  [hostValue.code]: "launch",
  [endlessLoop.code]: "loop",
};

/** Converts an exception of the evaluator. */
export function evaluatorFailure(error: unknown): CaseFailure {
  const [diagnostic] = error instanceof TileScriptError ? error.diagnostics : [];
  if (diagnostic) {
    const { code, message, at } = diagnostic;
    const kind = MISTAKE_KINDS[code] ?? "reference";
    return { kind, message, ...(at && { at }), ...(kind === "torch" && { isRefusedReference: true }) };
  }
  if (error instanceof EvaluationTimeout)
    return { kind: "timeout", message: error.message, ...(error.at && { at: error.at }) };
  const message = error instanceof Error ? error.message : String(error);
  return error instanceof RangeError && /allocation|array length/i.test(message)
    ? { kind: "out-of-memory", message: `the evaluator ran out of memory for tensors of these sizes (${message})` }
    : { kind: "internal", message: `the evaluator stopped: ${message}` };
}

// Maps lines of emitted Python to the author's TypeScript.

/** The location in the author's source for a line of emitted Python. */
function authorLocation(map: string, line: number): Location | undefined {
  const position = originalPositionFor(new TraceMap(map), { line, column: 0, bias: LEAST_UPPER_BOUND });
  if (position.source === null || position.line === null) return undefined;
  return { file: sourcePath(position.source), line: position.line, column: (position.column ?? 0) + 1 };
}

/** A statement of emitted Python with its location in the author's source. */
export interface EmittedStatement {
  readonly text: string;
  readonly at: Location;
}

/** The statements of an emitted module that come from the author's source, in their order. */
export function emittedStatements(python: string, map: string): readonly EmittedStatement[] {
  const lines = python.split("\n");
  const starts: { readonly index: number; readonly column: number; readonly at: Location }[] = [];
  eachMapping(new TraceMap(map), ({ generatedLine, generatedColumn, source, originalLine, originalColumn }) => {
    if (source === null || originalLine === null) return;
    const location = { file: sourcePath(source), line: originalLine, column: originalColumn + 1 };
    starts.push({ index: generatedLine - 1, column: generatedColumn, at: location });
  });
  return starts.map(({ index, column, at: location }, i) => {
    const [first = "", ...others] = lines.slice(index, starts[i + 1]?.index);
    const end = others.findIndex((line) => !/^\s|^[)\]}]/.test(line.slice(column)) || /\S/.test(line.slice(0, column)));
    const text = [first, ...others.slice(0, end < 0 ? others.length : end)].map((line) => line.slice(column));
    return { text: text.join("\n"), at: location };
  });
}

/** The source map for a module in `folder`, with source paths relative to that folder. */
export function relocateMap(map: string, folder: string): string {
  const parsed = JSON.parse(map) as { sources: (string | null)[] };
  const sources = parsed.sources.map((source) => source && relative(resolve(folder), sourcePath(source)));
  return JSON.stringify({ ...parsed, sources });
}

function sourcePath(source: string): string {
  if (source.startsWith("file:")) return fileURLToPath(source);
  return isAbsolute(source) ? source : resolve(source);
}
