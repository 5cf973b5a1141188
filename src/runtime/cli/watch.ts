/** `--watch`: runs the command again, in a new process, whenever a source file changes. What did not change stays proved. */
import { existsSync, readFileSync, rmSync, watch as watchFolder } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { proofsFolder } from "../system/proof-cache.js";
import { Group } from "../system/process-group.js";
import type { Streams } from "../system/streams.js";

/** An editor writes a file in several steps. */
const SETTLE_MS = 50;

/** Runs until the process is interrupted. */
export async function watch(files: readonly string[], streams: Streams): Promise<never> {
  const args = process.argv.slice(1).filter((argument) => argument !== "--watch");
  const proofs = proofsFolder();
  let running: Group | undefined;
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.once(signal, () => {
      void running?.kill();
      rmSync(proofs.folder, { recursive: true, force: true });
      process.kill(process.pid, signal);
    });
  for (;;) {
    const sources = sourcesOf(files);
    const change = nextChange(sources);
    running = new Group(process.execPath, [...process.execArgv, ...args], {
      env: { ...process.env, ...proofs.env },
      stdio: "inherit",
    });
    const { child, ended } = running;
    void ended.then(() => streams.err(`watching ${sources.size} file${sources.size === 1 ? "" : "s"}\n`));
    const changed = await change;
    child?.kill();
    await ended;
    streams.err(`${relative(process.cwd(), changed)} changed\n`);
  }
}

/** The files, and what they import by relative paths. */
function sourcesOf(files: readonly string[]): Set<string> {
  const found = new Set<string>();
  const queue = files.map((file) => resolve(file));
  for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
    if (found.has(file) || !existsSync(file)) continue;
    found.add(file);
    for (const [, path] of readFileSync(file, "utf8").matchAll(/(?:from|import\(?)\s*["'](\.{1,2}\/[^"']+)["']/g)) {
      const imported = join(dirname(file), path!);
      queue.push(imported, imported.replace(/\.([cm]?)js$/, ".$1ts"), `${imported}.ts`);
    }
  }
  return found;
}

/** Watches folders instead of files, because an editor may replace a file by a new one. */
function nextChange(sources: ReadonlySet<string>): Promise<string> {
  return new Promise((settle) => {
    const watchers = [...new Set([...sources].map(dirname))].map((folder) =>
      watchFolder(folder, (_, name) => {
        const path = [...sources].find((source) => dirname(source) === folder && basename(source) === name);
        if (path === undefined) return;
        for (const watcher of watchers) watcher.close();
        setTimeout(() => settle(path), SETTLE_MS);
      }),
    );
  });
}
