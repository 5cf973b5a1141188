/**
 * Known faults of compilers and hardware that change the results of correct kernels. A row leaves the table when no
 * supported version has the fault; a test of each row compiles or runs a kernel that shows it.
 */
import { compiledOps, constantsOf } from "../analysis/dtype-bindings.js";
import { type SharedOperand, sharedOperands } from "../analysis/pipelined-loops.js";
import { preconditions, usesOfTriton39 } from "../analysis/preconditions.js";
import { dotOf } from "../analysis/rounding-profile.js";
import type { Config } from "../compiled/compiled-kernel.js";
import type { DiagnosticCode } from "../diagnostics/catalog/index.js";
import { compileMiscompiled } from "../diagnostics/catalog/command-codes.js";
import { operandBuffer, pipelinedLoad } from "../diagnostics/catalog/control-codes.js";
import { type Diagnostic, errorDiagnostic, type Location, warning } from "../diagnostics/diagnostic.js";
import { type ForStatement, type KernelIR, operandOf, type OpStatement, paramsOf } from "../ir/nodes.js";
import { typeOfArgument } from "../ir/walk.js";
import { lowerViews } from "../lower/views.js";
import { type MovedLoad, movedLoads } from "../prove/properties/pipelined-loads.js";
import { tritonVersion } from "../diagnostics/catalog/definition-codes.js";

export interface KnownFault {
  readonly id: string;
  /** The versions and GPUs that have the fault. */
  readonly affects: {
    readonly triton?: { readonly oldest: string; readonly newest: string };
    readonly ptxas?: string;
    readonly gpus: string;
  };
  readonly effect: string;
  readonly remedy: string;
  /** The report upstream, if there is one. */
  readonly reference?: string;
  /** The reporter: the build, the wrapper at a call, or `compile` from the machine code. */
  readonly reportedBy: "build" | "wrapper" | "compile";
  /** The code of the diagnostic. Undefined if the wrapper raises an error in Python. */
  readonly code?: DiagnosticCode;
  /** The locations in a kernel that may be affected. */
  readonly places: (ir: KernelIR) => readonly (Location | undefined)[];
}

export const knownFaults: readonly KnownFault[] = [
  {
    id: "pipelined-load",
    affects: { triton: { oldest: "3.6", newest: "3.9" }, gpus: "all" },
    effect:
      "A loop of two or more stages executes loads before stores of earlier iterations, even if both access one element.",
    remedy: "`numStages: 1` on the `tl.range`, or `tl.debugBarrier()` between the store and the load",
    reference: "https://github.com/triton-lang/triton/issues/8259",
    reportedBy: "build",
    code: pipelinedLoad.code,
    places: (ir) => findMovedLoads(ir).map(({ load }) => load.location),
  },
  {
    id: "operand-buffer",
    affects: { triton: { oldest: "3.6", newest: "3.9" }, gpus: "sm_90" },
    effect:
      "A loop of two or more stages overwrites an operand of a product that still reads it, if the loop also uses the loaded tile without a product.",
    remedy: "`numStages: 1` on the `tl.range`, or the other use in a separate loop",
    reference: "https://github.com/triton-lang/triton/issues/6691",
    reportedBy: "build",
    code: operandBuffer.code,
    places: (ir) => findSharedOperands(ir).map(({ load }) => load.location),
  },
  {
    id: "tma-store-tail",
    affects: { gpus: "sm_90 and later" },
    effect:
      "A store through a descriptor writes up to 15 bytes past a row if the row length is not a multiple of 16 bytes.",
    remedy: "rows of a multiple of 16 bytes, or a view",
    reference: "https://github.com/triton-lang/triton/issues/11583",
    reportedBy: "wrapper",
    places: (ir) => locationsOf(ir, (statement) => statement.op.effect !== "read" && hasDescriptor(statement)),
  },
  {
    id: "ptxas-descriptor",
    affects: { ptxas: "12.8.93, which Triton 3.6 ships", gpus: "sm_90" },
    effect: "A product adds the offset of an operand to a register that no instruction has written.",
    remedy: "a newer ptxas by `TRITON_PTXAS_PATH`, or another config",
    reportedBy: "compile",
    code: compileMiscompiled.code,
    places: (ir) => locationsOf(ir, ({ op }) => op.facts.contracts === true),
  },
];

const locationsOf = (ir: KernelIR, isAffected: (statement: OpStatement) => boolean) =>
  [...compiledOps(ir)].filter(isAffected).map(({ location }) => location);

/** True if an op accesses memory through a descriptor. */
function hasDescriptor(statement: OpStatement): boolean {
  const address = operandOf(statement, statement.op.proof.memoryOperands?.address);
  return address !== undefined && typeOfArgument(address).kind === "descriptor";
}

/** Errors and warnings about the faults that the build finds. */
export function checkFaults(ir: KernelIR): readonly Diagnostic[] {
  return [...findSharedOperands(ir).map((each) => reportSharedOperand(ir, each)), ...reportMovedLoads(ir)];
}

function reportSharedOperand(ir: KernelIR, { load, product, user }: SharedOperand): Diagnostic {
  const related = [
    { message: "the product", at: product.location },
    { message: "the other use of the tile", at: user?.location },
  ];
  return warning(operandBuffer(ir.name), load.location, {
    related: related.flatMap(({ message, at }) => (at ? [{ message, at }] : [])),
  });
}

function reportMovedLoads(ir: KernelIR): readonly Diagnostic[] {
  return findMovedLoads(ir).map(({ load, write, read = "memory", written, distance }) => {
    const details = { related: write.location && [{ message: "the store", at: write.location }] };
    if (distance !== undefined)
      return errorDiagnostic(pipelinedLoad.stale(ir.name, read, distance), load.location, details);
    const message =
      written === undefined || written === read
        ? pipelinedLoad.unproved(ir.name, read)
        : pipelinedLoad.overlap(ir.name, read, written);
    return warning(message, load.location, details);
  });
}

/** Triton's default of `num_stages`. */
const DEFAULT_STAGES = 3;

function findMovedLoads(ir: KernelIR): readonly MovedLoad[] {
  return movedLoads(ir, () => preconditions(lowerViews(ir)), stagesOf(ir));
}

/** The shared operands in loops that a config pipelines, of products that Hopper executes asynchronously. */
function findSharedOperands(ir: KernelIR): readonly SharedOperand[] {
  const stages = stagesOf(ir);
  return sharedOperands(ir).filter(({ loop, product }) =>
    ir.tuning.configs.some((config) => (stages(loop, config) ?? 2) >= 2 && isAsynchronous(product, config)),
  );
}

/** The rows of a product that one instruction of Hopper's tensor cores computes. */
const ASYNC_ROWS = 64;
/** The warps that execute it together. */
const ASYNC_WARPS = 4;

function isAsynchronous(product: OpStatement, { values, numWarps = ASYNC_WARPS }: Config): boolean {
  const dot = dotOf(product);
  const isOnCudaCores = dot?.precision !== "tf32" && dot?.elem === "float32";
  if (numWarps < ASYNC_WARPS || isOnCudaCores) return false;
  const a = operandOf(product, "a");
  const type = a && typeOfArgument(a);
  const rows = type?.kind === "tile" ? type.shape.at(-2) : undefined;
  const count = typeof rows === "string" ? values[rows] : rows;
  return typeof count !== "number" || count >= ASYNC_ROWS;
}

function stagesOf(ir: KernelIR): (loop: ForStatement, config: Config) => number | undefined {
  const names = new Map(paramsOf(ir, "constexpr").map(({ value, name }) => [value, name]));
  return (loop, { values, numStages = DEFAULT_STAGES }) => {
    const option = loop.options["numStages"];
    if (option === undefined) return ir.tuning.options?.["numStages"] ? undefined : numStages;
    const constant = constantsOf(ir, (value) => values[names.get(value) ?? ""])(option);
    return typeof constant === "number" ? constant : undefined;
  };
}

// Reports the Triton version that a kernel requires at build time, before a user notices.

/** A warning if the kernel does not declare that it requires 3.9, an error if it declares that it runs on 3.6. */
export function checkVersions(ir: KernelIR): readonly Diagnostic[] {
  if (ir.triton === "3.9") return [];
  const diagnostics = new Map<string, Diagnostic>();
  for (const { name, at } of usesOfTriton39(ir)) {
    const key = `${name}@${at?.line}:${at?.column}`;
    const message = `${ir.name}: ${name}, used like this, needs Triton 3.9`;
    diagnostics.set(
      key,
      ir.triton === "3.6"
        ? errorDiagnostic(tritonVersion.rejected(message), at)
        : warning(tritonVersion.recommended(message), at),
    );
  }
  return [...diagnostics.values()];
}
