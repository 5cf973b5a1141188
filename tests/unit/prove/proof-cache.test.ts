/** Certificates of earlier builds: the same kernel is not proved twice, and any change of it is. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, expect, test } from "vitest";
import type { Certificate, CompiledKernel } from "../../../src/compiled/compiled-kernel.js";
import { build } from "../../../src/pipeline/build.js";
import { openProofCache } from "../../../src/runtime/system/files.js";

const folder = mkdtempSync(join(import.meta.dirname, ".kept-"));
afterAll(() => rmSync(folder, { recursive: true }));

const SOURCE = `import { constexpr, kernel, tensor, tl } from "../../../../src/index.js";

export const copy = kernel(
  "copy",
  {
    params: {
      ids: tensor(tl.int32, ["M"], { range: [0, "N"] }),
      x: tensor(tl.float32, ["N"]),
      y: tensor.out(tl.float32, ["M"]),
      BLOCK: constexpr(),
    },
    grid: ({ M, BLOCK }) => [tl.cdiv(M, BLOCK)],
    autotune: { key: ["M"], configs: [{ BLOCK: 16 }] },
  },
  ({ ids, x, y, BLOCK }) => {
    const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    tl.store(y.at(i), tl.load(x.at(tl.inBounds(tl.load(ids.at(i), { other: 0 })))));
  },
);
`;

let count = 0;
async function built(source: string): Promise<CompiledKernel> {
  const file = join(folder, `copy-${count++}.ts`);
  writeFileSync(file, source);
  const { copy } = (await import(pathToFileURL(file).href)) as { copy: unknown };
  return build(copy);
}

/** Proves with a cache on disk, and says whether the cache knew the answer. */
function proved(of: CompiledKernel): { readonly proof: Certificate; readonly isKept: boolean } {
  const cache = openProofCache(folder)!;
  let isKept = true;
  const proof = of.proof({ read: cache.read, write: (text, kept) => ((isKept = false), cache.write(text, kept)) });
  return { proof, isKept };
}

test("the same kernel is proved once, also where it moves in its file", async () => {
  const first = proved(await built(SOURCE));
  expect(first.isKept).toBe(false);
  const again = proved(await built(SOURCE));
  expect(again.isKept).toBe(true);
  expect(again.proof.obligations.map(({ verdict }) => verdict)).toEqual(
    first.proof.obligations.map(({ verdict }) => verdict),
  );
  const below = SOURCE.replace("export const", "// A comment.\n\nexport const");
  const moved = proved(await built(below));
  expect(moved.isKept).toBe(true);
  const placed = ({ obligations }: Certificate, by: number) =>
    obligations.map(({ of, at, verdict }) => ({ of, verdict, at: at && { ...at, file: "", line: at.line + by } }));
  expect(placed(moved.proof, 0)).toEqual(placed(first.proof, 2));
  expect(moved.proof.obligations.every(({ at }) => at!.file.endsWith(`copy-${count - 1}.ts`))).toBe(true);
});

test.each([
  ["a mask", "y.at(i)", "y.at(tl.inBounds(i))"],
  ["a config", "[{ BLOCK: 16 }]", "[{ BLOCK: 32 }]"],
  ["a declared range", '[0, "N"]', "[0, 9]"],
  ["a tensor's layout", 'tensor(tl.float32, ["N"])', 'tensor(tl.float32, ["N"], { contiguous: true })'],
  ["the width of offsets", 'tensor(tl.float32, ["N"])', 'tensor(tl.float32, ["N"], { offsets: tl.int64 })'],
  ["the dtype of an input", "tensor(tl.int32", "tensor(tl.int64"],
  ["an output that holds zeros", 'out(tl.float32, ["M"])', 'out(tl.float32, ["M"], { zeroed: true })'],
  ["a requirement", "grid:", "requires: ({ M }) => [M.ge(1)],\n    grid:"],
  ["the grid", "tl.cdiv(M, BLOCK)]", "M]"],
  ["the inputs of cases", "grid:", "inputs: ({ M }, torch) => ({ ids: torch.zeros([M]).to(tl.int32) }),\n    grid:"],
  ["a number in an argument", "other: 0", "other: 1"],
])("a kernel that differs is proved anew: %s", async (_, from, to) => {
  expect(SOURCE).toContain(from);
  expect(proved(await built(SOURCE.replace(from, to))).isKept).toBe(false);
});

test.each(["doc", "shapes", "flops", "op", "reference"])("a config of a constexpr named %s counts", async (name) => {
  const source = SOURCE.replaceAll("BLOCK", name);
  proved(await built(source));
  expect(proved(await built(source)).isKept).toBe(true);
  expect(proved(await built(source.replace(`{ ${name}: 16 }`, `{ ${name}: 32 }`))).isKept).toBe(false);
});
