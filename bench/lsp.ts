/**
 * The time from an edit to its diagnostics, for each example: the file is open with a syntax error, which the edit mends.
 * Nothing is cached, and the pause in typing counts. `npm run bench -- lsp [NAME…]` measures these examples, in the
 * package as it is published.
 */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { setTimeout } from "node:timers/promises";
import { kernelFiles } from "../src/runtime/invocation/kernels.js";
import { pack } from "../scripts/pack.js";
import { LspClient } from "../tests/support/lsp-client.js";

/** The time that an author types or reads before the next edit, in which the server starts its next process. */
const PAUSE_MS = 2_000;
const LIMIT_MS = 1_000;

const root = resolve(import.meta.dirname, "..");
const names = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "tilescript-lsp-"));
const program = installPackage();
const files = await kernelFiles(
  names.length > 0 ? names.map((name) => join(folder, `examples/${name}.ts`)) : [join(folder, "examples/*.ts")],
);
const client = new LspClient(folder, process.env, program);
await client.initialize();
const results: { readonly file: string; readonly ms: number }[] = [];
for (const file of files) {
  const text = await readFile(file, "utf8");
  await client.diagnostics(client.open(file, `${text}(`));
  await setTimeout(PAUSE_MS);
  const start = performance.now();
  const diagnostics = await client.diagnostics(client.change(file, text));
  const ms = performance.now() - start;
  client.close(file);
  results.push({ file, ms });
  console.log([`${Math.round(ms)} ms  ${basename(file)}`, ...diagnostics.map(({ message }) => message)].join("\n  "));
}
await client.end();
rmSync(folder, { recursive: true });
const times = results.map(({ ms }) => ms).toSorted((a, b) => a - b);
const percentile = (share: number): number => Math.round(times[Math.ceil(share * times.length) - 1] ?? 0);
const inTime = times.filter((ms) => ms <= LIMIT_MS).length;
console.log(
  `median ${percentile(0.5)} ms, 90 % within ${percentile(0.9)} ms; ${inTime} of ${times.length} within ${LIMIT_MS / 1000} s; load ${loadavg()[0]?.toFixed(1)}`,
);

/** Makes the folder a project with the packed package and the examples; returns the package's executable. */
function installPackage(): string {
  const installed = join(folder, "node_modules/tilescript");
  mkdirSync(installed, { recursive: true });
  execFileSync("tar", ["-xf", pack(folder).tarball, "-C", installed, "--strip-components=1"]);
  const modules = join(root, "node_modules");
  for (const name of readdirSync(modules)) symlinkSync(join(modules, name), join(folder, "node_modules", name));
  cpSync(join(root, "examples"), join(folder, "examples"), {
    recursive: true,
    // Its tsconfig.json extends that of the repository.
    filter: (path) => !path.endsWith(".json"),
  });
  writeFileSync(join(folder, "package.json"), `{ "type": "module" }`);
  return join(installed, "bin/tilescript.js");
}
