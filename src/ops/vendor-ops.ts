/** Ops for the GPUs of one vendor. */
import type { Constexpr } from "../types/constexpr.js";
import type { Scalar } from "../types/tile.js";
import { constexprType, none, tileType } from "../types/types.js";
import { defineOp } from "./define.js";

function gridControl(name: string, python: string) {
  return defineOp<() => void>()({
    name,
    operands: {},
    effect: "write",
    spelling: { form: "call", name: python },
    infer: () => none,
    // The evaluator runs kernels sequentially.
    evaluate: () => [],
  });
}

/** Waits for the previous kernel, in a launch with `launchPdl`: `tl.extra.cuda.gdc_wait()`. */
export const gdcWait = gridControl("gdcWait", "tl.extra.cuda.gdc_wait");
/** Lets the next kernel start: `tl.extra.cuda.gdc_launch_dependents()`. */
export const gdcLaunchDependents = gridControl("gdcLaunchDependents", "tl.extra.cuda.gdc_launch_dependents");

// ---- clocks and unit ids ------------------------------------------------------------------------------------------------

function clock(name: string, python: string) {
  return defineOp<() => Scalar<"int64">>()({
    name,
    operands: {},
    // Prevents reordering and CSE.
    effect: "write",
    spelling: { form: "call", name: python },
    infer: () => tileType("int64", []),
  });
}

/** Nanoseconds of an NVIDIA GPU's global clock: `tl.extra.cuda.globaltimer()`. */
export const globaltimer = clock("globaltimer", "tl.extra.cuda.globaltimer");
/** Ticks of an AMD GPU's global clock: `tl.extra.hip.memrealtime()`. */
export const memrealtime = clock("memrealtime", "tl.extra.hip.memrealtime");

function unitId(name: string, python: string, since39 = false) {
  return defineOp<() => Scalar<"int32">>()({
    name,
    operands: {},
    effect: "pure",
    spelling: { form: "call", name: python },
    infer: () => tileType("int32", []),
    facts: { nonNegative: () => true },
    needs: { needsTriton39: since39 ? () => true : undefined },
  });
}

/** The multiprocessor of an NVIDIA GPU that runs this program: `tl.extra.cuda.smid()`. */
export const smid = unitId("smid", "tl.extra.cuda.smid");
/** The compute unit of an AMD GPU that runs this wave: `tl.extra.hip.smid()`. Needs Triton 3.9. */
export const hipSmid = unitId("hipSmid", "tl.extra.hip.smid", true);

function count<Name extends string>(name: Name, python: string, since39 = false) {
  return defineOp<() => Constexpr<`${Name}()`>>()({
    name,
    operands: {},
    effect: "pure",
    spelling: { form: "call", name: python },
    infer: () => constexprType("int", `${name}()`),
    facts: { nonNegative: () => true },
    needs: { needsTriton39: since39 ? () => true : undefined },
  });
}

/** The number of warps of a program, on NVIDIA GPUs: `tl.extra.cuda.num_warps()`. */
export const numWarps = count("numWarps", "tl.extra.cuda.num_warps");
/** The number of threads of a program, on NVIDIA GPUs: `tl.extra.cuda.num_threads()`. */
export const numThreads = count("numThreads", "tl.extra.cuda.num_threads");
/** The number of waves of a program, on AMD GPUs: `tl.extra.hip.num_warps()`. Needs Triton 3.9. */
export const hipNumWarps = count("hipNumWarps", "tl.extra.hip.num_warps", true);
/** The number of threads of a program, on AMD GPUs: `tl.extra.hip.num_threads()`. Needs Triton 3.9. */
export const hipNumThreads = count("hipNumThreads", "tl.extra.hip.num_threads", true);
