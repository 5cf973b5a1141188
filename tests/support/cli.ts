import { afterAll, beforeAll, expect } from "vitest";
import { runCli } from "../../src/runtime/cli/cli.js";
import type { Runnable } from "../../src/runtime/invocation/command.js";
import { requirePython } from "./python.js";
import { closeDevice, openDevice } from "../../src/runtime/devices/devices.js";
import type { Streams } from "../../src/runtime/system/streams.js";
import type { CompiledKernel } from "../../src/compiled/compiled-kernel.js";
import type { Device } from "../../src/runtime/devices/device.js";

/** Opens Triton's interpreter before the surrounding tests, and closes it after them. */
export function interpreter(): () => Device {
  let device: Device;
  beforeAll(async () => {
    await requirePython();
    device = await openDevice({ device: "interpreter" });
  }, 60_000);
  afterAll(() => closeDevice(device));
  return () => device;
}

export interface CliResult {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs the command line of a kernel file in this process. */
export async function cli(
  kernel: CompiledKernel | (() => Promise<CompiledKernel>),
  ...args: string[]
): Promise<CliResult> {
  let [out, err] = ["", ""];
  const streams: Streams = { out: (text) => (out += text), err: (text) => (err += text), color: false };
  const compile = typeof kernel === "function" ? kernel : async () => kernel;
  const runnable: Runnable = { name: "vectorAdd", compile };
  const code = await runCli("vector-add.ts", args, [runnable], streams);
  return { code, out, err };
}

/** Expects a usage error: one line and exit code 2. */
export function expectUsageError({ code, out, err }: CliResult, message: RegExp): void {
  expect({ code, out, lines: err.trimEnd().split("\n").length }).toEqual({ code: 2, out: "", lines: 1 });
  expect(err).toMatch(message);
}
