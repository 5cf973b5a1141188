import { Option } from "commander";
import { stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { type CompiledKernel, SPECIALIZE_MODES, type Specialize } from "../../compiled/compiled-kernel.js";
import type { Diagnostic } from "../../diagnostics/diagnostic.js";
import { writeOutput } from "../system/files.js";
import { compileAll, isScript, refuseSameNames, warn } from "../invocation/kernels.js";
import { options, type JsonOptions } from "../invocation/options.js";
import { exitCodes, UsageError } from "../system/errors.js";
import type { EmitReport } from "../report/reports.js";
import { relocateMap } from "../cases/outcome.js";
import { printJson } from "../system/streams.js";
import type { KernelCommand } from "../invocation/command.js";

interface EmitOptions extends JsonOptions {
  /** True for standard output: `--emit` without a value. */
  readonly out?: true | string;
  /** The namespace of the operators registered with PyTorch. */
  readonly emitOp?: string;
  readonly tritonOp?: true;
  readonly bare?: true;
  readonly checked?: true;
  readonly launch?: "fast" | "plain";
  readonly warpSpecialize?: Specialize;
}

export const emit: KernelCommand<EmitOptions> = {
  name: "emit",
  description: "print the Python module, or write it with its source map",
  example: "emit gemm.ts --out gemm.py",
  options: [
    new Option("--out <path>", "where to write: a file, or a folder for several kernels"),
    new Option("--emit-op <namespace>", "also register the kernel as torch.ops.NAMESPACE.NAME").implies({ emit: true }),
    options.tritonOp,
    new Option("--bare", "omit parts that only tests use, such as reference_fn and get_inputs").implies({ emit: true }),
    new Option(
      "--checked",
      "compare the elements of tensors with their declared ranges at each call; waits for the GPU",
    ).implies({ emit: true }),
    new Option("--launch <form>", "fast: append a launch cache, which makes repeated calls cheap").choices([
      "plain",
      "fast",
    ]),
    new Option(
      "--warp-specialize <when>",
      "add a warp-specialized kernel for Hopper GPUs (default: as in the spec)",
    ).choices(SPECIALIZE_MODES),
    options.kernel,
    options.watch,
    options.json,
  ],
  flag: { text: "--emit [path]", option: "out" },
  checkOptions({ out, emitOp, tritonOp, checked, launch }) {
    if (typeof out === "string" && (out === "" || isScript(out)))
      throw new UsageError(
        `${out || "an empty path"} cannot hold a Python module; name a file such as gemm.py, or a folder`,
      );
    if (checked && launch === "fast")
      throw new UsageError("--checked: a launch cache goes past the checks; leave out --launch fast");
    if (tritonOp && emitOp === undefined) throw new UsageError("--triton-op needs --emit-op NAMESPACE");
  },
  async plan(kernels, { out, emitOp: namespace, tritonOp, bare, checked, launch, warpSpecialize, json }, streams) {
    const folder = typeof out === "string" && (await isFolder(out));
    refuseSameNames(kernels);
    if (kernels.length > 1 && !folder && (typeof out === "string" || !json)) {
      const names = kernels.map(({ name }) => name).join(", ");
      throw new UsageError(`a file holds one kernel; choose it with --kernel ${names}, or name a folder such as out/`);
    }
    const form = tritonOp ? "triton_op" : "custom_op";
    const compiled = await compileAll(kernels);
    return async () => {
      const modules: EmitReport["modules"][number][] = [];
      for (const kernel of compiled) {
        const op = namespace === undefined ? undefined : ({ namespace, form } as const);
        const emitOptions = {
          ...(op && { op }),
          ...(bare && { bare }),
          ...(checked && { checked }),
          ...(launch && { launch }),
          ...(warpSpecialize && { warpSpecialize }),
        };
        const { python, map, warnings = [] } = Object.keys(emitOptions).length > 0 ? kernel.emit(emitOptions) : kernel;
        const diagnostics = [...new Set([...kernel.warnings, ...warnings])];
        warn([{ warnings: diagnostics }], streams);
        const path = typeof out === "string" ? join(out, folder ? kernel.file : "") : undefined;
        if (path !== undefined) {
          await write(path, python, map);
          if (!json) streams.err(`wrote ${path} and ${path}.map\n`);
        } else if (!json) streams.out(python);
        modules.push(moduleReport(kernel, python, map, path, diagnostics));
      }
      if (json) printJson(streams, { ok: true, modules } satisfies EmitReport);
      return exitCodes.ok;
    };
  },
};

/** True for an existing folder, and for any path that ends in a slash. */
async function isFolder(path: string): Promise<boolean> {
  if (/[\\/]$/.test(path)) return true;
  return stat(path).then(
    (info) => info.isDirectory(),
    () => false,
  );
}

async function write(path: string, python: string, map: string): Promise<void> {
  await writeOutput(path, python);
  await writeOutput(`${path}.map`, relocateMap(map, dirname(resolve(path))));
}

function moduleReport(
  { signature }: CompiledKernel,
  python: string,
  map: string,
  path: string | undefined,
  diagnostics: readonly Diagnostic[],
) {
  return {
    kernel: signature.name,
    ...(path !== undefined && { file: path }),
    python,
    map: JSON.parse(map) as object,
    diagnostics,
  };
}
