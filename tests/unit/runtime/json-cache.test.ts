/** What is kept between runs is found again as it was written, or not at all. */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { readCache, writeCached, openProofCache } from "../../../src/runtime/system/files.js";
const folder = await mkdtemp(join(tmpdir(), "cached-"));
afterAll(() => rm(folder, { recursive: true }));

const RESULT = { registers: 128, spills: [0, 12], 'of "it"': null };

test("what was written is read", async () => {
  const file = join(folder, "new", "kept.json");
  await writeCached(file, RESULT);
  expect(await readCache(file)).toEqual(RESULT);
});

test.each([
  ["a digit that changed", (text: string) => text.replace("128", "129")],
  ["another key", (text: string) => text.replace(/"key":"./, '"key":"g')],
  ["a file without its end", (text: string) => text.slice(0, -5)],
  ["an empty file", () => ""],
  ["zeros", (text: string) => "\0".repeat(text.length)],
  ["null", () => "null"],
  ["a number", () => "5"],
  ["a list", () => "[]"],
  ["an object", () => "{}"],
  ["the result alone", () => JSON.stringify(RESULT)],
])("%s is not believed", async (_, change) => {
  const file = join(folder, "changed.json");
  await writeCached(file, RESULT);
  const text = await readFile(file, "utf8");
  expect(change(text)).not.toBe(text);
  await writeFile(file, change(text));
  expect(await readCache(file)).toBeUndefined();
  await writeCached(file, RESULT);
  expect(await readCache(file)).toEqual(RESULT);
});

test("many that write at once leave one whole result", async () => {
  const file = join(folder, "many.json");
  await Promise.all(Array.from({ length: 40 }, (_, i) => writeCached(file, { i, text: "x".repeat(1000 * i) })));
  const kept = await readCache<{ i: number; text: string }>(file);
  expect(kept?.text).toHaveLength(1000 * kept!.i);
  expect((await readdir(folder)).filter((name) => name.startsWith("many"))).toEqual(["many.json"]);
});

test("a place that can't be written costs nothing but time", async () => {
  const taken = join(folder, "taken");
  await writeFile(taken, "");
  await writeCached(join(taken, "kept.json"), RESULT);
  expect(await readCache(join(taken, "kept.json"))).toBeUndefined();
  await mkdir(join(folder, "folder.json"));
  await writeCached(join(folder, "folder.json"), RESULT);
  expect(await readCache(join(folder, "folder.json"))).toBeUndefined();
  const proofs = openProofCache(taken)!;
  expect(() => proofs.write("text", {} as never)).not.toThrow();
  expect(proofs.read("text")).toBeUndefined();
});
