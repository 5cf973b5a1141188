/** Warp-specialised kernels through real Triton, 3.9 and 3.6, for a GPU that need not be there. */
import { expect, test } from "vitest";
import { build } from "tilescript";
import { gemmPersistentTma } from "../../../examples/gemm-persistent-tma.js";
import { gemm } from "../../../examples/gemm.js";
import { linearGelu } from "../../../examples/linear-gelu.js";
import { drawn, seedOfRun } from "../../support/drawn.js";
import { askScript, tritons } from "../../support/python.js";
import * as products from "../../unit/codegen/fixtures/products.js";

interface Compiled {
  readonly name: string;
  readonly triton: string;
  readonly error?: string;
  readonly registers: number;
  readonly spilled: number;
  readonly shared: number;
  readonly products: number;
}

const SHARED_BYTES = 232_448;

/** A config of each, which the seed of the run draws. */
const all = [
  ["gemm", gemm],
  ["gemm_persistent_tma", gemmPersistentTma],
  ["linear_gelu", linearGelu],
  ["on_two_axes", products.onTwoAxes],
  ["twice", products.twice],
  ["normalised", products.normalised],
] as const;

const kernels = drawn("warp-specialised kernels", all, {
  key: ([name]) => name,
  sources: () => ["src/codegen/gluon/parts.ts", "src/codegen/gluon/gluon-kernel.ts"],
  least: 2,
});

async function asked() {
  const dtypes = ["float16", "bfloat16"];
  return Promise.all(
    kernels.map(async ([name, kernel], i) => ({
      name,
      text: (await build(kernel)).emit({ specialise: "always" }).python,
      configs: [seedOfRun() + i],
      dtype: dtypes[(seedOfRun() + i) % 2],
      others: name === "twice" ? { d: "float32" } : {},
    })),
  );
}

test("should compile for sm_90 with every Triton, without spills and with room in shared memory", async () => {
  const lines = await asked();
  for (const { name: version, python } of await tritons()) {
    const script = new URL("specialised.py", import.meta.url);
    const compiled = await askScript<readonly Compiled[]>(python, script, lines);
    expect(compiled.map(({ name, error }) => ({ name, error }))).toEqual(
      lines.map(({ name }) => ({ name, error: undefined })),
    );
    for (const { triton, spilled, registers, shared, products: count } of compiled) {
      expect(triton.startsWith(version)).toBe(true);
      expect(spilled).toBe(0);
      expect(registers).toBeLessThanOrEqual(255);
      expect(shared).toBeLessThanOrEqual(SHARED_BYTES);
      expect(count).toBeGreaterThan(0);
    }
  }
});
