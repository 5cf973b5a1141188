#!/usr/bin/env node
// The repository has no dist before its first build: there, tsx runs the source.
import { existsSync } from "node:fs";

const source = new URL("../src/runtime/cli.ts", import.meta.url);
const { endOnSignals, runBinary } = existsSync(source)
  ? await import("tsx/esm/api").then(({ tsImport }) => tsImport(source.href, import.meta.url))
  : await import("../dist/runtime/cli.js");
endOnSignals();
process.exitCode = await runBinary(process.argv.slice(2));
