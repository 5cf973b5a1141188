/** The certificates that `check --watch` keeps between runs, in a temporary folder. */
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deserialize, serialize } from "node:v8";
import type { CachedProof, ProofCache } from "../../compiled/compiled-kernel.js";

/** The environment variable that passes the folder to child processes of `--watch`. */
const FOLDER_VARIABLE = "TILESCRIPT_PROOFS";

/** Creates a folder for certificates, and the environment that passes it to child processes. */
export function createProofFolder(): { readonly folder: string; readonly env: Readonly<Record<string, string>> } {
  const folder = mkdtempSync(join(tmpdir(), "tilescript-proofs-"));
  return { folder, env: { [FOLDER_VARIABLE]: folder } };
}

/** The cache of certificates; undefined without `--watch`. */
export function openProofCache(folder = process.env[FOLDER_VARIABLE]): ProofCache | undefined {
  if (!folder) return undefined;
  const pathOf = (text: string) => join(folder, createHash("sha256").update(text).digest("hex"));
  return {
    read(text) {
      try {
        return deserialize(readFileSync(pathOf(text))) as CachedProof;
      } catch {
        return undefined;
      }
    },
    write(text, proof) {
      // `--watch` may kill this process while it writes.
      const temporary = `${pathOf(text)}.${process.pid}`;
      try {
        writeFileSync(temporary, serialize(proof));
        renameSync(temporary, pathOf(text));
      } catch {
        // The disk is full or the folder is gone: the next run proves the kernel again.
        removeIfExists(temporary);
      }
    },
  };
}

function removeIfExists(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // The folder is gone as well.
  }
}
