/**
 * Judges kernels written for the tasks: `npx tsx bench/agents/judge.ts TASK FILE`. A kernel is correct if its file has
 * no type error, it has the task's params, no proof refutes it, and `verify` passes on the evaluator and on Triton's
 * interpreter against the task's reference, at the task's shapes and at drawn ones. `--attempt N` records the verdict
 * in bench/results/agents.json.
 */
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { KernelDefinition } from "../../src/dsl/definition.js";
import { isOptional, type ParamDescription } from "../../src/dsl/params.js";
import { build } from "../../src/pipeline/build.js";
import { runCli } from "../../src/runtime/cli/cli.js";
import { elemOf, members } from "../../src/types/dtype.js";
import { inProjectFolder, tsc } from "../../tests/support/tsc.js";
import { writeReport } from "../write-report.js";
import { tasks } from "./tasks.js";
import type { RawSpec } from "../../src/dsl/spec-schema.js";

const RESULTS = "agents";

export interface Verdict {
  readonly right: boolean;
  /** The text for the author: the mistake, or the number of tried cases. */
  readonly says: string;
}

export interface Attempt extends Verdict {
  readonly task: string;
  /** Starts at 1. */
  readonly attempt: number;
}

type Device = "eval" | "interpreter";

export function taskByName(name: string): KernelDefinition {
  const task = (tasks as readonly unknown[]).find((each) => each instanceof KernelDefinition && each.name === name);
  if (task instanceof KernelDefinition) return task;
  throw new Error(`there is no task ${name}; the tasks are ${tasks.map((each) => each.name).join(", ")}`);
}

/** The part of a param that a solution must match. */
function contractOf(param: ParamDescription): string {
  if (param.kind === "constexpr") return "constexpr";
  const dtype = [...members(elemOf(param.dtype))].sort().join(" or ");
  if (param.kind !== "tensor") return `${param.kind} of ${dtype}`;
  const optional = isOptional(param) ? "optional " : "";
  return `${optional}${param.role} tensor of ${dtype} [${param.dims.join(", ")}]`;
}

/** The mismatch between a kernel's params and its task's; undefined if they match. */
export function contractProblem(task: KernelDefinition, kernel: KernelDefinition): string | undefined {
  if (kernel.name !== task.name) return `the kernel is called ${kernel.name}; call it ${task.name}`;
  const unknownParam = Object.entries(kernel.params).find(
    ([name, { kind }]) => !(name in task.params) && kind !== "constexpr",
  );
  if (unknownParam) return `the task has no ${unknownParam[0]}; beyond its params a kernel may have constexprs only`;
  for (const [name, param] of Object.entries(task.params)) {
    const actualParam = kernel.params[name];
    const expectedContract = contractOf(param);
    if (!actualParam) return `the param ${name} is missing; it is an ${expectedContract}`;
    if (contractOf(actualParam) !== expectedContract)
      return `${name} is an ${contractOf(actualParam)}; the task says ${expectedContract}`;
  }
  return undefined;
}

/** The kernel with the task's reference, shapes, inputs and tolerance in place of its own. */
export function withTaskSpec(task: KernelDefinition, kernel: KernelDefinition): KernelDefinition {
  const { reference: _, inputs: _inputs, tolerance: _tolerance, providers: _providers, ...ownSpec } = kernel.spec;
  const { reference, inputs, shapes, tolerance } = task.spec;
  const spec: RawSpec = {
    ...ownSpec,
    ...(reference && { reference }),
    ...(inputs && { inputs }),
    ...(shapes && { shapes }),
    ...(tolerance && { tolerance }),
  };
  return new KernelDefinition(kernel.name, spec, kernel.body, kernel.at);
}

interface VerifyReport {
  readonly correct?: boolean;
  readonly details: string;
  readonly declared_shapes?: { readonly total: number; readonly compared: readonly number[] };
}

/** The verdict of `verify` on a device. */
export async function verifyOn(kernel: KernelDefinition, device: Device, runs: number): Promise<Verdict> {
  let [out, err] = ["", ""];
  const streams = { out: (text: string) => (out += text), err: (text: string) => (err += text), color: false };
  const runnable = { name: kernel.name, compile: () => build(kernel) };
  const args = ["--verify", "--json", "--device", device, "--runs", String(runs)];
  const code = await runCli("kernel.ts", args, [runnable], streams);
  const report = JSON.parse(out || "{}") as VerifyReport;
  const { total = 0, compared = [] } = report.declared_shapes ?? {};
  if (code === 0 && report.correct === true && compared.length === total)
    return { right: true, says: `${device}: ${report.details}` };
  const failure = code === 0 && report.correct === true ? "not every shape of the task was compared" : report.details;
  return { right: false, says: `${device}: ${[failure, err.trim()].filter(Boolean).join("\n")}` };
}

/** The kernel that a file exports for a task, or the reason why there is none. */
async function kernelIn(file: string): Promise<KernelDefinition | string> {
  try {
    const exported = Object.values((await import(pathToFileURL(file).href)) as Record<string, unknown>);
    const kernels = exported.filter((value) => value instanceof KernelDefinition);
    if (kernels.length === 1) return kernels[0]!;
    return `the file exports ${kernels.length} kernels; export one`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** The compiler's errors in a file under `strict`, as an author would read them: without those of this repository. */
function typeErrors(name: string, text: string): string {
  const looser = { noUncheckedIndexedAccess: false, exactOptionalPropertyTypes: false };
  const check = (folder: string): string => tsc(["-p", folder, "--pretty", "false"]);
  const errors = inProjectFolder("judged", { [`${name}.ts`]: text }, check, looser).split(/\n(?=\S)/);
  return errors.filter((each) => each.includes(`/${name}.ts(`)).join("\n");
}

export interface Judging {
  readonly devices: readonly Device[];
  /** The number of cases that `verify` draws. */
  readonly runs: number;
  /** True to run the compiler, which takes seconds. */
  readonly types: boolean;
}

const DEFAULTS: Judging = { devices: ["eval", "interpreter"], runs: 60, types: true };

/** Judges a copy of a file next to this script, where `tilescript` is this repository. */
export async function judge(name: string, file: string, options: Partial<Judging> = {}): Promise<Verdict> {
  const { devices, runs, types } = { ...DEFAULTS, ...options };
  const task = taskByName(name);
  const folder = join(import.meta.dirname, `.judged-${process.pid}`);
  mkdirSync(folder, { recursive: true });
  const copy = join(folder, `${name}-${Date.now()}.ts`);
  try {
    const typeErrorText = types ? typeErrors(name, readFileSync(file, "utf8")) : "";
    if (typeErrorText !== "") return { right: false, says: typeErrorText };
    copyFileSync(file, copy);
    const kernel = await kernelIn(copy);
    if (typeof kernel === "string") return { right: false, says: kernel };
    const problem = contractProblem(task, kernel);
    if (problem !== undefined) return { right: false, says: problem };
    const summaries: string[] = [];
    for (const device of devices) {
      const verdict = await verifyOn(withTaskSpec(task, kernel), device, runs);
      if (!verdict.right) return verdict;
      summaries.push(verdict.says);
    }
    return { right: true, says: summaries.join("; ") };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Adds an attempt to the record, in order. */
function record(attempt: Attempt): void {
  const file = resolve(import.meta.dirname, `../results/${RESULTS}.json`);
  const { attempts = [] } = existsSync(file)
    ? (JSON.parse(readFileSync(file, "utf8")) as { readonly attempts?: readonly Attempt[] })
    : {};
  const otherAttempts = attempts.filter((each) => each.task !== attempt.task || each.attempt !== attempt.attempt);
  const orderOf = (each: Attempt): number => tasks.findIndex(({ name }) => name === each.task) * 10 + each.attempt;
  writeReport(RESULTS, { attempts: [...otherAttempts, attempt].sort((a, b) => orderOf(a) - orderOf(b)) });
}

if (process.argv[1] === import.meta.filename) {
  const options = {
    attempt: { type: "string" },
    "no-python": { type: "boolean" },
    words: { type: "boolean" },
  } as const;
  const { positionals, values } = parseArgs({ allowPositionals: true, options });
  const [name, file] = positionals;
  if (values.words) for (const task of tasks) console.log(`${task.name}: ${taskByName(task.name).spec.doc}\n`);
  else if (name === undefined || file === undefined) throw new Error("name a task and a file");
  else {
    const verdict = await judge(name, file, values["no-python"] ? { devices: ["eval"] } : {});
    console.log(JSON.stringify({ task: name, ...verdict }, undefined, 2));
    if (values.attempt !== undefined) record({ task: name, attempt: Number(values.attempt), ...verdict });
    process.exitCode = verdict.right ? 0 : 1;
  }
}
