/**
 * A lower bound for the run time of a config, from a model of the GPU. It only ranks candidates; measurements decide.
 */
import type { TestCase, CompiledKernel, Traffic } from "../../compiled/compiled-kernel.js";
import { H200 } from "../../compiled/device-properties.js";
import { bytesOf, type DeviceLimits, rateOf } from "./roofline.js";

/**
 * The ratio of L2 cache bandwidth to memory bandwidth. Each multiprocessor reads 64 bytes per clock from L2, which is
 * 3.5 times the memory bandwidth of an H200.
 */
const L2_BANDWIDTH_FACTOR = 3.5;
/** The overhead of a program in milliseconds: its launch and filling its pipeline. */
const PROGRAM_OVERHEAD_MS = 1e-3;

/** Limits for an unknown GPU. Only the order of times matters. */
const DEFAULT_LIMITS = { gbps: 4800, rate: 989.4 };

/**
 * The roofline of the busiest multiprocessor, in milliseconds. It runs ⌈programs / multiprocessors⌉ whole programs.
 * Each program reads through the L2 cache and multiplies. Memory transfers each tensor at least once.
 */
export function estimate(
  kernel: CompiledKernel,
  testCase: TestCase,
  { programs, bytes, products }: Traffic,
  limits: DeviceLimits | undefined,
): number {
  if (programs === 0) return 0;
  const multiprocessors = testCase.gpu?.multiProcessorCount ?? H200.multiProcessorCount;
  const waves = Math.ceil(programs / multiprocessors);
  const imbalance = (waves * multiprocessors) / programs;
  const gbps = limits?.gbps ?? DEFAULT_LIMITS.gbps;
  const compute =
    (2 * products * imbalance) / (limits?.tflops?.[rateOf(kernel, testCase)] ?? DEFAULT_LIMITS.rate) / 1e9;
  const l2 = (bytes * imbalance) / (L2_BANDWIDTH_FACTOR * gbps) / 1e6;
  return Math.max(compute, l2, bytesOf(kernel, testCase) / gbps / 1e6) + PROGRAM_OVERHEAD_MS * waves;
}
