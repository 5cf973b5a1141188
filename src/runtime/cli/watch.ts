/**
 * `--watch`: reruns the command in a new process whenever a source file changes. Proofs of unchanged kernels are
 * cached.
 */
import { rmSync, watch as watchFolder } from "node:fs";
import { basename, dirname, relative } from "node:path";
import { sourcesOf } from "../invocation/source-files.js";
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
