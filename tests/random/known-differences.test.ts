/**
 * What random kernels leave out on Triton's interpreter: each is something that the interpreter cannot do, or does otherwise
 * than a compiled kernel. Where a test fails because the two agree, the exclusion is no longer needed.
 */
import { beforeAll, describe, expect, test } from "vitest";
import { kernel, libdevice, scalar, tensor, tl } from "tilescript";
import { type Case, caseFor } from "./cases.js";
import { exact } from "./exactness.js";
import { unlikeInterpreter } from "./interpreter.js";
import { checked } from "./jobs.js";
import { interpreted, type Summary } from "./python.js";

const made = (body: (x: any, args: any) => any, more: object = {}, scalars: Record<string, number> = {}) =>
  checked({
    kernel: kernel(
      "unlike",
      {
        params: { x: tensor(tl.float32, [16]), y: tensor.out(tl.float32, [16]), ...more },
        grid: () => [1],
      } as never,
      (({ x, y, ...args }: any) => {
        const lanes = tl.arange(0, 16);
        tl.store(y.at(lanes), body(tl.load(x.at(lanes)), args).to(tl.float32));
      }) as never,
    ),
    outputs: [{ name: "y", dtype: "float32", shape: [16], partial: false, rule: exact }],
    sizes: {},
    scalars,
  });

/** By what the exclusion says of it; the last two are left out while the kernel is built. */
const kernels = {
  "float8 is computed on bit patterns": made((x) => x.to(tl.float8e5)),
  "a loop's index": made((x) => {
    const last: any = tl.mut(x);
    for (const i of tl.range(1, 3)) last.value = tl.full([16], 127, tl.int8).add(i).to(tl.float32);
    return last.value;
  }),
  "a float argument": made((_, { s }) => tl.full([16], 3, tl.float16).mul(s), { s: scalar(tl.float32) }, { s: 1.1 }),
  map_elementwise: made((x) => tl.mapElementwise((a: any) => a.add(1), x)),
  libdevice: made((x) => libdevice.ceil(x)),
};

describe("Triton's interpreter is no witness of", () => {
  const names = Object.keys(kernels) as (keyof typeof kernels)[];
  let found: Summary;
  beforeAll(async () => {
    found = await interpreted(
      names.map((name, i) => {
        const of = caseFor(i + 1, kernels[name]);
        if ("left" in of) throw new Error(`${name}: ${of.why}`);
        return of satisfies Case;
      }),
    );
  }, 60_000);

  test.each(names)("%s", (name) => {
    const id = String(names.indexOf(name) + 1);
    expect(found.failures.map((failure) => failure.id)).toContain(id);
  });

  test.each(names.slice(0, 3))("%s, so that such kernels are left out", (name) => {
    expect(unlikeInterpreter(kernels[name].ir)).toMatch(name);
  });

  test("none of what it does like a compiled kernel", async () => {
    const plain = made((x) => x.mul(2));
    expect(unlikeInterpreter(plain.ir)).toBeUndefined();
    const { agree, failures } = await interpreted([caseFor(1, plain) as Case]);
    expect({ agree, failures }).toEqual({ agree: 1, failures: [] });
  });
});
