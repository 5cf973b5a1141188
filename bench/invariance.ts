/**
 * On what the bits of the examples' outputs depend: `npm run bench -- invariance`, or `-- --write` to record it in
 * bench/results/invariance.json, the source of the figures in docs/proofs.md. `-- --gpu --out invariance-h200.json`, a
 * file in bench/results, compares the bits of kernels that declare a size invariant, at many of its values, on this
 * machine's GPU. For a machine without Node, `--prepare FOLDER` only writes the modules, which `python
 * bench/invariance.py FOLDER --out FILE` runs there.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { build, type CompiledKernel } from "tilescript";
import type { AxisVerdict, RunsVerdict } from "../src/compiled/compiled-kernel.js";
import { KernelDefinition } from "../src/dsl/definition.js";
import { examples } from "../tests/support/examples.js";
import { resultFile, runOrPrepare } from "./in-python.js";
import { roundToTenth, writeReport } from "./write-report.js";

export interface InvarianceRow {
  readonly example: string;
  readonly kernel: string;
  readonly output: string;
  /** The verdicts of its sizes, the leading axis first. */
  readonly sizes: Readonly<Record<string, AxisVerdict["kind"]>>;
  readonly runs: RunsVerdict["kind"];
  /** What is left, by size, or for runs. */
  readonly why: Readonly<Record<string, string>>;
}

/** The record of `--write`. `seconds` is the CPU time of all outputs of an example. */
export interface InvarianceRecord {
  readonly date: string;
  readonly rows: readonly InvarianceRow[];
  readonly seconds: Readonly<Record<string, number>>;
}

/** The record of `--gpu`: the sizes of kernels, and the values of the invariant size at which a bit differed. */
export interface InvarianceBits {
  readonly gpu: string;
  readonly torch: string;
  readonly triton: string;
  readonly date: string;
  readonly counts: readonly number[];
  readonly rows: readonly {
    readonly kernel: string;
    readonly size: string;
    readonly sizes: Readonly<Record<string, number>>;
    readonly differing: readonly number[];
  }[];
}

/** Kernels that are compared on a GPU, each with the size in which it is declared invariant and the other sizes. */
const COMPARED: Readonly<Record<string, { readonly size: string; readonly sizes: Readonly<Record<string, number>> }>> =
  {
    gemm: { size: "M", sizes: { N: 520, K: 1000 } },
    "gemm-float32": { size: "M", sizes: { N: 136, K: 500 } },
    "gemm-persistent": { size: "M", sizes: { N: 520, K: 1000 } },
    "gemm-tma": { size: "M", sizes: { N: 512, K: 1024 } },
    softmax: { size: "M", sizes: { N: 1000 } },
    "softmax-long": { size: "M", sizes: { N: 50_000 } },
    "softmax-rows": { size: "M", sizes: { N: 700 } },
  };

const { values: flags } = parseArgs({
  options: {
    write: { type: "boolean" },
    gpu: { type: "boolean" },
    out: { type: "string", default: "invariance-gpu.json" },
    prepare: { type: "string" },
  },
});

const textOf = (verdict: AxisVerdict | RunsVerdict): string | undefined => {
  if (verdict.kind === "dependent") return verdict.why;
  return verdict.kind === "unknown" ? verdict.missing : undefined;
};

async function table(): Promise<void> {
  const rows: InvarianceRow[] = [];
  const seconds: Record<string, number> = {};
  for (const { name, kernel } of examples) {
    const compiled = await build(kernel);
    compiled.proof();
    const start = process.cpuUsage();
    const proofs = compiled.invariance();
    const { user, system } = process.cpuUsage(start);
    seconds[name] = roundToTenth((user + system) / 1e6);
    for (const { kernel: part, output, sizes, runs } of proofs) {
      const verdicts = [...sizes.map(({ size, verdict }) => [size, verdict] as const), ["runs", runs] as const];
      const why = Object.fromEntries(
        verdicts.flatMap(([of, verdict]) => (textOf(verdict) ? [[of, textOf(verdict)!]] : [])),
      );
      const kinds = Object.fromEntries(sizes.map(({ size, verdict }) => [size, verdict.kind]));
      rows.push({ example: name, kernel: part, output, sizes: kinds, runs: runs.kind, why });
      for (const [of, verdict] of verdicts)
        console.log(`${name} ${part} ${output} ${of}: ${verdict.kind} ${why[of] ?? ""}`);
    }
  }
  if (flags.write) writeReport("invariance", { rows, seconds } satisfies Omit<InvarianceRecord, "date">);
}

/** A kernel that declares the size, whose autotuner's key does not have it. */
async function declared(kernel: unknown, size: string): Promise<CompiledKernel> {
  if (!(kernel instanceof KernelDefinition)) throw new Error("only kernels are compared");
  const { name, spec, body, at } = kernel;
  const { autotune } = spec;
  const key = autotune?.key.filter((each) => each !== size);
  const changed = { ...spec, invariant: [size], ...(autotune && key && { autotune: { ...autotune, key } }) };
  const compiled = await build(new KernelDefinition(name, changed, body, at));
  const open = compiled
    .invariance()
    .flatMap(({ sizes }) => sizes.filter(({ required, verdict }) => required && verdict.kind !== "invariant"));
  if (open.length > 0) throw new Error(`${name} is not shown to be invariant in ${size}: ${JSON.stringify(open)}`);
  return compiled;
}

async function emitInto(folder: string): Promise<void> {
  const cases: object[] = [];
  for (const { name, kernel } of examples) {
    const compared = COMPARED[name];
    if (!compared) continue;
    const { signature, file, emit } = await declared(kernel, compared.size);
    writeFileSync(join(folder, file), emit().python);
    const tensors = signature.tensors.map(({ python, role, dtype, dims, optional }) => {
      const variable = typeof dtype === "string" ? undefined : signature.dtypes[dtype.variable]?.[0];
      return { name: python, role, dtype: variable ?? dtype, dims, optional };
    });
    cases.push({ kernel: name, file, function: signature.name, tensors, ...compared });
  }
  writeFileSync(join(folder, "cases.json"), JSON.stringify(cases, undefined, 2));
}

if (flags.gpu || flags.prepare !== undefined)
  await runOrPrepare(flags.prepare, "invariance.py", emitInto, ["--out", resultFile(flags.out)]);
else await table();
