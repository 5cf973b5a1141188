/** Trials of earlier searches: what they depend on. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { build, constexpr, kernel, tensor, tl } from "tilescript";
import type { CompiledKernel } from "../../../src/compiled/compiled-kernel.js";
import { TrialCache } from "../../../src/runtime/measure/candidates.js";
import type { PythonDevice } from "../../../src/runtime/devices/device.js";

const folder = mkdtempSync(join(tmpdir(), "tilescript-trials-"));
afterAll(() => rmSync(folder, { recursive: true }));

interface Made {
  readonly factor?: number;
  readonly atol?: number;
  readonly below?: number;
}

const make = ({ factor = 2, atol = 0.1, below = 9 }: Made = {}): Promise<CompiledKernel> =>
  build(
    kernel(
      "doubled",
      {
        params: {
          x: tensor(tl.int32, ["N"], { range: [0, below] }),
          y: tensor.out(tl.float32, ["N"]),
          BLOCK: constexpr(),
        },
        grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
        config: { BLOCK: 32 },
        tolerance: { atol },
      },
      ({ x, y, BLOCK }) => {
        const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
        tl.store(y.at(i), tl.load(x.at(i)).to(tl.float32).mul(factor));
      },
    ),
  );

const device = { deviceName: "a GPU", torch: "2.11.0", triton: "3.6.0" };

async function opened(made: Made = {}, { deviceName, torch, triton }: typeof device = device, N = 64) {
  const on = { hello: { deviceName, versions: { python: "3.11", numpy: "2.3", torch, triton } } } as PythonDevice;
  const at = { sizes: { N }, dtypes: {}, config: 0, seed: 0 };
  return TrialCache.open(await make(made), on, [at], { XDG_CACHE_HOME: folder });
}

test("a trial is remembered until something changes that it depends on", async () => {
  const first = await opened();
  first.set(0, 0, { wrong: "it is" });
  await first.saved;
  expect((await opened()).get(0, 0)).toEqual({ wrong: "it is" });
  const others = {
    kernel: await opened({ factor: 3 }),
    tolerance: await opened({ atol: 0.2 }),
    range: await opened({ below: 8 }),
    size: await opened({}, device, 65),
    GPU: await opened({}, { ...device, deviceName: "another GPU" }),
    torch: await opened({}, { ...device, torch: "2.12.0" }),
    triton: await opened({}, { ...device, triton: "3.9.0" }),
  };
  for (const [changed, cache] of Object.entries(others)) expect(cache.get(0, 0), changed).toBeUndefined();
});
