/** What Triton has for the GPUs of one vendor. */
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
    // Programs run one after the other here, so there is nothing to wait for.
    evaluate: () => [],
  });
}

/** Waits for the kernel before this one, when it was launched with `launchPdl`: `tl.extra.cuda.gdc_wait()`. */
export const gdcWait = gridControl("gdcWait", "tl.extra.cuda.gdc_wait");
/** Lets the next kernel start: `tl.extra.cuda.gdc_launch_dependents()`. */
export const gdcLaunchDependents = gridControl("gdcLaunchDependents", "tl.extra.cuda.gdc_launch_dependents");

// ---- clocks and places --------------------------------------------------------------------------------------------------

function clock(name: string, python: string) {
  return defineOp<() => Scalar<"int64">>()({
    name,
    operands: {},
    // Keeps its place, and is read once each time.
    effect: "write",
    spelling: { form: "call", name: python },
    infer: () => tileType("int64", []),
  });
}

/** Nanoseconds on the clock that an NVIDIA GPU's programs share: `tl.extra.cuda.globaltimer()`. */
export const globaltimer = clock("globaltimer", "tl.extra.cuda.globaltimer");
/** Ticks of the clock that an AMD GPU's programs share: `tl.extra.hip.memrealtime()`. */
export const memrealtime = clock("memrealtime", "tl.extra.hip.memrealtime");

function place(name: string, python: string, since39 = false) {
  return defineOp<() => Scalar<"int32">>()({
    name,
    operands: {},
    effect: "pure",
    spelling: { form: "call", name: python },
    infer: () => tileType("int32", []),
    facts: { nonNegative: () => true },
    needs: { since39: since39 ? () => true : undefined },
  });
}

/** The multiprocessor of an NVIDIA GPU that runs this program: `tl.extra.cuda.smid()`. */
export const smid = place("smid", "tl.extra.cuda.smid");
/** The compute unit of an AMD GPU that runs this wave: `tl.extra.hip.smid()`. Needs Triton 3.9. */
export const hipSmid = place("hipSmid", "tl.extra.hip.smid", true);

function count<Name extends string>(name: Name, python: string, since39 = false) {
  return defineOp<() => Constexpr<`${Name}()`>>()({
    name,
    operands: {},
    effect: "pure",
    spelling: { form: "call", name: python },
    infer: () => constexprType("int", `${name}()`),
    facts: { nonNegative: () => true },
    needs: { since39: since39 ? () => true : undefined },
  });
}

/** Warps of a program, of an NVIDIA GPU: `tl.extra.cuda.num_warps()`. */
export const numWarps = count("numWarps", "tl.extra.cuda.num_warps");
/** Threads of a program, of an NVIDIA GPU: `tl.extra.cuda.num_threads()`. */
export const numThreads = count("numThreads", "tl.extra.cuda.num_threads");
/** Waves of a program, of an AMD GPU: `tl.extra.hip.num_warps()`. Needs Triton 3.9. */
export const hipNumWarps = count("hipNumWarps", "tl.extra.hip.num_warps", true);
/** Threads of a program, of an AMD GPU: `tl.extra.hip.num_threads()`. Needs Triton 3.9. */
export const hipNumThreads = count("hipNumThreads", "tl.extra.hip.num_threads", true);
