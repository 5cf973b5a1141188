/** Cases, either random kernels or examples, on Triton's interpreter, through the script that runs them on a GPU. */
import { execa } from "execa";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { requirePython } from "../../support/python.js";
import type { Case } from "./cases.js";

const script = fileURLToPath(new URL("../../../bench/agreement.py", import.meta.url));

/** What `agreement.py` writes of random kernels, or of examples. */
export interface Summary {
  readonly kernels: number;
  readonly agree: number;
  readonly failures: readonly { readonly id: string; readonly error?: string; readonly wrong?: readonly string[] }[];
}

/** `corrected`: with the corrections of TileScript's worker. */
export async function interpreted(
  cases: readonly Case[],
  { processes = 2, corrected = true }: { readonly processes?: number; readonly corrected?: boolean } = {},
): Promise<Summary> {
  const folder = await mkdtemp(join(tmpdir(), "random-kernels-"));
  const [from, out] = [join(folder, "cases.jsonl"), join(folder, "result.json")];
  try {
    await writeFile(from, cases.map((each) => `${JSON.stringify(each)}\n`).join(""));
    const args = [
      script,
      "--cases",
      from,
      "--out",
      out,
      "--processes",
      String(processes),
      ...(corrected ? [] : ["--uncorrected"]),
    ];
    const ran = await execa(await requirePython(), args, { env: { TRITON_INTERPRET: "1" }, reject: false });
    const text = await readFile(out, "utf8").catch(() => undefined);
    if (text === undefined) throw new Error(ran.stderr);
    const { random, examples } = JSON.parse(text) as Record<"random" | "examples", Summary>;
    return cases.some(({ example }) => example !== undefined) ? examples : random;
  } finally {
    await rm(folder, { recursive: true });
  }
}
