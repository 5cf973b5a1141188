#!/usr/bin/env node
// The repository has no dist before its first build: there, tsx runs the source.
import { existsSync } from "node:fs";

const source = new URL("../src/binary.ts", import.meta.url);
const { run } = existsSync(source)
  ? await import("tsx/esm/api").then(({ tsImport }) => tsImport(source.href, import.meta.url))
  : await import("../dist/binary.js");
const code = await run(process.argv.slice(2));
// Not by itself: a kernel file may have left something running. What goes into a pipe may not be there yet, nor the error of a full disk.
process.stdout.write("", () => setImmediate(() => process.exit(code)));
