/** The machine on which `setup` creates an environment: this one or a remote one. */
import { existsSync } from "node:fs";
import { mkdir, readFile, rm, statfs } from "node:fs/promises";
import { homedir } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { replaceFile } from "../system/files.js";
import { acquireLock } from "../system/process-lock.js";
import { EnvironmentError } from "../system/errors.js";
import { type ProgramResult, runProgram } from "../system/run-program.js";
import type { Host, RunOptions } from "./host.js";
import { pythonEnv, pythonModule } from "./start-python.js";

export interface SetupMachine {
  readonly env: NodeJS.ProcessEnv;
  readonly home: string;
  readonly platform: string;
  /** A suffix for messages: "" or " on box". */
  readonly where: string;
  exists(path: string): Promise<boolean>;
  remove(folder: string): Promise<void>;
  /** The free bytes that the user may write in a folder. */
  free(folder: string): Promise<number>;
  write(path: string, text: string): Promise<void>;
  /** Creates the folder and waits until no other setup uses it. Returns a function that releases the lock. */
  lock(folder: string, onProgress: (line: string) => void): Promise<() => Promise<void>>;
  run(command: string, args: readonly string[], options: RunOptions): Promise<ProgramResult>;
  /** Python's arguments for a module that ends with the setup. */
  module(...args: readonly string[]): readonly string[];
  /** The path of a lock file on that machine. */
  listed(lock: string): Promise<string>;
}

export function localMachine(env: NodeJS.ProcessEnv): SetupMachine {
  return {
    env,
    home: homedir(),
    platform: process.platform,
    where: "",
    exists: async (path) => existsSync(path),
    remove: (folder) => rm(folder, { recursive: true, force: true }),
    free: async (folder) => {
      const { bavail, bsize } = await statfs(folder);
      return bavail * bsize;
    },
    write: replaceFile,
    lock: async (folder, onProgress) => {
      const file = `${folder}.lock`;
      try {
        await mkdir(folder, { recursive: true });
        return await acquireLock(file, (pid) =>
          onProgress(
            `another setup is running (process ${pid}); waiting for it. If that process is not a setup, delete ${file}`,
          ),
        );
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        throw new EnvironmentError(`cannot create ${folder} (${code}); set XDG_CACHE_HOME to a writable folder`);
      }
    },
    run: (command, args, options) =>
      runProgram(command, args, { ...options, env: { ...pythonEnv(env), ...options.env } }),
    module: (...args) => pythonModule("tilescript_worker.parent_watch", String(process.pid), ...args),
    listed: async (lock) => lock,
  };
}

const POLL_MS = 1_000;

export function remoteMachine(host: Host): SetupMachine {
  return {
    env: host.env,
    home: host.home,
    platform: host.platform,
    where: ` on ${host.name}`,
    exists: (path) => host.exists(path),
    remove: (folder) => host.ask({ do: "remove", path: folder }),
    free: (path) => host.ask({ do: "free", path }),
    write: (path, text) => host.ask({ do: "replace", path, text }),
    lock: async (folder, onProgress) => {
      await host.ask({ do: "make", path: folder });
      const tryLock = (): Promise<boolean> => host.ask<boolean>({ do: "lock", path: `${folder}.lock` });
      for (let isWaiting = false; !(await tryLock()); isWaiting = true) {
        if (!isWaiting) onProgress(`another setup is running on ${host.name}; waiting for it`);
        await sleep(POLL_MS);
      }
      // The agent releases the lock when the connection ends.
      return async () => undefined;
    },
    run: (command, args, options) => host.run(command, args, options),
    // The agent kills its child processes when the connection ends.
    module: (...args) => pythonModule(args[0]!, ...args.slice(1)),
    listed: async (lock) => (await host.upload("requirements.lock", await readFile(lock, "utf8"))).path,
  };
}
