/** Certificates that `check --watch` keeps from one run to the next, as files in a folder of its own. */
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deserialize, serialize } from "node:v8";
import type { KeptProof, ProofCache } from "../../compiled/compiled-kernel.js";

/** Names the folder to the processes that a watching one starts. */
const FOLDER = "TILESCRIPT_PROOFS";

/** A folder for certificates, and what tells a process of it. */
export function proofsFolder(): { readonly folder: string; readonly env: Readonly<Record<string, string>> } {
  const folder = mkdtempSync(join(tmpdir(), "tilescript-proofs-"));
  return { folder, env: { [FOLDER]: folder } };
}

/** The certificates of earlier runs; undefined where nobody watches. */
export function keptProofs(folder = process.env[FOLDER]): ProofCache | undefined {
  if (!folder) return undefined;
  const pathOf = (text: string) => join(folder, createHash("sha256").update(text).digest("hex"));
  return {
    read(text) {
      try {
        return deserialize(readFileSync(pathOf(text))) as KeptProof;
      } catch {
        return undefined;
      }
    },
    write(text, kept) {
      // A change may end this process while it writes.
      const partial = `${pathOf(text)}.${process.pid}`;
      try {
        writeFileSync(partial, serialize(kept));
        renameSync(partial, pathOf(text));
      } catch {
        // A full disk, or a folder that is gone: the next run proves it again.
        removeIfThere(partial);
      }
    },
  };
}

function removeIfThere(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // Its folder is gone, too.
  }
}
