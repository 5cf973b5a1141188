/**
 * `--watch`: reruns the command in a new process whenever a source file changes. Proofs of unchanged kernels are
 * cached.
 */
import { existsSync, readFileSync, rmSync, watch as watchFolder } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { createProofFolder } from "../system/proof-cache.js";
import { loadExeca, ProcessGroup } from "../system/process-group.js";
import type { Streams } from "../system/streams.js";

/** An editor may write a file in several steps. */
const DEBOUNCE_MS = 50;

/** Runs until the process is interrupted. */
export async function watch(files: readonly string[], streams: Streams): Promise<never> {
  await loadExeca();
  const args = process.argv.slice(1).filter((argument) => argument !== "--watch");
  const proofs = createProofFolder();
  let group: ProcessGroup | undefined;
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.once(signal, () => {
      void group?.kill();
      rmSync(proofs.folder, { recursive: true, force: true });
      process.kill(process.pid, signal);
    });
  for (;;) {
    const sources = sourcesOf(files);
    const change = nextChange(sources);
    streams.err(`watching ${sources.size} file${sources.size === 1 ? "" : "s"}; Ctrl-C ends\n`);
    group = new ProcessGroup(process.execPath, [...process.execArgv, ...args], {
      env: { ...process.env, ...proofs.env },
      stdio: "inherit",
    });
    const { child, completion } = group;
    void completion.then(() => streams.err("waiting for a change\n"));
    const changed = await change;
    child.kill();
    await completion;
    streams.err(`${relative(process.cwd(), changed)} changed\n`);
  }
}

/** The files and their transitive relative imports. */
function sourcesOf(files: readonly string[]): Set<string> {
  const sources = new Set<string>();
  const queue = files.map((file) => resolve(file));
  for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
    if (sources.has(file) || !existsSync(file)) continue;
    sources.add(file);
    for (const [, path = ""] of readFileSync(file, "utf8").matchAll(
      /(?:from|import\(?)\s*["'](\.{1,2}\/[^"']+)["']/g,
    )) {
      const imported = join(dirname(file), path);
      queue.push(imported, imported.replace(/\.([cm]?)js$/, ".$1ts"), `${imported}.ts`);
    }
  }
  return sources;
}

/** Watches folders instead of files, because an editor may replace a file with a new one. */
function nextChange(sources: ReadonlySet<string>): Promise<string> {
  return new Promise((resolvePath) => {
    const watchers = [...new Set([...sources].map(dirname))].map((folder) =>
      watchFolder(folder, (_, name) => {
        const path = [...sources].find((source) => dirname(source) === folder && basename(source) === name);
        if (path === undefined) return;
        for (const watcher of watchers) watcher.close();
        setTimeout(() => resolvePath(path), DEBOUNCE_MS);
      }),
    );
  });
}
