/** Files that transfer a call's tensors between this process and a worker, on this machine or another. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, posix } from "node:path";
import type { Host } from "../worker/host.js";

export interface CallFolder {
  /** Its path as seen by the worker. */
  readonly path: string;
  write(path: string, bytes: Uint8Array): Promise<void>;
  read(name: string): Promise<Uint8Array>;
  remove(): Promise<void>;
}

/** Creates an empty folder next to the called module. */
export async function openCallFolder(module: string, host: Host | undefined): Promise<CallFolder> {
  if (host) return openRemoteFolder(host);
  const path = await mkdtemp(join(dirname(module), "call-"));
  return {
    path,
    write: (file, bytes) => writeFile(file, bytes),
    read: (name) => readFile(join(path, name)),
    remove: () => rm(path, { recursive: true, force: true }),
  };
}

/** Bytes per message; a multiple of three because messages use base64. */
const CHUNK_BYTES = 3 << 20;

async function openRemoteFolder(host: Host): Promise<CallFolder> {
  const { path: file, remove } = await host.upload("call", "");
  const path = posix.dirname(file);
  return {
    path,
    remove,
    async write(to, bytes) {
      for (let offset = 0; offset === 0 || offset < bytes.length; offset += CHUNK_BYTES) {
        const data = Buffer.from(bytes.subarray(offset, offset + CHUNK_BYTES)).toString("base64");
        await host.ask({ do: "write", path: to, data, first: offset === 0 });
      }
    },
    async read(name) {
      const chunks: Buffer[] = [];
      for (let offset = 0; ; offset += CHUNK_BYTES) {
        const data = await host.ask<string>({
          do: "read",
          path: posix.join(path, name),
          from: offset,
          most: CHUNK_BYTES,
        });
        const chunk = Buffer.from(data, "base64");
        chunks.push(chunk);
        if (chunk.length < CHUNK_BYTES) return Buffer.concat(chunks);
      }
    },
  };
}
