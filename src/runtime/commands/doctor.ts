import { existsSync } from "node:fs";
import pc from "picocolors";
import { closeDevice, missingPython, openDevices } from "../devices/devices.js";
import { findPython, type Discovery, rayLock } from "../worker/environment.js";
import { chosenDevice, type ChosenDevice } from "../invocation/chosen-device.js";
import type { DeviceName } from "../../compiled/gpus.js";
import { options, type JsonOptions } from "../invocation/options.js";
import { exitCodes, UsageError } from "../system/errors.js";
import type { DoctorReport, SetupReport } from "../report/reports.js";
import { runProgram } from "../system/processes.js";
import { readsTypeScript } from "../invocation/kernels.js";
import { printJson, progress } from "../system/streams.js";
import { formatTable } from "../report/text-blocks.js";
import type { PlainCommand } from "../invocation/command.js";
import { type Device, parseDevice } from "../devices/device.js";
import { InvalidArgumentError, Option } from "commander";
import { setup as makeEnvironment } from "../worker/install-environment.js";
import { RemoteHost } from "../remote/remote-host.js";

type Fact = DoctorReport["facts"][number];

interface DoctorOptions extends JsonOptions {
  readonly device?: DeviceName;
  readonly python?: string;
}

export const doctor: PlainCommand<DoctorOptions> = {
  name: "doctor",
  description: "show the installed tools and GPUs, and how to install missing ones",
  example: "doctor",
  options: [options.device, options.python, options.json],
  async run(_, { device: option, python, json }, streams) {
    const chosen = chosenDevice(option);
    const show = progress(streams);
    show("starting Python …");
    const { ssh, ray } = parseDevice(chosen.device);
    const isElsewhere = ssh !== undefined || ray !== undefined;
    const discovery = await findPython(isElsewhere ? {} : { python });
    const isNamedUnusable = discovery.isExplicit && !discovery.environment && !isElsewhere;
    const devices = isNamedUnusable
      ? undefined
      : await openDevices({ device: chosen.device, python }).catch((error: Error) => error);
    show("");
    const opened = devices instanceof Error ? [] : (devices ?? []);
    await Promise.all(opened.map(closeDevice));
    const found = devices instanceof Error ? [devices] : opened;
    const candidates = found.length > 0 ? found : [undefined];
    const facts = [
      nodeFact(),
      await tsxFact(),
      pythonFact(discovery),
      ...candidates.map((each) => deviceFact(each, discovery, chosen)),
      await gpuFact(opened),
      compileFact(discovery),
    ];
    const ok = opened.length > 0;
    const next = nextStep(facts);
    if (json) printJson(streams, { ok, facts, rejected: discovery.rejected, next } satisfies DoctorReport);
    else {
      const colors = pc.createColors(streams.color);
      const mark = { ok: colors.green("ok"), missing: colors.yellow("missing") };
      const rows = facts.map(({ name, status, found: value }) => [name, mark[status], value]);
      streams.out(`${formatTable(["what", "", "found"], rows).join("\n")}\n`);
      for (const { python: path, source, reason } of discovery.rejected)
        streams.out(`  not used: ${path} (${source}): ${reason}\n`);
      for (const { name, remedy } of facts) if (remedy) streams.out(`  ${name}: ${remedy}\n`);
      streams.out(`next: ${next}\n`);
    }
    return ok ? exitCodes.ok : exitCodes.environment;
  },
};

/** The most important next step: the remedy for a missing part that this machine could use, or else a new kernel. */
function nextStep(facts: readonly Fact[]): string {
  const missing = facts.find(
    ({ name, found: value, remedy }) =>
      remedy && (name === "tsx" || name === "python" || value.startsWith("torch does not see")),
  );
  return missing?.remedy ?? "`npx tilescript new add-relu` writes a kernel file to start from";
}

function nodeFact(): Fact {
  return { name: "node", status: "ok", found: `Node ${process.versions.node} on ${process.platform} ${process.arch}` };
}

async function tsxFact(): Promise<Fact> {
  try {
    await import("tsx/esm/api");
    return { name: "tsx", status: "ok", found: "it is installed" };
  } catch {
    if (readsTypeScript)
      return { name: "tsx", status: "ok", found: "it is not installed; TypeScript files are read without it" };
    const remedy =
      "`npm install --save-dev tsx` installs tsx, which loads TypeScript files; Node reads them from 22.18 on";
    return { name: "tsx", status: "missing", found: "it is not installed", remedy };
  }
}

function pythonFact({ environment, isExplicit, rejected }: Discovery): Fact {
  if (environment) {
    const versions = Object.entries(environment.versions).map(([name, version]) => `${name} ${version}`);
    return {
      name: "python",
      status: "ok",
      found: `${environment.python} (${environment.source}): ${versions.join(", ")}`,
    };
  }
  const remedy = isExplicit
    ? `name another: --python or TILESCRIPT_PYTHON`
    : "`npx tilescript setup` makes a Python environment with torch and triton";
  return { name: "python", status: "missing", found: rejected[0]?.reason ?? "there is none", remedy };
}

/** The device that runs kernels, and the source of that choice. */
function deviceFact(
  device: Device | Error | undefined,
  discovery: Discovery,
  { device: chosen, source }: ChosenDevice,
): Fact {
  const prefix = source === undefined ? "" : `${chosen}, by ${source}: `;
  if (device === undefined || device instanceof Error) {
    const problem = `${prefix}${device?.message ?? missingPython(discovery)}`;
    return { name: "device", status: "missing", found: problem, remedy: "--device eval verifies without Python" };
  }
  if (device.kind === "eval")
    return { name: "device", status: "ok", found: `${prefix}eval: TileScript's evaluator (${device.reason})` };
  const { hello, host, environment, workers, reason: why } = device;
  const count = workers.size > 1 ? `, ${workers.size} of them` : "";
  const location = host ? ` on ${host.name}, with ${environment.python} (${environment.source})` : "";
  return {
    name: "device",
    status: "ok",
    found: `${prefix}${device.kind}: ${hello.deviceName}${count}${location} (${why})`,
  };
}

/** GPUs that torch sees, or GPUs of the machine that torch does not see. */
async function gpuFact(devices: readonly Device[]): Promise<Fact> {
  const gpus = devices.flatMap((device) => (device.kind === "eval" ? [] : device.hello.gpus));
  if (gpus.length > 0) return { name: "gpus", status: "ok", found: gpus.join(", ") };
  const { stdout, exitCode } = await runProgram("nvidia-smi", ["-L"], { deadlineMs: 10_000 });
  const listed = exitCode === 0 ? stdout.trim() : "";
  const undetected = listed || (existsSync("/dev/kfd") ? "an AMD GPU (/dev/kfd)" : "");
  if (undetected)
    return {
      name: "gpus",
      status: "missing",
      found: `torch does not see ${undetected}`,
      remedy: "install the build of torch for it (CUDA or ROCm), or check the driver",
    };
  const remedy = "kernels run on Triton's interpreter or the evaluator here; `tilescript compile` needs no GPU";
  return { name: "gpus", status: "missing", found: "there is none", remedy };
}

function compileFact({ environment }: Discovery): Fact {
  if (environment)
    return {
      name: "compile",
      status: "ok",
      found: `Triton ${environment.versions.triton} compiles for NVIDIA and AMD`,
    };
  return {
    name: "compile",
    status: "missing",
    found: "Triton is not installed",
    remedy: "install it with the Python environment",
  };
}

interface SetupOptions extends JsonOptions {
  readonly device?: DeviceName;
  readonly python?: string;
  /** The version of Ray, or true for the tested one. */
  readonly ray?: string | true;
}

export const setup: PlainCommand<SetupOptions> = {
  name: "setup",
  description: "create the Python environment with torch and triton (downloads about 3 GB)",
  example: "setup",
  options: [
    options.device,
    options.python,
    new Option("--ray [version]", "also install Ray, for --device ray:ADDRESS; the version of the cluster").argParser(
      rayVersion,
    ),
    options.json,
  ],
  async run(_, { device, python, ray, json }, streams) {
    const address = device === undefined ? undefined : parseDevice(device).ssh;
    if (device !== undefined && !address)
      throw new UsageError(
        `--device ${device}: setup makes an environment on this machine, or with ssh:HOST on another`,
      );
    const host = address && (await RemoteHost.open(address));
    const base = python ?? address?.python;
    const environment = await makeEnvironment({
      python: base,
      host,
      onProgress: (line) => streams.err(`${line}\n`),
      ...(ray !== undefined && { ray: { lock: rayLock, ...(ray !== true && { version: ray }) } }),
    }).finally(() => host?.close());
    if (json) printJson(streams, { ok: true, python: environment } satisfies SetupReport);
    return exitCodes.ok;
  },
};

function rayVersion(text: string): string {
  if (/^\d+(?:\.\w+)+$/.test(text)) return text;
  throw new InvalidArgumentError(`a version of Ray is such as 2.60.0, not ${JSON.stringify(text)}`);
}
