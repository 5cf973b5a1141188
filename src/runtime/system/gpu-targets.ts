/** Compile targets: the limits of their GPUs, and the occupancy of a kernel. */
import type { DeviceProperties } from "../../compiled/gpus.js";
import { UsageError } from "./errors.js";

/**
 * Limits of a unit: NVIDIA's multiprocessor, AMD's compute unit (gfx9) or work-group processor (gfx11 and later).
 * Registers are 32 bits wide and counted for one lane of a warp; memory is in bytes.
 */
interface Limits {
  /** Maximum number of resident warps (AMD: waves). */
  readonly warps: number;
  /** Maximum number of resident programs. */
  readonly programs: number;
  /** Maximum number of resident programs of one warp, which need no barrier. */
  readonly singleWarpPrograms?: number;
  /** Registers in each of the unit's four partitions (AMD: SIMDs), and the granularity of their allocation. */
  readonly registers: number;
  readonly registerStep: number;
  /** Shared memory of a unit, its limit for one program, and the driver's reserve per program. */
  readonly shared: number;
  readonly sharedOfProgram: number;
  readonly sharedReserved: number;
  /** Maximum number of tensor memory columns of a program. */
  readonly tensorMemory?: number;
}

export interface Target {
  /** The name on the command line: `cuda:90`, `hip:gfx942`. */
  readonly name: string;
  /** Arguments of Triton's `GPUTarget`: backend, architecture, lanes of a warp. */
  readonly triton: readonly [backend: "cuda" | "hip", arch: number | string, lanes: number];
  readonly limits: Limits;
}

/** The resources of one compiled config, which the worker reads from the binary. */
export interface Resources {
  readonly warps: number;
  /** Registers of a thread; on AMD, vector and accumulation registers together. */
  readonly registers: number;
  /** Bytes that a thread spills to memory. */
  readonly spilled: number;
  /** Shared memory of a program, in bytes. */
  readonly shared: number;
  /** Tensor memory of a program on Blackwell, in columns. */
  readonly tensorMemory?: number;
}

export interface Occupancy {
  /** Resident programs per unit. */
  readonly programs: number;
  /** The fraction of a unit's warps in use, from 0 to 1. */
  readonly fraction: number;
  /** The resource that limits the number of programs. */
  readonly limit: "warps" | "programs" | "registers" | "shared memory";
}

const KiB = 1024;
const PARTITIONS = 4;

/**
 * Numbers from "Technical specifications per compute capability" in the CUDA C++ Programming Guide. The granularity and
 * partitions of registers, and the memory reserved per program, are those of `cuda_occupancy.h`.
 */
function cuda(capability: number, warps: number, programs: number, kib: number, tensorMemory?: number): Target {
  const reserved = capability >= 80 ? 1 * KiB : 0;
  return {
    name: `cuda:${capability}`,
    triton: ["cuda", capability, 32],
    limits: {
      warps,
      programs,
      registers: 512,
      registerStep: 8,
      shared: kib * KiB,
      sharedOfProgram: kib * KiB - reserved,
      sharedReserved: reserved,
      ...(tensorMemory && { tensorMemory }),
    },
  };
}

/**
 * Numbers from LLVM's AMDGPU backend (`AMDGPUBaseInfo.cpp`). A program of several waves needs a barrier; gfx9 has 16
 * barriers, later architectures 32.
 */
function hip(arch: string, sharedOfProgram: number): Target {
  const isGfx9 = arch.startsWith("gfx9");
  const warps = isGfx9 ? 32 : 64;
  return {
    name: `hip:${arch}`,
    triton: ["hip", arch, isGfx9 ? 64 : 32],
    limits: {
      warps,
      programs: isGfx9 ? 16 : 32,
      singleWarpPrograms: warps,
      registers: isGfx9 ? 512 : 1536,
      registerStep: isGfx9 ? 8 : 24,
      shared: isGfx9 ? sharedOfProgram : 2 * sharedOfProgram,
      sharedOfProgram,
      sharedReserved: 0,
    },
  };
}

export const targets: readonly Target[] = [
  cuda(75, 32, 16, 64),
  cuda(80, 64, 32, 164),
  cuda(86, 48, 16, 100),
  cuda(89, 48, 24, 100),
  cuda(90, 64, 32, 228),
  cuda(100, 64, 32, 228, 512),
  cuda(103, 64, 32, 228, 512),
  cuda(120, 48, 24, 100),
  hip("gfx90a", 64 * KiB),
  hip("gfx942", 64 * KiB),
  hip("gfx950", 160 * KiB),
  hip("gfx1100", 64 * KiB),
  hip("gfx1200", 64 * KiB),
];

/** The device properties that all GPUs of a target share. The number of multiprocessors differs between them. */
export function propertiesOf({ triton: [backend, arch, warpSize], limits }: Target): Partial<DeviceProperties> {
  const capability = typeof arch === "number" ? { major: Math.floor(arch / 10), minor: arch % 10 } : {};
  return { sharedMemoryPerBlockOptin: limits.sharedOfProgram, warpSize, ...(backend === "cuda" && capability) };
}

/** Parses a list of targets such as `cuda:90,hip:gfx942`. */
export function parseTargets(text: string): Target[] {
  const names = text.split(",").map((name) => name.trim());
  return [...new Set(names)].map((name) => {
    const match = targets.find((target) => target.name === name);
    if (!match)
      throw new UsageError(
        `${name || "an empty name"} is not a known target; the targets are ${targets.map((t) => t.name).join(", ")}`,
      );
    return match;
  });
}

/**
 * The occupancy of a unit: the minimum of four limits.
 *
 * - programs: the unit's limit;
 * - warps: ⌊unit's warps / program's warps⌋;
 * - registers: ⌊4 · ⌊partition's registers / thread's registers, rounded up⌋ / program's warps⌋;
 * - shared memory: ⌊unit's / (program's + reserved)⌋.
 *
 * The formulas are those of the CUDA occupancy calculator (`cuda_occupancy.h`) and of LLVM for AMD.
 */
export function occupancyOf({ limits }: Target, { warps, registers, shared }: Resources): Occupancy {
  const perThread = Math.ceil(Math.max(registers, 1) / limits.registerStep) * limits.registerStep;
  const warpsByRegisters = PARTITIONS * Math.floor(limits.registers / perThread);
  const { programs: maxPrograms, singleWarpPrograms = maxPrograms } = limits;
  const counts: readonly (readonly [Occupancy["limit"], number])[] = [
    ["warps", Math.floor(limits.warps / warps)],
    ["programs", warps === 1 ? singleWarpPrograms : maxPrograms],
    ["registers", Math.floor(warpsByRegisters / warps)],
    ["shared memory", shared === 0 ? Infinity : Math.floor(limits.shared / (shared + limits.sharedReserved))],
  ];
  const [limit, programs] = counts.reduce((least, next) => (next[1] < least[1] ? next : least));
  return { programs, fraction: (programs * warps) / limits.warps, limit };
}
