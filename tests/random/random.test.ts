/** Random kernels, new ones in each run: accepted by both versions of Triton, and computed as its interpreter does. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { expect, test } from "vitest";
import { TileScriptError } from "tilescript";
import { requirePython } from "../runtime/helpers.js";
import { caseOf } from "./cases.js";
import { recipeOf } from "./draw.js";
import { unlikeInterpreter } from "./interpreter.js";
import { type Accepted, accept, compileScript, jobOf } from "./jobs.js";
import { typescriptOf } from "./typescript.js";
import { Worker } from "./workers.js";

const seed = Number(process.env["TILESCRIPT_FUZZ_SEED"] ?? Math.floor(Math.random() * 2 ** 30));
const SECONDS = 15;
/** A run that is slower than this says so. */
const AT_LEAST = 10;

async function accepted(
  python: string,
  isNewest: boolean,
): Promise<{ tried: number; refused: number; failed: string[] }> {
  const worker = new Worker(python, compileScript);
  const [failed, end]: [string[], number] = [[], Date.now() + SECONDS * 1000];
  let [tried, refused] = [0, 0];
  for (let i = 0; Date.now() < end; i++) {
    let made: Accepted;
    try {
      made = accept(recipeOf(seed + i));
    } catch (error) {
      if (!(error instanceof TileScriptError)) throw error;
      refused++;
      continue;
    }
    if (made.since39 && !isNewest) continue;
    tried++;
    const { error } = await worker.ask(jobOf(String(i), made, "ttir", "odd"));
    if (error !== undefined) failed.push(`seed ${seed + i}: ${error.slice(0, 1500)}\n${typescriptOf(made.ir)}`);
  }
  worker.close();
  return { tried, refused, failed };
}

test("Triton accepts what the checks accept", { timeout: 180_000 }, async () => {
  const second = process.env["TILESCRIPT_PYTHON36"];
  for (const python of [await requirePython(), ...(second ? [second] : [])]) {
    const { tried, refused, failed } = await accepted(python, python !== second);
    console.log(`seed ${seed}: ${tried} random kernels compiled, ${refused} refused by checks`);
    expect(failed).toEqual([]);
    expect(tried).toBeGreaterThanOrEqual(AT_LEAST);
    expect(refused).toBeLessThan((tried + refused) / 10 + 3);
  }
});

test("the evaluator computes what Triton's interpreter does", { timeout: 300_000 }, async () => {
  const lines: string[] = [];
  for (let i = 0; lines.length < 24; i++) {
    const made = caseOf(seed + i);
    if ("left" in made || "left" in made.found || unlikeInterpreter(made.made.ir)) continue;
    lines.push(JSON.stringify(made.found));
  }
  const folder = mkdtempSync(join(tmpdir(), "tilescript-random-"));
  try {
    const [cases, out] = [join(folder, "cases.jsonl"), join(folder, "out.json")];
    writeFileSync(cases, `${lines.join("\n")}\n`);
    const script = fileURLToPath(new URL("../../bench/random_kernels.py", import.meta.url));
    const env = { TRITON_INTERPRET: "1" };
    const args = [script, "--cases", cases, "--out", out, "--processes", "1"];
    await execa(await requirePython(), args, { env, reject: false });
    const result = JSON.parse(readFileSync(out, "utf8")) as { kernels: number; failures: unknown[] };
    console.log(`seed ${seed}: ${result.kernels} random kernels on Triton's interpreter`);
    expect(result.failures).toEqual([]);
    expect(result.kernels).toBe(24);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
