import { options, type JsonOptions } from "../invocation/options.js";
import { exitCodes } from "../system/problems.js";
import type { SetupReport } from "../report/reports.js";
import { setup as makeEnvironment } from "../python/install-environment.js";
import { printJson } from "../system/streams.js";
import type { PlainCommand } from "../invocation/command.js";

export const setup: PlainCommand<JsonOptions & { readonly python?: string }> = {
  name: "setup",
  description: "create the Python environment with torch and triton (downloads about 3 GB)",
  options: [options.python, options.json],
  async run(_, { python, json }, streams) {
    const made = await makeEnvironment({ python, say: (line) => streams.err(`${line}\n`) });
    if (json) printJson(streams, { ok: true, python: made } satisfies SetupReport);
    return exitCodes.ok;
  },
};
