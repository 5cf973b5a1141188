import { InvalidArgumentError, Option } from "commander";
import type { Access } from "../../compiled/access.js";
import type { TestCase, CompiledKernel, Config, Evaluation } from "../../compiled/compiled-kernel.js";
import { accessPicture } from "../../visualize/access-picture.js";
import { programMap, writtenTensors } from "../../visualize/program-map.js";
import { accessMaps } from "../../visualize/access-map.js";
import { formatCase } from "../cases/cases.js";
import { smallCase } from "../cases/command-cases.js";
import { warn } from "../invocation/kernels.js";
import type { KernelCommand, Runnable } from "../invocation/command.js";
import { parseAssignments, options, selectionFor, type SelectionOptions, configValues } from "../invocation/options.js";
import { formatFinding } from "../report/verify-report.js";
import type { TraceReport } from "../report/reports.js";
import { writeOutput } from "../system/files.js";
import { exitCodes, UsageError } from "../system/errors.js";
import { printJson, type Streams } from "../system/streams.js";

interface TraceOptions extends Omit<SelectionOptions, "python" | "processes"> {
  readonly program?: readonly number[];
  readonly map?: true;
  /** True for `--trace` without a value. */
  readonly out?: true | string;
  readonly constexprs?: Readonly<Record<string, string>>;
}

export const trace: KernelCommand<TraceOptions> = {
  name: "trace",
  description: "draw the memory accesses of a program, or the elements that each program writes; needs no Python",
  example: "trace gemm.ts --program 1,2",
  options: [
    new Option(
      "--program <ids>",
      "the program to draw, by its id on each axis, such as 5 or 1,2 (default: 0)",
    ).argParser(programIds),
    new Option("--map", "draw instead which elements each program writes"),
    new Option("--out <file>", "the SVG file to write; without it, trace prints a list of the accesses"),
    options.shape,
    options.dtype,
    options.config,
    new Option(
      "--constexprs <values>",
      "values that replace those of the config, such as BLOCK_M=16,BLOCK_N=16",
    ).argParser(parseAssignments),
    options.seed,
    options.kernel,
    options.json,
  ],
  flag: { text: "--trace [file]", option: "out" },
  checkOptions({ program, map, out }) {
    if (program && map) throw new UsageError("--map draws all programs; leave out --program");
    if (typeof out === "string" && !out.endsWith(".svg"))
      throw new UsageError(`--out ${out}: name a file that ends in .svg`);
  },
  async plan(kernels, flags, streams) {
    const runnable = singleKernel(kernels);
    const kernel = await compileWithConstexprs(runnable, flags);
    warn([kernel], streams);
    const testCase = tracedCase(kernel, flags);
    return async () => {
      const { program = [0], map, json } = flags;
      const out = fileOf(flags);
      const evaluation = evaluate(kernel, testCase, map ? "all" : program);
      const accesses = evaluation.accesses ?? [];
      const svg = map ? programMap(accesses) : accessPicture(accesses);
      if (out !== undefined) {
        await writeOutput(out, svg);
        streams.err(`wrote ${out}\n`);
      }
      for (const finding of evaluation.findings) streams.err(`${formatFinding(finding)}\n`);
      for (const note of evaluation.unchecked) streams.err(`unchecked: ${note}\n`);
      if (json) printJson(streams, reportOf(kernel, testCase, flags, evaluation));
      else print(streams, testCase, flags, accesses);
      return evaluation.findings.length > 0 ? exitCodes.failed : exitCodes.ok;
    };
  },
};

const fileOf = ({ out }: TraceOptions): string | undefined => (typeof out === "string" ? out : undefined);

function singleKernel(kernels: readonly Runnable[]): Runnable {
  const [first, ...others] = kernels;
  if (!first) throw new UsageError("no kernel is left to trace");
  if (others.length > 0)
    throw new UsageError(`one kernel is traced; choose it with --kernel ${kernels.map(({ name }) => name).join(", ")}`);
  return first;
}

/** Builds the kernel with its own configs, or with one config with overridden constexprs. */
async function compileWithConstexprs(
  runnable: Runnable,
  { constexprs, config = 0 }: TraceOptions,
): Promise<CompiledKernel> {
  const kernel = await runnable.compile();
  if (!constexprs) return kernel;
  if (kernel.parts)
    throw new UsageError("--constexprs: an operator's kernels have configs of their own; choose --config");
  const base: Config = kernel.configs[config] ?? { values: {} };
  return runnable.compile([
    { ...base, values: { ...base.values, ...configValues("--constexprs", kernel, constexprs) } },
  ]);
}

function tracedCase(kernel: CompiledKernel, { config, constexprs, ...flags }: TraceOptions): TestCase {
  const chosen = constexprs ? 0 : config;
  const selection = selectionFor(kernel, { ...flags, ...(chosen !== undefined && { config: chosen }) });
  const result = smallCase(kernel, selection);
  if ("refusal" in result)
    throw new UsageError(`${kernel.signature.name} cannot be launched like this (${result.refusal}); choose --shape`);
  return result.at;
}

function evaluate(kernel: CompiledKernel, testCase: TestCase, programs: readonly number[] | "all"): Evaluation {
  try {
    return kernel.evaluate(testCase, { accesses: programs });
  } catch (error) {
    if (error instanceof Error && error.message.startsWith("accesses: "))
      throw new UsageError(error.message.replace("accesses: ", "--program: "));
    throw error;
  }
}

function print(streams: Streams, testCase: TestCase, { map, out }: TraceOptions, accesses: readonly Access[]): void {
  streams.out(`${formatCase(testCase)}\n`);
  if (map) {
    for (const { tensor, elements, written, raced, programs } of writtenTensors(accesses))
      streams.out(
        `${tensor}: ${programs} programs write ${written} of ${elements} elements, ${raced} of them by several\n`,
      );
    return;
  }
  for (const { kind, tensor, at: location, tile, active, refused } of accesses) {
    const activeCount = count(active);
    const refusedCount = count(refused);
    const lanes = [
      `${activeCount} active`,
      `${active.length - activeCount - refusedCount} masked`,
      ...(refusedCount > 0 ? [`${refusedCount} refused`] : []),
    ];
    const line = location ? `line ${location.line}: ` : "";
    streams.out(`${line}${kind} ${tensor}, tile [${tile.join(", ")}]: ${lanes.join(", ")}\n`);
  }
  if (typeof out !== "string") streams.out("--out FILE.svg draws it\n");
}

const count = (lanes: Uint8Array): number => lanes.reduce((sum, lane) => sum + lane, 0);

function reportOf(
  kernel: CompiledKernel,
  testCase: TestCase,
  { program = [0], map, ...flags }: TraceOptions,
  { accesses = [], findings, unchecked }: Evaluation,
): TraceReport {
  const out = fileOf(flags);
  return {
    ok: findings.length === 0,
    kernel: kernel.signature.name,
    case: testCase,
    ...(out !== undefined && { file: out }),
    ...(map
      ? { map: writtenTensors(accesses) }
      : {
          program,
          accesses: accesses.map(({ kind, tensor, at: location, tile, active, refused }) => ({
            kind,
            tensor,
            ...(location && { at: location }),
            tile,
            active: count(active),
            masked: active.length - count(active) - count(refused),
            refused: count(refused),
          })),
          tensors: accessMaps(accesses).map(({ tensorGrid: placed, counts }) => ({
            tensor: placed.name,
            shape: placed.shape,
            ...counts,
          })),
        }),
    findings,
    unchecked,
  };
}

function programIds(text: string): readonly number[] {
  if (!/^\d+(,\d+){0,2}$/.test(text)) throw new InvalidArgumentError("Write 5, or 1,2 for a grid of two axes.");
  return text.split(",").map(Number);
}
