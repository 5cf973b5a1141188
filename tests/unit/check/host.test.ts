/** What a build refuses on the host side, with the sentence; and what it emits in the decorators. */
import { describe, expect, test } from "vitest";
import { constexpr, kernel, pointer, scalar, tensor, tl, TileScriptError } from "tilescript";
import { build } from "../../../src/pipeline/build.js";
import * as kernels from "../../kernels/host/kernels.js";

type Params = Readonly<Record<string, unknown>>;

const configs = [{ BLOCK: 64 }, { BLOCK: 128 }];

/** A kernel whose params and spec differ from a right one; the checks concern what runs around it. */
function around(spec: object, params: Params = {}) {
  const all = {
    x: tensor(tl.float32, ["N"]),
    y: tensor.out(tl.float32, ["N"]),
    BLOCK: constexpr(),
    ...params,
  };
  return kernel(
    "around",
    { params: all, grid: () => [1], config: { BLOCK: 64 }, ...spec } as never,
    (({ x, y, BLOCK }: any) => {
      const offsets = tl.arange(0, BLOCK);
      tl.store(y.at(offsets), tl.load(x.at(offsets)) as never);
    }) as never,
  );
}

async function messagesOf(kernel: () => unknown): Promise<string[]> {
  try {
    await build(kernel() as never);
    return [];
  } catch (error) {
    if (!(error instanceof TileScriptError)) throw error;
    return error.diagnostics.filter(({ severity }) => severity === "error").map(({ message }) => message);
  }
}

const tuned = (rest: object = {}) => ({ config: undefined, autotune: { key: ["N"], configs, ...rest } });

test.each<[string, () => unknown, string]>([
  [
    "a launch-time constexpr names a tuned one",
    () => around(tuned(), { HALF: constexpr.launch(({ BLOCK }) => BLOCK.floorDiv(2)) }),
    "around: HALF is computed before a config is chosen, and names BLOCK of the configs; compute HALF in heuristics",
  ],
  [
    "a launch-time constexpr of the wrong kind",
    () => around({}, { EVEN: constexpr.launch(({ N }) => N.mod(2).eq(0)) }),
    "around: what computes EVEN must give an integer; declare it constexpr.launch.bool(…)",
  ],
  [
    "a heuristic of the wrong kind",
    () => around({ heuristics: { EVEN: ({ N }: any) => N } }, { EVEN: constexpr.bool() }),
    "around: what computes EVEN must give a truth value, such as N.mod(16).eq(0)",
  ],
  [
    "a heuristic of nothing",
    () => around({ heuristics: { EVEN: ({ N }: any) => N.gt(0) } }),
    "around: heuristics names EVEN, which is neither a constexpr() nor a constexpr.bool() of params",
  ],
  [
    "a heuristic in a config",
    () =>
      around(
        { heuristics: { EVEN: ({ N }: any) => N.gt(0) }, config: { BLOCK: 64, EVEN: true } },
        { EVEN: constexpr.bool() },
      ),
    "around: its config: EVEN is computed by a heuristic; leave it out of the config",
  ],
  [
    "a requirement over a heuristic",
    () =>
      around(
        { heuristics: { EVEN: ({ N }: any) => N.gt(0) }, requires: ({ EVEN }: any) => [EVEN] },
        { EVEN: constexpr.bool() },
      ),
    "around: requires names EVEN, which a heuristic computes later; name the params that it is computed from",
  ],
  [
    "a requirement that prunes by a size outside the key",
    () => around({ ...tuned(), requires: ({ K, BLOCK }: any) => [BLOCK.ge(K)] }, { k: tensor(tl.float32, ["K"]) }),
    'around: requires names K beside BLOCK; add "K" to the autotune key, else a config tuned for another K is launched',
  ],
  [
    "a key that configs choose",
    () => around(tuned({ key: ["BLOCK"] })),
    "around: the autotune key names BLOCK, which the configs choose; leave it out",
  ],
  [
    "a choice of a config that is none",
    () => around({ config: { BLOCK: 64, ACT: "gelu" } }, { ACT: constexpr.string(["relu", "none"]) }),
    'around: its config: ACT is "gelu"; it is one of relu, none',
  ],
  [
    "doNotSpecialize of a tensor",
    () => around({ doNotSpecialize: ["x"] }, { seed: scalar(tl.int32) }),
    "around: doNotSpecialize names x; it may name seed, N",
  ],
  [
    "an unknown launch option",
    () => around({ launch: { numWarps: 4 } }),
    "around: launch: no option numWarps; it has launchPdl, launchCooperativeGrid, enableFpFusion, and configs have the others",
  ],
  [
    "a dtype that nobody gives",
    () => around({}, { z: tensor.out(tl.dtype("Z", [tl.float16, tl.float32]), ["N"]) }),
    "around: no argument gives the dtype Z of z; add a param constexpr.dtype(Z)",
  ],
  [
    "two dtype variables of one name",
    () =>
      around(
        {},
        {
          a: tensor(tl.dtype("Z", [tl.float16, tl.float32]), ["N"]),
          b: tensor(tl.dtype("Z", [tl.int8, tl.int32]), ["N"]),
        },
      ),
    "around: two dtype variables are called Z, of a and of b; rename one",
  ],
  [
    "a default that is no choice",
    () => constexpr.string(["a", "b"], { default: "c" as never }),
    'constexpr.string: the default "c" is not one of "a", "b"',
  ],
  [
    "a default that is no dtype of the list",
    () => constexpr.dtype([tl.float16], { default: tl.int8 as never }),
    "constexpr.dtype: the default int8 is not one of float16",
  ],
])("%s", async (_, kernel, message) => {
  expect(await messagesOf(kernel)).toContain(message);
});

describe("accumulation", () => {
  const summing = (y: unknown, autotune: object = {}) =>
    kernel(
      "summing",
      {
        params: { x: tensor(tl.float32, ["N"]), y: y as never, BLOCK: constexpr() },
        grid: () => [1],
        autotune: { key: ["N"], configs, ...autotune },
      } as never,
      (({ x, y, BLOCK }: any) => {
        const offsets = tl.arange(0, BLOCK);
        tl.store(y.at(offsets), (tl.load(y.at(offsets)) as any).add(tl.load(x.at(offsets))));
      }) as never,
    );
  const read =
    'summing: autotuning runs the kernel several times and y is read, so each run sees the result of the previous one; declare it tensor.out(…, { zeroed: true }), or add resetToZero: ["y"]';

  test("an output that is read is cleared between trials", async () => {
    expect(await messagesOf(() => summing(tensor.out(tl.float32, ["N"])))).toEqual([read]);
    expect(await messagesOf(() => summing(tensor.out(tl.float32, ["N"], { zeroed: true })))).toEqual([]);
    expect(await messagesOf(() => summing(tensor.out(tl.float32, ["N"]), { resetToZero: ["y"] }))).toEqual([]);
  });

  test("what the caller fills is restored, never cleared", async () => {
    const inout = tensor.inout(tl.float32, ["N"]);
    const filled =
      'summing: resetToZero names y, which the caller fills, so the first call, which tunes, would lose its values; write restoreValue: ["y"]';
    expect(await messagesOf(() => summing(inout, { resetToZero: ["y"] }))).toEqual([filled]);
    expect(await messagesOf(() => summing(inout, { resetToZero: ["y"], restoreValue: ["y"] }))).toEqual([
      "summing: resetToZero and restoreValue both name y; leave it out of resetToZero if the caller fills it, else out of restoreValue",
    ]);
    expect(await messagesOf(() => summing(inout, { restoreValue: ["y", "z"] }))).toEqual([
      "summing: restoreValue names z, which is not a tensor of this kernel",
    ]);
    expect(await messagesOf(() => summing(inout))).toEqual([
      'summing: autotuning runs the kernel several times and y is updated in place; add restoreValue: ["y"]',
    ]);
    expect(await messagesOf(() => summing(inout, { restoreValue: ["y"] }))).toEqual([]);
  });

  test.each<[string, string | undefined, (p: any, x: any, lanes: any) => void]>([
    ["an atomic", "changed by an atomic", (p, x, lanes) => tl.atomicAdd(p.add(lanes), x)],
    ["a load and a store", "read", (p, x, lanes) => tl.store(p.add(lanes), tl.load<any>(p.add(lanes)).add(x))],
    [
      "a helper function",
      "changed by an atomic",
      tl.fn("put", (p: any, x: any) => void tl.atomicMax(p.add(x.to(tl.int32)), x)),
    ],
    ["a store", undefined, (p, x, lanes) => tl.store(p.add(lanes), x)],
    ["a load", undefined, (p, _, lanes) => tl.deviceAssert(tl.load<any>(p.add(lanes)).ge(0))],
  ])("nothing puts back what a raw pointer leads to: %s", async (_, how, change) => {
    const through = (tuned: readonly object[], restored: object = {}, p: unknown = pointer(tl.float32)) =>
      kernel(
        "through",
        {
          params: { x: tensor(tl.float32, ["N"]), p, BLOCK: constexpr() },
          grid: () => [1],
          autotune: { key: ["N"], configs: tuned, ...restored },
        } as never,
        (({ x, p, BLOCK }: any) => {
          const lanes = tl.arange(0, BLOCK);
          change(p, tl.load(x.at(lanes)), lanes);
        }) as never,
      );
    const several = [{ BLOCK: 16 }, { BLOCK: 32 }];
    const said = `through: autotuning runs the kernel several times and what the raw pointer p leads to is ${how}, so each run sees the result of the previous one; add restoreValue: ["p"]`;
    expect(await messagesOf(() => through(several))).toEqual(how === undefined ? [] : [said]);
    expect(await messagesOf(() => through(several.slice(0, 1)))).toEqual([]);
    expect(await messagesOf(() => through(several, { restoreValue: ["p"] }))).toEqual([]);
    const optional = await messagesOf(() => through(several, { restoreValue: ["p"] }, pointer(tl.float32).optional()));
    expect(optional[0]).toMatch(/Triton cannot put back p, which may be left out/);
  });

  test.each([
    ["in the kernel", (y: any, x: any) => tl.atomicAdd(y, x)],
    ["in a helper function, by way of its parameter", tl.fn("add", (y: any, x: any) => void tl.atomicAdd(y, x))],
  ])("an output that an atomic changes is cleared between trials: %s", async (_, add) => {
    const counting = (y: unknown, autotune: object = {}) =>
      kernel(
        "counting",
        {
          params: { x: tensor(tl.float32, ["N"]), y: y as never, BLOCK: constexpr() },
          grid: () => [1],
          autotune: { key: ["N"], configs, ...autotune },
        } as never,
        (({ x, y, BLOCK }: any) => {
          const offsets = tl.arange(0, BLOCK);
          add(y.ptr.add(offsets), tl.load(x.at(offsets)));
        }) as never,
      );
    expect(await messagesOf(() => counting(tensor.out(tl.float32, ["N"])))).toEqual([
      read.replace("summing", "counting").replace("is read", "is changed by an atomic"),
    ]);
    expect(await messagesOf(() => counting(tensor.out(tl.float32, ["N"], { zeroed: true })))).toEqual([]);
    expect(await messagesOf(() => counting(tensor.out(tl.float32, ["N"]), { resetToZero: ["y"] }))).toEqual([]);
  });
});

describe("emission", () => {
  const decorators = async (kernel: unknown) => {
    const { python } = await build(kernel as never);
    return python.slice(python.indexOf("@triton"), python.indexOf("def ", python.indexOf("@triton")));
  };

  test("heuristics stand between autotune and jit", async () => {
    expect(await decorators(kernels.even)).toBe(
      `@triton.autotune(
    configs=[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})],
    key=["N"],
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
)
@triton.heuristics({"EVEN_N": lambda args: args["N"] % args["BLOCK"] == 0})
@triton.jit
`,
    );
  });

  test("what autotune and jit are told", async () => {
    expect(await decorators(kernels.pruned)).toBe(
      `@triton.autotune(
    configs=[
        triton.Config({"BLOCK_N": 64}, num_warps=1, num_stages=2),
        triton.Config(
            {"BLOCK_N": 256},
            num_warps=4,
            num_stages=2,
            num_ctas=1,
            maxnreg=None if torch.version.hip else 128,
        ),
    ],
    key=["N"],
    prune_configs_by={"early_config_prune": _prune_configs},
    reset_to_zero=["y_ptr"],
    cache_results=True,
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
)
@triton.jit(do_not_specialize=["seed"], do_not_specialize_on_alignment=["M", "x_ptr"])
`,
    );
  });

  test("a dtype's width is asked of the tensor", async () => {
    const { python } = await build(kernels.reflecting);
    expect(python).toContain("if y_ptr.dtype.element_ty.primitive_bitwidth == 16:");
  });
});
