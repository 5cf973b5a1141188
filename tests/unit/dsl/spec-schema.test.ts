/** A part of a spec that has another form is refused with what was given and what to write. */
import { expect, test } from "vitest";
import { build, constexpr, kernel, NDArray, op, tensor, tl } from "tilescript";
import { TileScriptError } from "../../../src/diagnostics/diagnostic.js";
import { specSchema } from "../../../src/dsl/spec-schema.js";

/** A value of each kind, with what messages call it. */
const kinds = {
  number: [3, "3"],
  fraction: [0.5, "0.5"],
  text: ["N", '"N"'],
  truth: [true, "true"],
  null: [null, "null"],
  list: [[3], "an array"],
  names: [["N"], "an array"],
  object: [{ N: 3 }, "an object"],
  function: [() => 3, "a function"],
  dtype: [tl.float32, "an object"],
  param: [constexpr(), "an object"],
} as const satisfies Readonly<Record<string, readonly [unknown, string]>>;
type Kind = keyof typeof kinds;

/** The kinds that each part may have; what is inside them has questions of its own below. */
const right: { readonly [Part in keyof typeof specSchema]: readonly Kind[] } = {
  params: ["object", "dtype", "param"],
  dims: ["object", "dtype", "param"],
  grid: ["function"],
  autotune: ["object", "dtype", "param"],
  config: ["object", "dtype", "param", "function"],
  heuristics: ["object", "dtype", "param"],
  launch: ["object", "dtype", "param"],
  triton: [],
  targets: ["object", "dtype", "param"],
  warpSpecialize: [],
  doNotSpecialize: ["names", "list"],
  doNotSpecializeOnAlignment: ["names", "list"],
  sameStrides: ["names", "list"],
  requires: ["function"],
  inputs: ["function"],
  reference: ["function"],
  providers: ["object", "dtype", "param"],
  invariant: ["names", "list"],
  flops: ["function"],
  shapes: ["names", "list"],
  tolerance: ["object", "dtype", "param"],
  doc: ["text"],
};

const good = {
  params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr(), E: constexpr.bool() },
  grid: ({ N, BLOCK }: any) => [tl.cdiv(N, BLOCK)],
  config: { BLOCK: 16, E: true },
};
const body = ({ x, y, BLOCK }: any) => {
  const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
  tl.store(y.at(i), tl.load(x.at(i)));
};

/** What the build says of a kernel or an operator with this spec. */
async function said(spec: object, define: (spec: never) => unknown = (of) => kernel("k", of, body as never)) {
  try {
    await build(define(spec as never));
  } catch (error) {
    expect(error).toBeInstanceOf(TileScriptError);
    const { message, at } = (error as TileScriptError).diagnostics[0]!;
    expect(at?.file).toBe(import.meta.filename);
    return message;
  }
  return "";
}

const cases = Object.keys(right).flatMap((part) =>
  (Object.keys(kinds) as Kind[])
    .filter((kind) => !right[part as keyof typeof right].includes(kind))
    .map((kind) => ({ part, kind })),
);

test.each(cases)("$part: $kind", async ({ part, kind }) => {
  const [value, shown] = kinds[kind];
  const { config, ...others } = good;
  const spec = { ...others, ...(part !== "autotune" && { config }), [part]: value };
  const message = await said(spec);
  expect(
    message.startsWith(`k: ${part} is ${part in { triton: 1, warpSpecialize: 1, tolerance: 1 } ? "" : shown}`),
  ).toBe(true);
  // The remedy.
  expect(message).toMatch(/; (\w+ must be|it is|list) .{4}/);
});

const inside: readonly (readonly [spec: object, says: string])[] = [
  [{ grid: [1] }, "k: grid is an array; grid must be a function, such as grid: () => [1]"],
  [{ grid: 4 }, "k: grid is 4; grid must be a function, such as grid: () => [4]"],
  [
    { grid: [constexpr()] },
    "k: grid is an array; grid must be a function, such as grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)]",
  ],
  [{ dims: { H: 3 } }, "k: dims.H is 3; dims must be an object of functions, such as"],
  [{ heuristics: { E: true } }, "k: heuristics.E is true; heuristics must be an object of functions"],
  [{ config: { BLOCK: [16] } }, "k: config.BLOCK is an array; config must be an object of numbers"],
  [{ config: () => 16 }, "k: config gives 16; config must be an object of numbers"],
  [{ config: { BLOCK: 16, E: () => true } }, "k: config.E is a function; config must be an object of numbers"],
  [{ config: undefined, autotune: { key: ["N"] } }, "k: autotune has no configs; autotune must be an object such as"],
  [
    { config: undefined, autotune: { key: "N", configs: [] } },
    'k: autotune.key is "N"; autotune must be an object such as',
  ],
  [
    { config: undefined, autotune: { key: ["N"], configs: { BLOCK: 16 } } },
    "k: autotune.configs is an object; autotune must be an object such as",
  ],
  [
    { config: undefined, autotune: { key: ["N"], configs: [{ BLOCK: 16, E: true }, null] } },
    "k: autotune.configs[1] is null; autotune must be an object such as",
  ],
  [
    { config: undefined, autotune: { key: ["N"], configs: [{ BLOCK: 16, E: true }], keys: 1 } },
    "k: autotune has a part keys, which has no meaning there; autotune must be an object such as",
  ],
  [
    { config: undefined, autotune: { key: ["N"], configs: [{ BLOCK: 16, E: true }], space: { BLOCK: 32 } } },
    "k: autotune.space.BLOCK is 32; autotune must be an object such as",
  ],
  [
    { config: undefined, autotune: { key: ["N"], configs: { cuda: { 90: [{ BLOCK: 16, E: true }] } } } },
    "k: autotune.configs has no default; autotune must be an object whose configs are lists by GPU, such as",
  ],
  [
    { config: undefined, autotune: { key: ["N"], configs: { default: [] } } },
    "k: autotune.configs.default has no configs; autotune must be an object whose configs are lists by GPU",
  ],
  [
    { config: undefined, autotune: { key: ["N"], configs: { cuda: { 9.5: [] }, default: [{ BLOCK: 16, E: true }] } } },
    "k: autotune.configs.cuda has 9.5, which is no GPU; autotune must be an object whose configs are lists by GPU",
  ],
  [
    { config: undefined, autotune: { key: ["N"], configs: { hip: { 942: [] }, default: [{ BLOCK: 16, E: true }] } } },
    "k: autotune.configs.hip has 942, which is no GPU; autotune must be an object whose configs are lists by GPU",
  ],
  [
    {
      config: undefined,
      autotune: { key: ["N"], configs: { rocm: { gfx942: [] }, default: [{ BLOCK: 16, E: true }] } },
    },
    "k: autotune.configs has a part rocm, which has no meaning there; autotune must be an object whose configs are",
  ],
  [{ launch: { launchPdl: () => true } }, 'k: launch.launchPdl is a function; launch must be "fast", or an object'],
  [{ launch: "slow" }, 'k: launch is "slow"; launch must be "fast", or an object'],
  [{ doNotSpecialize: ["N", 3] }, "k: doNotSpecialize[1] is 3; doNotSpecialize must be a list of names"],
  [{ sameStrides: ["x", "y"] }, 'k: sameStrides[0] is "x"; sameStrides must be a list of groups of tensors'],
  [{ sameStrides: [["x", 3]] }, "k: sameStrides[0][1] is 3; sameStrides must be a list of groups of tensors"],
  [{ providers: { torch: 3 } }, "k: providers.torch is 3; providers must be an object of functions"],
  [{ shapes: [{ N: 16 }, 32] }, "k: shapes[1] is 32; shapes must be a list of objects"],
  [{ shapes: [{ N: [16] }] }, "k: shapes[0].N is an array; shapes must be a list of objects"],
  [{ targets: {} }, "k: targets has no reason; targets must be an object such as"],
  [{ targets: { reason: "none" } }, "k: targets has no GPU; targets must be an object such as"],
  [{ targets: { cuda: 9, reason: "old" } }, "k: targets.cuda is 9; targets must be an object such as { cuda: 90"],
  [{ targets: { cuda: "90", reason: "old" } }, 'k: targets.cuda is "90"; targets must be an object such as'],
  [{ targets: { hip: "gfx950", reason: "old" } }, 'k: targets.hip is "gfx950"; targets must be an object such as'],
  [{ targets: { hip: ["mi300"], reason: "old" } }, 'k: targets.hip[0] is "mi300"; targets must be an object such as'],
  [{ targets: { sm: 90, reason: "old" } }, "k: targets has a part sm, which has no meaning there; targets must be"],
  [{ params: [tensor(tl.float32, ["N"])] }, "k: params is an array; list the kernel's arguments, as in params: {"],
  [{ params: undefined }, "k: params is missing; list the kernel's arguments, as in params: {"],
];
test.each(inside)("%o", async (change, says) => {
  expect(await said({ ...good, ...change })).toContain(says);
});

test.each([
  [{ grid: () => "N" }],
  [{ grid: () => [[1]] }],
  [{ grid: () => ({ x: 1 }) }],
  [{ grid: () => undefined }],
  [{ dims: { H: ({ N }: any) => N } }],
  [{ dims: { N: () => "N" } }],
  [{ dims: { N: () => true } }],
  [{ dims: { N: () => [1, 2] } }],
  [{ requires: () => 3 }],
  [{ requires: () => ["N > 0"] }],
  [{ requires: () => [true] }],
  [{ requires: ({ N }: any) => [N] }],
  [{ heuristics: { E: () => 3 } }],
  [{ inputs: () => 3 }],
  [{ inputs: () => [3] }],
  [{ inputs: () => ({ x: 3 }) }],
  [{ reference: () => 3 }],
  [{ reference: () => "x" }],
  [{ launch: { launchPdl: "yes" } }],
  [{ launch: { launchPDL: true } }],
  [{ doNotSpecialize: ["Q"] }],
  [{ doNotSpecializeOnAlignment: ["Q"] }],
])("a part that gives another kind is refused: %o", async (change) => {
  expect(await said({ ...good, ...change })).toMatch(/; \w|: \w/);
});

test("an operator's spec is checked as a kernel's is", async () => {
  const params = { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]) };
  const forward = () => ({});
  const ofOp = (spec: unknown) => said({}, () => op("o", spec as never, forward as never));
  expect(await ofOp([params])).toBe(
    'o: the second argument is the spec, not an array; write op("o", { params: … }, ({ x }) => { … })',
  );
  expect(await ofOp({})).toContain("o: params is missing; list its inputs and outputs");
  expect(await ofOp({ params: [params.x] })).toContain("o: params is an array; list its inputs and outputs");
  expect(await ofOp({ params: { x: 3 } })).toMatch(/^o: x is a number, not a param; /);
  expect(await ofOp({ params, refrence: () => 1 })).toBe("o: refrence is not a part of a spec; write reference");
  expect(await ofOp({ params, grid: () => [1] })).toMatch(/^o: grid is not a part of a spec; it has doc, params, /);
  expect(await ofOp({ params, shapes: { N: 3 } })).toContain("o: shapes is an object; shapes must be a list");
  expect(await ofOp({ params, reference: [1] })).toContain("o: reference is an array; reference must be a function");
});

test("the call of a kernel on arrays is no spec", () => {
  expect(() => kernel("k", NDArray.zeros([3], tl.float32) as never, body as never)).toThrow("k: params is missing");
});
