/** Where an environment is made: on this machine or on another. */
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

export interface SetupPlace {
  readonly env: NodeJS.ProcessEnv;
  readonly home: string;
  readonly platform: string;
  /** The end of a phrase: "" or " on box". */
  readonly where: string;
  exists(path: string): Promise<boolean>;
  remove(folder: string): Promise<void>;
  /** Bytes that a user may write below a folder. */
  free(folder: string): Promise<number>;
  write(path: string, text: string): Promise<void>;
  /** Creates the folder and waits until no other setup works in it. Returns what lets others work there. */
  lock(folder: string, say: (line: string) => void): Promise<() => Promise<void>>;
  run(command: string, args: readonly string[], options: RunOptions): Promise<ProgramResult>;
  /** Python's arguments for a module that ends with the setup. */
  module(...args: readonly string[]): readonly string[];
  /** The path there of a list of packages. */
  listed(lock: string): Promise<string>;
}

export function placeHere(env: NodeJS.ProcessEnv): SetupPlace {
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
    lock: async (folder, say) => {
      const file = `${folder}.lock`;
      try {
        await mkdir(folder, { recursive: true });
        return await acquireLock(file, (pid) =>
          say(
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

export function placeOn(host: Host): SetupPlace {
  return {
    env: host.env,
    home: host.home,
    platform: host.platform,
    where: ` on ${host.name}`,
    exists: (path) => host.exists(path),
    remove: (folder) => host.ask({ do: "remove", path: folder }),
    free: (path) => host.ask({ do: "free", path }),
    write: (path, text) => host.ask({ do: "replace", path, text }),
    lock: async (folder, say) => {
      await host.ask({ do: "make", path: folder });
      const wait = (): Promise<boolean> => host.ask<boolean>({ do: "lock", path: `${folder}.lock` });
      for (let waiting = false; !(await wait()); waiting = true) {
        if (!waiting) say(`another setup is running on ${host.name}; waiting for it`);
        await sleep(POLL_MS);
      }
      // It is locked until the connection ends.
      return async () => undefined;
    },
    run: (command, args, options) => host.run(command, args, options),
    // The agent ends what it started when the connection ends.
    module: (...args) => pythonModule(args[0]!, ...args.slice(1)),
    listed: async (lock) => (await host.place("requirements.lock", await readFile(lock, "utf8"))).path,
  };
}
