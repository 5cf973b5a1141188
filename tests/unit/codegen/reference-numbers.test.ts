/** Numbers in the functions of a module that are PyTorch: those that no input carries, and the author's shapes. */
import { describe, expect, it } from "vitest";
import { build, constexpr, kernel, scalar, tensor, tl, TileScriptError } from "tilescript";

const functionOf = (python: string, name: string): string =>
  new RegExp(`^def ${name}\\([^]*?\\n\\n\\n`, "m").exec(python)![0];

/** `y` has twice the elements of `x`, plus those that a scalar names. */
const twice = () =>
  kernel(
    "twice",
    {
      params: {
        x: tensor(tl.float32, ["N"]),
        table: tensor(tl.float32, ["G"]).optional(),
        y: tensor.out(tl.float32, ["TOTAL"]),
        extra: scalar(tl.int32),
        WIDE: constexpr.launch(({ N }) => N.mul(3)),
        BLOCK: constexpr(),
      },
      dims: {
        G: ({ extra }) => extra,
        TOTAL: ({ N, extra }) => N.mul(2).add(extra),
      },
      grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
      config: { BLOCK: 32 },
      reference: ({ x, table, TOTAL, G, WIDE, BLOCK }, torch) =>
        torch
          .cat([x, table.otherwise(torch.zeros([G])), torch.zeros([TOTAL])])
          .add(WIDE)
          .add(BLOCK),
      shapes: [
        { N: 100, extra: 4 },
        { N: 7, extra: 9 },
      ],
    },
    ({ x, y, N, BLOCK, WIDE }) => {
      const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
      tl.store(y.at(i), tl.load(x.at(i)).add(WIDE), { mask: i.lt(N) });
    },
  );

describe("a module's PyTorch", () => {
  it("should compute the sizes and constexprs that no input carries", async () => {
    const { python } = await build(twice());
    const reference = functionOf(python, "reference_fn");
    const assigned = [...reference.matchAll(/^    (\w+) = (.*)$/gm)].map(([, name, value]) => [name, value] as const);
    expect(Object.fromEntries(assigned)).toEqual({
      N: "x.shape[0]",
      BLOCK: "32",
      G: "extra",
      TOTAL: "N * 2 + extra",
      WIDE: "N * 3",
    });
    expect(functionOf(python, "get_inputs")).toContain("    G = extra\n");
  });

  it("should write a whole number beyond int64 as a float, which PyTorch takes", async () => {
    const large = kernel(
      "large",
      {
        params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() },
        grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
        config: { BLOCK: 32 },
        inputs: ({ N }, torch) => ({ x: torch.full([N], -1e30) }),
        reference: ({ x }) => x.clamp(-3e38, 2 ** 63).add(2 ** 40),
      },
      ({ x, y, BLOCK }) => {
        const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
        tl.store(y.at(i), tl.load(x.at(i)));
      },
    );
    const { python } = await build(large);
    expect(python).toContain("torch.full([N], -1e30, device=device)");
    expect(functionOf(python, "reference_fn")).toContain("clamp(-3e38, 9223372036854776000.0).add(1099511627776)");
  });

  it("should carry the author's shapes, as arguments of get_inputs", async () => {
    const { python } = await build(twice());
    expect(python).toContain('SHAPES = [{"N": 100, "extra": 4}, {"N": 7, "extra": 9}]\n');
    expect(python).toContain("def get_inputs(N=100, *, extra=4):\n");
  });

  it("should not let a reference depend on what configs decide", async () => {
    const scaled = kernel(
      "scaled",
      {
        params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() },
        grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
        autotune: { key: ["N"], configs: [{ BLOCK: 32 }, { BLOCK: 64 }] },
        reference: ({ x, BLOCK }) => x.mul(BLOCK),
      },
      ({ x, y, BLOCK }) => {
        const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
        tl.store(y.at(i), tl.load(x.at(i)).mul(BLOCK));
      },
    );
    const thrown = await build(scaled).catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(TileScriptError);
    const [{ code, message, at }] = (thrown as TileScriptError).diagnostics as [TileScriptError["diagnostics"][0]];
    expect(code).toBe("reference-argument");
    expect(message).toBe(
      "reference: BLOCK differs between the configs, and the result may not; compute it without BLOCK",
    );
    expect(at?.file).toMatch(/reference-numbers\.test\.ts$/);
  });
});

describe("derived sizes in get_inputs", () => {
  /** `K` follows from `M`, and `W` from `K`. */
  const derived = (inputs: (known: any, torch: any) => any) =>
    kernel(
      "derived",
      {
        params: { x: tensor(tl.float32, ["M", "W"]), y: tensor.out(tl.float32, ["M", "K"]), BLOCK: constexpr() },
        dims: { K: ({ M }: any) => M.mul(2), W: ({ K }: any) => K.add(1) },
        grid: ({ M }: any) => [M],
        config: { BLOCK: 16 },
        inputs,
        shapes: [{ M: 4 }],
      } as any,
      (({ x, y, K, BLOCK }: any) => {
        const i = tl.programId(0);
        for (const start of tl.range(0, K, BLOCK)) {
          const j = start.add(tl.arange(0, BLOCK));
          tl.store(y.at(i, j), tl.load(x.at(i, j)));
        }
      }) as any,
    );
  const body = async (inputs: (known: any, torch: any) => any) =>
    functionOf((await build(derived(inputs))).python, "get_inputs");

  it("should be computed where something uses them, those before them too", async () => {
    expect(await body(({ M, W }, torch) => ({ x: torch.rand([M, W]) }))).toContain(
      "    K = M * 2\n    W = K + 1\n    x = draw_inputs(M, W, device)\n",
    );
  });

  it("should be left out where the author's inputs use none of them", async () => {
    expect(await body(({ M }, torch) => ({ x: torch.rand([M, M.mul(2).add(1)]) }))).toContain(
      '    device = "cpu" if _INTERPRETED else "cuda"\n    x = draw_inputs(M, device)\n',
    );
  });
});
