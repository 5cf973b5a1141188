/** No public name of triton.language is missing silently: each is an op, stands elsewhere or is excluded. */
import { execa } from "execa";
import { expect, test } from "vitest";
import { dtypeNames } from "../../../src/types/dtype.js";
import { table } from "../../../src/ops/table.js";
import { libdeviceTable } from "../../../src/rules/libdevice-table.js";
import { requirePython } from "../../support/python.js";
import { elsewhere, excluded, extraExcluded } from "./conformance-excluded.js";

const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const spelled = new Set(
  table.flatMap(({ spelling, name }) => (spelling.form === "call" ? [spelling.name] : [`tl.${snake(name)}`])),
);

async function publicNames(of: string): Promise<string[]> {
  const script = `import triton.language as tl; from triton.language.extra import libdevice; print(*(n for n in dir(${of}) if not n.startswith("_")))`;
  return (await execa(await requirePython(), ["-c", script])).stdout.trim().split(" ");
}

test("triton.language", async () => {
  const names = await publicNames("tl");
  const isOp = (name: string) => spelled.has(`tl.${name}`);
  const isKnown = (name: string) => isOp(name) || (dtypeNames as readonly string[]).includes(name) || name in elsewhere;
  const left = names.filter((name) => !isKnown(name));
  expect(left.filter((name) => !(name in excluded))).toEqual([]);
  // Nothing is listed that is an op by now, or that Triton does not have.
  const listed = Object.keys(excluded);
  expect(listed.filter((name) => isKnown(name))).toEqual([]);
  const removed = new Set(names);
  expect(listed.filter((name) => !removed.has(name))).toEqual([]);
  expect(Object.keys(excluded).length / names.length).toBeLessThan(0.05);
  console.log(`${names.length} names: ${names.filter(isKnown).length} supported, ${listed.length} excluded`);
});

/** Methods and properties of tensors: what is an op is reached as a function too. */
const tensorElsewhere: Readonly<Record<string, string>> = {
  T: "property T",
  dtype: "property dtype",
  shape: "property shape",
  type: "dtype and shape",
  numel: "the product of shape",
  handle: "internal to Triton",
  advance: "block pointers are gone from Triton 3.9",
};

test("methods of tensors", async () => {
  const names = await publicNames("tl.tensor");
  const isKnown = (name: string) => spelled.has(`tl.${name}`) || name in tensorElsewhere;
  expect(names.filter((name) => !isKnown(name))).toEqual([]);
});

test.each(["cuda", "hip"])("triton.language.extra.%s", async (vendor) => {
  const script = `import triton.language as tl; print(*tl.extra.${vendor}.__all__)`;
  const names = (await execa(await requirePython(), ["-c", script])).stdout.trim().split(" ");
  expect(names.length).toBeGreaterThan(2);
  const left = names.filter((name) => !spelled.has(`tl.extra.${vendor}.${name}`));
  expect(left.filter((name) => !(name in extraExcluded))).toEqual([]);
});

test("libdevice", async () => {
  const ours = Object.keys(libdeviceTable).map(snake).sort();
  const theirs = (await publicNames("libdevice")).filter((name) => name !== "core");
  expect(ours).toEqual(theirs.sort());
});
