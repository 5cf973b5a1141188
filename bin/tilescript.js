#!/usr/bin/env node
// No await outside of functions: Yarn's Plug'n'Play requires this file, which is refused then.
import { existsSync } from "node:fs";
import module from "node:module";

const source = new URL("../src/binary.ts", import.meta.url);

/** The repository has no dist before its first build: there, tsx runs the source. */
async function binary() {
  if (!existsSync(source)) return import("../dist/binary.js");
  const { tsImport } = await import("tsx/esm/api");
  return tsImport(source.href, import.meta.url);
}

function folderIsGone() {
  try {
    process.cwd();
    return false;
  } catch {
    return true;
  }
}

async function main() {
  // Whatever resolves a path would throw.
  if (folderIsGone()) {
    process.stderr.write("error environment: the current folder does not exist any more; change to another\n");
    return 3;
  }
  // The modules of a command take a while to load. Its first output removes this line.
  if (process.stderr.isTTY && process.env.TERM !== "dumb") process.stderr.write("tilescript …");
  // From 22.1 on, Node keeps what it compiled: TypeScript's parser alone takes a third of a second.
  module.enableCompileCache?.();
  const { run } = await binary();
  return run(process.argv.slice(2));
}

void main().then((code) => {
  // Not by itself: a kernel file may have left something running. What goes into a pipe may not be there yet, nor the error of a full disk.
  process.stdout.write("", () => setImmediate(() => process.exit(code)));
});
