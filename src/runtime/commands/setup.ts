import { InvalidArgumentError, Option } from "commander";
import { options, type JsonOptions } from "../invocation/options.js";
import { exitCodes, UsageError } from "../system/errors.js";
import type { SetupReport } from "../report/reports.js";
import { rayLock } from "../worker/environment.js";
import { setup as makeEnvironment } from "../worker/install-environment.js";
import { printJson } from "../system/streams.js";
import type { DeviceName } from "../../compiled/device-names.js";
import { parseDevice } from "../devices/device-name.js";
import { RemoteHost } from "../remote/remote-host.js";
import type { PlainCommand } from "../invocation/command.js";

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
