/** The files that carry a call's elements between this process and a worker, on this machine or on another. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, posix } from "node:path";
import type { Host } from "../worker/host.js";

export interface CallFolder {
  /** Its path for the worker. */
  readonly path: string;
  write(path: string, bytes: Uint8Array): Promise<void>;
  read(name: string): Promise<Uint8Array>;
  remove(): Promise<void>;
}

/** An empty folder beside the module that is called. */
export async function openCallFolder(module: string, host: Host | undefined): Promise<CallFolder> {
  if (host) return folderThere(host);
  const path = await mkdtemp(join(dirname(module), "call-"));
  return {
    path,
    write: (file, bytes) => writeFile(file, bytes),
    read: (name) => readFile(join(path, name)),
    remove: () => rm(path, { recursive: true, force: true }),
  };
}

/** Bytes of one message, a multiple of three because they travel in base64. */
const PART = 3 << 20;

async function folderThere(host: Host): Promise<CallFolder> {
  const { path: file, remove } = await host.place("call", "");
  const path = posix.dirname(file);
  return {
    path,
    remove,
    async write(to, bytes) {
      for (let from = 0; from === 0 || from < bytes.length; from += PART) {
        const data = Buffer.from(bytes.subarray(from, from + PART)).toString("base64");
        await host.ask({ do: "write", path: to, data, first: from === 0 });
      }
    },
    async read(name) {
      const parts: Buffer[] = [];
      for (let from = 0; ; from += PART) {
        const data = await host.ask<string>({ do: "read", path: posix.join(path, name), from, most: PART });
        parts.push(Buffer.from(data, "base64"));
        if (parts.at(-1)!.length < PART) return Buffer.concat(parts);
      }
    },
  };
}
