/** Block pointers of old kernels become views, with the IR that Triton 3.6 makes of them, and with their values. */
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { expect, it } from "vitest";
import { sampledTests } from "../../support/sampled-tests.js";
import { inTemporaryFolder, python36, requirePython } from "../../support/python.js";
import { typeErrors } from "../../support/tsc.js";
import { importedOnce, useImporter } from "./importer.js";

sampledTests("block pointers that become views", "src/import");

const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const file = path("block_pointers.py");
const twins = path("block_pointer_twins.py");
const written = readFileSync(file, "utf8").matchAll(/^# (.*)\n# (.*)\n@triton\.jit\ndef (\w+)/gm);
const all = [...written].map(([, says, types, name]) => ({ name: name!, types: types!, says: says! }));
const kernels = all.filter(({ says }) => !says.startsWith("refused"));

const { importedByTypes } = useImporter();
const imported = importedOnce((name) =>
  importedByTypes(
    file,
    all.find((each) => each.name === name)!,
  ),
);

it.each(kernels)("should write $says accesses of $name as views, with the same IR", async ({ name, says }) => {
  const { status, accesses = [], text, blockPointers } = await imported(name);
  expect(status, text).toBe("equal");
  expect(blockPointers).toBe(true);
  expect(`${accesses.filter(({ why }) => why === undefined).length} of ${accesses.length}`, text).toBe(says);
});

it("should write what the TypeScript compiler takes", async () => {
  const texts = await Promise.all(
    kernels.map(async ({ name }) => [`${name}.ts`, (await imported(name)).text!] as const),
  );
  expect(typeErrors("block-pointers", Object.fromEntries(texts))).toEqual([]);
});

it.each([
  ["product", "tl.load(aPtr.at(aRows, unused.add(tl.arange(0, BK))))"],
  ["product", 'b: tensor(T, ["K", "N"]),'],
  ["batched", "tl.load(xPtr.at(tl.inBounds(batch), xRows, xCols), { other: NaN })"],
  ["unchecked", "tl.load(x.at(tl.inBounds(xOffs)))"],
  ["unchecked", 'y: tensor.out(tl.float32, ["N"], { contiguous: true }),'],
])("should declare tensors by the sizes of block pointers: %s", async (name, part) => {
  expect((await imported(name)).text).toContain(part);
});

it("should not mask the lower bound of indices from program ids, also of several in one assignment", async () => {
  const { text } = await imported("named_together");
  expect(text).toContain("{ mask: xCols.row.lt(T) }");
});

it("should refuse a block pointer that is no variable, with its line and what to write", async () => {
  const refused = await imported("handed_back");
  const line =
    readFileSync(file, "utf8")
      .split("\n")
      .findIndex((each) => each.includes("pair = (")) + 1;
  expect(refused).toMatchObject({ status: "not imported", line });
  expect("reason" in refused && refused.reason).toMatch(/no variable of its own; write the address and a mask/);
});

interface Compared {
  readonly other: Readonly<Record<string, unknown>>;
  readonly twins: Readonly<Record<string, unknown>>;
}

it("should take block pointers for the IR that Triton 3.6 and the same kernels with pointers have", async () => {
  await inTemporaryFolder(async (folder) => {
    const older = join(folder, "older.json");
    if (python36) await writeFile(older, (await execa(python36, [twins, "ttir"])).stdout);
    const { stdout } = await execa(await requirePython(), [twins, "compare", ...(python36 ? [older] : [])]);
    const { other, twins: pairs } = JSON.parse(stdout) as Compared;
    expect(pairs).toEqual({ product: null, batched: null, unchecked: null });
    expect(other).toEqual(python36 ? Object.fromEntries(all.map(({ name }) => [name, null])) : {});
  });
});

it.each(["product", "batched", "unchecked"])(
  "should compute what the same kernel with pointers computes: %s",
  async (name) => {
    const { built } = await imported(name);
    await inTemporaryFolder(async (folder) => {
      const module = join(folder, "emitted.py");
      await writeFile(module, built!.python);
      const { stdout } = await execa(await requirePython(), [twins, "run", name, module]);
      expect(stdout).toBe("true");
    });
  },
);
