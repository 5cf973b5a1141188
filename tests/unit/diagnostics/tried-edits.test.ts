/** The edits of remedies that `check` tried: they are what the remedy says, and prove the file. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { kernelFileOf, type KernelFileParts } from "../../../src/diagnostics/explanations/explanation.js";
import { edited, editsOf, faultsOf } from "./example-output.js";

const FOLDER = join(import.meta.dirname, ".tried-edits");
afterAll(() => rmSync(FOLDER, { recursive: true, force: true }));

const XY = `x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"])`;
const WITH_IDS = `${XY}, ids: tensor(tl.int32, ["N"]), BLOCK: constexpr()`;
const SUM = `const values = tl.exp(tl.load(x.at(i)));\ntl.store(y.at(i), values.div(tl.sum(values, 0)));`;

test.each<readonly [title: string, wrong: KernelFileParts, adds: string]>([
  [
    "a range",
    {
      params: WITH_IDS,
      names: "x, y, ids, BLOCK",
      spec: "reference: ({ x, ids }) => x.index_select(0, ids),",
      body: "tl.store(y.at(i), tl.load(x.at(tl.inBounds(tl.load(ids.at(i))))));",
    },
    `ids: tensor(tl.int32, ["N"], { range: [0, "N"] })`,
  ],
  [
    "a range beside another option",
    {
      params: WITH_IDS.replace(`tl.int32, ["N"]`, `tl.int32, ["N"], { contiguous: true }`),
      names: "x, y, ids, BLOCK",
      spec: "reference: ({ x, ids }) => x.index_select(0, ids),",
      body: "tl.store(y.at(i), tl.load(x.at(tl.inBounds(tl.load(ids.at(i))))));",
    },
    `{ contiguous: true, range: [0, "N"] }`,
  ],
  [
    "the extent of a pointer",
    {
      params: `${XY}, p: pointer(tl.float32), BLOCK: constexpr()`,
      names: "p, x, y, N, BLOCK",
      body: "tl.store(y.at(i), tl.load(p.add(i), { mask: i.lt(N), other: 0 }).add(tl.load(x.at(i))));",
    },
    `pointer(tl.float32, { numel: "N" })`,
  ],
  [
    "an output that starts with zeros",
    {
      params: WITH_IDS.replace(/x: .*?, y/, "y"),
      names: "y, ids, BLOCK",
      body: "tl.atomicMax(y.at(tl.load(ids.at(i))), 1);",
    },
    `tensor.out(tl.float32, ["N"], { zeroed: true })`,
  ],
  [
    "the value of lanes that a mask leaves out",
    {
      config: "config: { BLOCK: 64 },",
      spec: "requires: ({ N, BLOCK }) => [N.le(BLOCK)],\nreference: ({ x }) => x.exp().div(x.exp().sum(0)),",
      body: SUM,
    },
    "tl.load(x.at(i), { other: -Infinity })",
  ],
  [
    "the value of lanes that replaces another",
    {
      config: "config: { BLOCK: 64 },",
      spec: "requires: ({ N, BLOCK }) => [N.le(BLOCK)],\nreference: ({ x }) => x.exp().div(x.exp().sum(0)),",
      body: SUM.replace("x.at(i)", "x.at(i), { other: 0 }"),
    },
    "tl.load(x.at(i), { other: -Infinity })",
  ],
  [
    "a barrier",
    {
      params: `z: tensor.inout(tl.float32, ["N"]), ids: tensor(tl.int32, ["N"], { range: [0, "N"] }), BLOCK: constexpr()`,
      names: "z, ids, N, BLOCK",
      grid: "() => [1]",
      spec: "requires: ({ N, BLOCK }) => [N.le(BLOCK)],\nreference: ({ z, ids }) => z.index_select(0, ids).mul(2),",
      body: `const id = tl.load(ids.at(i), { other: 0 });
const last = tl.load(z.at(tl.inBounds(id)), { mask: i.lt(N), other: 0 });
tl.store(z.at(i), last.mul(2));`,
    },
    "tl.debugBarrier();\n    tl.store(z.at(i)",
  ],
  [
    "an assumption that is left out",
    {
      params: WITH_IDS,
      names: "x, y, ids, BLOCK",
      body: "tl.assume(tl.load(ids.at(0), { other: 1 }).ge(1));\ntl.store(y.at(i), tl.load(x.at(i)).add(tl.load(ids.at(i))));",
    },
    "tl.arange(0, BLOCK));\n    tl.store(y.at(i)",
  ],
])("%s", async (title, wrong, adds) => {
  const file = join(FOLDER, title.replaceAll(" ", "-"), "wrong.ts");
  const edits = await editsOf(file, kernelFileOf(wrong), {});
  const text = edited(file, edits);
  expect(text).toContain(adds);
  const faults = await faultsOf(file.replace("wrong", "edited"), text, {});
  expect(faults).toMatchObject({ said: [], open: [], findings: [] });
});
