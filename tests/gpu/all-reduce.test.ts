/** The all-reduce of the examples, on the GPUs of this machine. Skipped, and counted so, where there are fewer than two. */
import { execa } from "execa";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { build } from "tilescript";
import { allReduce } from "../../examples/all-reduce.js";
import { sampledTests } from "../support/sampled-tests.js";
import { requirePython } from "../support/python.js";

sampledTests("an all-reduce over GPUs");

const script = fileURLToPath(new URL("../../examples/all_reduce_ranks.py", import.meta.url));

test(
  "every GPU should have the sum, and a machine with fewer than two say so",
  { timeout: 300_000 },
  async (context) => {
    const folder = await mkdtemp(join(tmpdir(), "tilescript-all-reduce-"));
    try {
      const { python, file } = await build(allReduce);
      await writeFile(join(folder, file), python);
      const { stdout } = await execa(await requirePython(), [script, join(folder, file)]);
      const skipped = /^skipped: an all-reduce needs two GPUs of one host; here are [01]$/.exec(stdout);
      if (skipped) context.skip(skipped[0]);
      expect(stdout).toMatch(/passed on \d+ GPUs$/);
    } finally {
      await rm(folder, { recursive: true });
    }
  },
);
