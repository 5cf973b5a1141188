#!/usr/bin/env node
// The repository has no dist before its first build: there, tsx runs the source.
import { existsSync } from "node:fs";

const source = new URL("../src/runtime/binary.ts", import.meta.url);
const { runBinary } = existsSync(source)
  ? await import("tsx/esm/api").then(({ tsImport }) => tsImport(source.href, import.meta.url))
  : await import("../dist/runtime/binary.js");
process.exitCode = await runBinary(process.argv.slice(2));
