/** Pointer arithmetic of imported kernels becomes views where the IR stays equal, and is left alone elsewhere. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { sampledTests } from "../../support/sampled-tests.js";
import { typeErrors } from "../../support/tsc.js";
import { importedOnce, useImporter } from "./importer.js";

sampledTests("accesses that become views", "src/import/lift");

const file = fileURLToPath(new URL("lift.py", import.meta.url));
const written = readFileSync(file, "utf8").matchAll(/^# (\d+ of \d+)\n# (.*)\n@triton\.jit\ndef (\w+)/gm);
const kernels = [...written].map(([, views, types, name]) => ({ name: name!, types: types!, views: views! }));

const { importedByTypes } = useImporter();
const lifted = importedOnce((name) =>
  importedByTypes(
    file,
    kernels.find((each) => each.name === name)!,
    { lift: true },
  ),
);

it.each(kernels)("should write $views accesses of $name as views, with the same IR", async ({ name, views }) => {
  const { status, accesses = [], text } = await lifted(name);
  expect(status, text).toBe("equal");
  expect(`${accesses.filter(({ why }) => why === undefined).length} of ${accesses.length}`, text).toBe(views);
});

it("should write what the TypeScript compiler takes", async () => {
  const texts = await Promise.all(kernels.map(async ({ name }) => [`${name}.ts`, (await lifted(name)).text!] as const));
  expect(typeErrors("lifted", Object.fromEntries(texts))).toEqual([]);
});

it.each([
  ["sums", 'x: tensor(tl.float32, ["count"], { contiguous: true }),'],
  ["sums", 'z: tensor.out(tl.float32, ["count"], { contiguous: true }),'],
  ["sums", "tl.load(yPtr.at(at), { other: 1 })"],
  ["rows", 'x: tensor(tl.float16, ["M", "width"]),'],
  ["rows", "tl.load(xPtr.at(tl.inBounds(row), cols), { other: -Infinity })"],
  ["blocks", "tl.store(b.at(rm, rn), a.add(1));"],
  ["moved_before", 'x: tensor.inout(tl.float32, ["M", "width"]),'],
  ["packed", 'x: tensor(tl.float32, ["height", "width"], { contiguous: true }),'],
  ["partly", "tl.load(xPtr.ptr.add(cols.mul(xPtr.stride(0))).add(cols))"],
  ["shifted_masks", "tl.load(xPtr.at(tl.inBounds(at)), { mask: at.add(1).lt(count) })"],
  ["moving", "tl.load(xPtr.at(start.add(at)))"],
  ["product", "tl.load(aPtr.at(tl.inBounds(rm), rk.add(k.mul(BK))))"],
  ["product", 'a: tensor(tl.float16, ["M", "K"]),'],
  ["backwards", "tl.load(xPtr.at(tl.inBounds(i), offs))"],
  ["counted_down", "tl.load(xPtr.at(tl.inBounds(offs.add(K.sub(k)))), { mask: offs.lt(k) })"],
  ["halves", 'x: tensor.inout(tl.float32, ["M", "HEADS", "N"]),'],
  ["one_row", "tl.load(x.at(tl.inBounds(row.add(tl.arange(0, 1))), tl.inBounds(tl.arange(0, D))))"],
  ["one_head", 'q: tensor.inout(tl.float32, ["tokens", "M", "N"]),'],
  ["left_out", 'bias: tensor(tl.float32, ["n"], { contiguous: true }).optional(),'],
  ["left_out", "tl.store(sum.at(tl.inBounds(0)), tl.sum(x.value));"],
  ["flagged", "tl.store(yPtr.at(tl.inBounds(row), offs), x.mul(y));"],
  ["anywhere", "tl.load(x.at(tl.inBounds(at)), { mask: at.lt(n) })"],
  ["anywhere", "tl.store(y.at(at), "],
  ["constants", 'y: tensor.out(tl.float32, ["heads", "D"], { contiguous: true }),'],
])("should declare tensors and write views: %s", async (name, part) => {
  expect((await lifted(name)).text).toContain(part);
});

it("should say why an access stays as it is, with its line of the Python", async () => {
  const why = async (name: string): Promise<readonly (readonly [string, string | undefined])[]> =>
    (await lifted(name)).accesses!.map((each) => [each.of, each.why] as const);
  expect(await why("other_masks")).toEqual([
    ["load of x_ptr", undefined],
    ["store to a pointer", "its address is no sum of a pointer parameter and indices"],
  ]);
  expect(await why("moved_unevenly")).toEqual([
    ["load of x_ptr", "a loop or a branch changes its pointer"],
    ["store to y_ptr", undefined],
  ]);
  const line = readFileSync(file, "utf8").split("\n").indexOf("    tl.store(y_ptr + at - 1, x, mask=at < count)");
  expect((await lifted("other_masks")).accesses![1]!.line).toBe(line + 1);
});
