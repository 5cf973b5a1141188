/** What a config may take at least, by a model of the GPU. It orders candidates; measurements decide. */
import type { TestCase, CompiledKernel, Traffic } from "../../compiled/compiled-kernel.js";
import { H200 } from "../../compiled/device-properties.js";
import { bytesOf, type DeviceLimits, rateOf } from "./roofline.js";

/**
 * Multiprocessors read this much faster from the L2 cache than the GPU from its memory: 64 bytes a clock each, which is
 * 3.5 times the bandwidth of an H200's memory.
 */
const CACHE = 3.5;
/** What a program costs besides its work, in milliseconds: its start, and filling its pipeline. */
const START = 1e-3;

/** For a GPU that is not known; only the order of times matters. */
const UNKNOWN = { gbps: 4800, rate: 989.4 };

/**
 * Milliseconds: the roofline of the busiest multiprocessor. Programs are dealt out whole, so it has ⌈programs / units⌉
 * of them. With each it moves bytes through the L2 cache and multiplies; the memory moves each tensor once at least.
 */
export function estimate(
  kernel: CompiledKernel,
  at: TestCase,
  { programs, bytes, products }: Traffic,
  limits: DeviceLimits | undefined,
): number {
  if (programs === 0) return 0;
  const units = at.gpu?.multiProcessorCount ?? H200.multiProcessorCount;
  const turns = Math.ceil(programs / units);
  const share = (turns * units) / programs;
  const gbps = limits?.gbps ?? UNKNOWN.gbps;
  const compute = (2 * products * share) / (limits?.tflops?.[rateOf(kernel, at)] ?? UNKNOWN.rate) / 1e9;
  const cache = (bytes * share) / (CACHE * gbps) / 1e6;
  return Math.max(compute, cache, bytesOf(kernel, at) / gbps / 1e6) + START * turns;
}
