/** Kernel against kernel: what two kernels with the same arguments compute. */
import { describe, expect, test } from "vitest";
import { build, constexpr, kernel, op, tensor, tl } from "tilescript";
import { gemm } from "../../../../examples/gemm.js";
import { gemmPersistent } from "../../../../examples/gemm-persistent.js";
import { gemmSplitK } from "../../../../examples/gemm-split-k.js";
import { softmax } from "../../../../examples/softmax.js";
import { sampledTests } from "../../../support/sampled-tests.js";

sampledTests("kernels compared with kernels", "src/prove/equivalence");

type Values = Readonly<Record<string, any>>;

const rows = (name: string, body: (values: Values) => any, params: Values = {}) =>
  kernel(
    name,
    {
      params: {
        x: tensor(tl.float32, ["M", "N"]),
        y: tensor.out(tl.float32, ["M", "N"]),
        BLOCK: constexpr.launch(({ N }: any) => tl.nextPowerOf2(N)),
        ...params,
      },
      grid: ({ M }: any) => [M],
    } as any,
    ((values: Values) => {
      const [row, cols] = [tl.inBounds(tl.programId(0)), tl.arange(0, values["BLOCK"])];
      tl.store(values["y"].at(row, cols), body({ ...values, row, cols }));
    }) as any,
  );
const loaded = ({ x, row, cols }: Values) => tl.load(x.at(row, cols), { other: 0 });
const mean = (values: Values) => tl.sum(loaded(values), 0).div(values["N"].to(tl.float32));

const verdictOf = async (x: unknown, y: unknown) => (await build(x)).against(await build(y))[0]?.verdict;

describe("equal", () => {
  test.each([
    [
      "a sum before and after a division",
      rows("a", (v) => loaded(v).sub(mean(v))),
      rows("b", (v) => loaded(v).sub(tl.sum(loaded(v).div(v["N"].to(tl.float32)), 0))),
    ],
    [
      "a factor moved out of a difference",
      rows("a", (v) => loaded(v).sub(mean(v)).mul(2)),
      rows("b", (v) => loaded(v).mul(2).sub(mean(v).mul(2))),
    ],
    ["products in other orders of programs", gemm, gemmPersistent],
    ["an operator and a kernel", gemm, gemmSplitK],
    ["a kernel and itself", softmax, softmax],
  ])("%s", async (_, x, y) => {
    expect(await verdictOf(x, y)).toEqual({ kind: "proved" });
  });
});

describe("not equal", () => {
  test("a difference is shown by a launch", async () => {
    const verdict = await verdictOf(
      rows("a", (v) => loaded(v).sub(mean(v))),
      rows("b", (v) => loaded(v).add(mean(v))),
    );
    expect(verdict).toMatchObject({ kind: "refuted", at: { config: 0 }, worst: { output: "y" } });
  });

  test("a difference on inputs that the other kernel does not accept refutes nothing", async () => {
    const labels = (name: string, options: object, body: (label: any, N: any) => any) =>
      kernel(
        name,
        {
          params: { x: tensor(tl.int32, ["N"], options), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() },
          grid: ({ N, BLOCK }: any) => [tl.cdiv(N, BLOCK)],
          config: { BLOCK: 16 },
        } as any,
        (({ x, y, N, BLOCK }: any) => {
          const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
          tl.store(y.at(i), body(tl.load(x.at(i)), N).to(tl.float32));
        }) as any,
      );
    const clamped = labels("clamped", {}, (label, N) => tl.maximum(tl.minimum(label, N.sub(1)), 0));
    const plain = labels("plain", { range: [0, "N"] }, (label) => label);
    expect(await verdictOf(clamped, plain)).not.toMatchObject({ kind: "refuted" });
    expect(await verdictOf(plain, clamped)).not.toMatchObject({ kind: "refuted" });
  });

  test("a missing argument is named", async () => {
    const other = rows("b", (v) => loaded(v).add(tl.load(v["bias"].at(v["cols"]), { other: 0 })), {
      bias: tensor(tl.float32, ["N"]),
    });
    expect(await verdictOf(rows("a", loaded), other)).toMatchObject({
      kind: "unknown",
      missing: "the argument bias of b",
    });
  });

  test("a missing output is named", async () => {
    const other = kernel(
      "b",
      { params: { x: tensor(tl.float32, ["M", "N"]), z: tensor.out(tl.float32, ["M"]) }, grid: ({ M }) => [M] },
      ({ z }) => tl.store(z.at(tl.inBounds(tl.programId(0))), 1),
    );
    expect(await verdictOf(rows("a", loaded), other)).toMatchObject({
      kind: "unknown",
      missing: "the other kernel has no output y",
    });
  });

  test("rows that one of them leaves out prove nothing", async () => {
    const partial = kernel(
      "b",
      {
        params: {
          x: tensor(tl.float32, ["M", "N"]),
          y: tensor.out(tl.float32, ["M", "N"]),
          BLOCK: constexpr.launch(({ N }: any) => tl.nextPowerOf2(N)),
        },
        grid: ({ M }: any) => [tl.cdiv(M, 2)],
      } as any,
      ((v: Values) => {
        const [row, cols] = [tl.inBounds(tl.programId(0)), tl.arange(0, v["BLOCK"])];
        tl.store(v["y"].at(row, cols), tl.load(v["x"].at(row, cols), { other: 0 }));
      }) as any,
    );
    expect(await verdictOf(rows("a", loaded), partial)).toMatchObject({
      kind: "unknown",
      missing: expect.stringContaining("coverage of y in b"),
    });
  });
});

/** y = body(x), for a vector. */
const elementwise = (name: string, body: (x: any, index: any) => any) =>
  kernel(
    name,
    {
      params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() },
      grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
      config: { BLOCK: 16 },
    },
    ({ x, y, BLOCK }) => {
      const index = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
      tl.store(y.at(index), body(tl.load(x.at(index)), index));
    },
  );

/** Two kernels, one after the other; `between` is a second output. */
const chain = (first: ReturnType<typeof elementwise>, second: ReturnType<typeof elementwise>) =>
  op(
    "chain",
    {
      params: {
        x: tensor(tl.float32, ["N"]),
        y: tensor.out(tl.float32, ["N"]),
        between: tensor.out(tl.float32, ["N"]),
      },
      reference: ({ x }: any) => ({ y: x.mul(6), between: x.mul(2) }),
    },
    ({ x }) => {
      const { y: between } = first.call({ x });
      return { y: second.call({ x: between }).y, between };
    },
  );
const twice = elementwise("twice", (x) => x.mul(2));
const thrice = elementwise("thrice", (x) => x.mul(3));
const right = chain(twice, thrice);

describe("an operator", () => {
  const verdicts = async (wrong: unknown) => {
    const [built, expected] = [await build(wrong), await build(right)];
    return [built.computes(), built.against(expected), expected.against(built)].map((proofs) =>
      proofs.map(({ verdict }) => verdict),
    );
  };

  test("is equal to one that computes the same in other kernels", async () => {
    const other = chain(
      elementwise("sum", (x) => x.add(x)),
      elementwise("difference", (x) => x.mul(4).sub(x)),
    );
    for (const each of await verdicts(other)) expect(each).toEqual([{ kind: "proved" }, { kind: "proved" }]);
  });

  test.each([
    [
      "a wrong factor",
      chain(
        twice,
        elementwise("fourfold", (x) => x.mul(4)),
      ),
      1,
    ],
    [
      "a wrong element",
      chain(
        twice,
        elementwise("thrice", (x, i) => tl.where(i.eq(20), 0, x.mul(3))),
      ),
      21,
    ],
  ])("with %s is refuted by a launch, in the output that it changes", async (_, wrong, least) => {
    for (const [y, between] of await verdicts(wrong)) {
      expect(y).toMatchObject({ kind: "refuted", worst: { output: "y" } });
      expect(y).toHaveProperty("at.sizes.N");
      expect(y?.kind === "refuted" && y.at.sizes["N"]).toBeGreaterThanOrEqual(least);
      expect(between).toEqual({ kind: "proved" });
    }
  });

  test("that small sizes do not show to be wrong is refuted at its declared shape", async () => {
    const zeros = elementwise("zeros", (x, i) => tl.where(i.lt(900), x.mul(2), 0));
    const late = op(
      "chain",
      {
        params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]) },
        reference: ({ x }: any) => x.mul(2),
        shapes: [{ N: 1 << 26 }, { N: 1000 }],
      },
      ({ x }) => zeros.call({ x }),
    );
    const [proof] = (await build(late)).computes();
    expect(proof?.verdict).toMatchObject({ kind: "refuted", at: { sizes: { N: 1000 } } });
  });

  test("of which both outputs are wrong is refuted in both by another one", async () => {
    const wrong = chain(
      elementwise("twice", (x) => x.mul(20)),
      elementwise("thrice", (x) => x.mul(3)),
    );
    const [, against] = await verdicts(wrong);
    expect(against).toMatchObject([
      { kind: "refuted", worst: { output: "y" } },
      { kind: "refuted", worst: { output: "between" } },
    ]);
  });

  test("with a loop that does not end is unknown", async () => {
    const endless = elementwise("endless", (x) => {
      const count = tl.mut(tl.full([], 0, tl.int32));
      tl.whileLoop(
        () => count.value.lt(1),
        () => void (count.value = tl.minimum(count.value, 0)),
      );
      return x.mul(3).add(count.value.to(tl.float32));
    });
    for (const [y] of await verdicts(chain(twice, endless))) expect(y).toMatchObject({ kind: "unknown" });
  });
});

/** A kernel of a vector y, which it updates unless another role is declared. */
const updating = (name: string, body: (parts: Values) => unknown, declared: any = tensor.inout(tl.float32, ["N"])) =>
  kernel(
    name,
    {
      params: { x: tensor(tl.float32, ["N"]), y: declared, BLOCK: constexpr() },
      grid: ({ N, BLOCK }: any) => [tl.cdiv(N, BLOCK)],
      config: { BLOCK: 16 },
    } as any,
    ((values: Values) => {
      const i = tl.programId(0).mul(values["BLOCK"]).add(tl.arange(0, values["BLOCK"]));
      body({ ...values, i, old: (index: any) => tl.load(values["y"].at(index)), given: tl.load(values["x"].at(i)) });
    }) as any,
  );
const adds = updating("adds", ({ y, i, old, given }) => tl.store(y.at(i), old(i).add(given)));
const half = (N: any) => N.floorDiv(2);

describe("an argument that both update", () => {
  test.each<[string, unknown, unknown]>([
    ["in another order", adds, updating("other", ({ y, i, old, given }) => tl.store(y.at(i), given.add(old(i))))],
    [
      "in a part, or the rest unchanged",
      updating("part", ({ y, i, N, old, given }) => tl.store(y.at(i), old(i).add(given), { mask: i.lt(half(N)) })),
      updating("rest", ({ y, i, N, old, given }) =>
        tl.store(y.at(i), tl.where(i.lt(half(N)), old(i).add(given), old(i))),
      ),
    ],
    [
      "in two parts, or in one",
      adds,
      updating("two", ({ y, i, N, old, given }) => {
        const sum = old(i).add(given);
        tl.store(y.at(i), sum, { mask: i.lt(half(N)) });
        tl.store(y.at(i), sum, { mask: i.ge(half(N)) });
      }),
    ],
    [
      "or that one of them only returns",
      updating("fills", ({ y, i, given }) => tl.store(y.at(i), given)),
      updating("gives", ({ y, i, given }) => tl.store(y.at(i), given), tensor.out(tl.float32, ["N"])),
    ],
  ])("%s is equal", async (_, x, y) => {
    expect(await verdictOf(x, y)).toEqual({ kind: "proved" });
    expect(await verdictOf(y, x)).toEqual({ kind: "proved" });
  });

  test.each<[string, unknown]>([
    ["with another sign", updating("wrong", ({ y, i, old, given }) => tl.store(y.at(i), old(i).sub(given)))],
    ["whatever was in it", updating("wrong", ({ y, i, given }) => tl.store(y.at(i), given))],
    ["twice", updating("wrong", ({ y, i, old, given }) => tl.store(y.at(i), old(i).add(given).add(given)))],
    [
      "not everywhere",
      updating("wrong", ({ y, i, N, old, given }) => tl.store(y.at(i), old(i).add(given), { mask: i.lt(N.sub(1)) })),
    ],
    [
      "in each second element",
      updating("wrong", ({ x, y, i, old }) => {
        const even = i.mul(2);
        tl.store(y.at(even), old(even).add(tl.load(x.at(even))));
      }),
    ],
    [
      "in one program",
      updating("wrong", ({ y, i, old, given }) => {
        tl.when(tl.programId(0).lt(1), () => tl.store(y.at(i), old(i).add(given)));
      }),
    ],
    [
      "by what its neighbor was",
      updating("wrong", ({ y, i, old, given }) => tl.store(y.at(i), old(i.add(1)).add(given))),
    ],
  ])("%s is refuted", async (_, wrong) => {
    expect(await verdictOf(adds, wrong)).toMatchObject({ kind: "refuted", worst: { output: "y" } });
    expect(await verdictOf(wrong, adds)).toMatchObject({ kind: "refuted", worst: { output: "y" } });
  });

  test.each<[string, unknown, string]>([
    [
      "after it has been written",
      updating("late", ({ y, i, old, given }) => {
        tl.store(y.at(i), old(i));
        tl.store(y.at(i), old(i).add(given));
      }),
      "nothing shows that a program has not yet written what it reads of y",
    ],
    ["by an atomic", updating("atomic", ({ y, i, given }) => tl.atomicAdd(y.at(i), given)), "an atomic update"],
    [
      "by two stores of one element",
      updating("again", ({ y, i, old, given }) => {
        const sum = old(i).add(given);
        tl.store(y.at(i), sum.mul(0));
        tl.store(y.at(i), sum);
      }),
      "several stores that may write one element",
    ],
    [
      "in an iteration that no index names",
      updating("second", ({ y, i, old, given }) => {
        const sum = old(i).add(given);
        for (const iteration of tl.range(0, 2)) tl.when(iteration.eq(1), () => tl.store(y.at(i), sum));
      }),
      "nothing shows which elements of y a store writes",
    ],
    [
      "in an order that programs choose",
      updating("races", ({ y, i, N, old, given }) => {
        const next = tl.load(y.at(i.add(1)), { mask: i.add(1).lt(N), other: 0 });
        tl.store(y.at(i), old(i).add(given).add(next.sub(next)));
      }),
      "race of the load from y in races is not proved",
    ],
  ])("%s is unknown", async (_, other, missing) => {
    expect(await verdictOf(adds, other)).toEqual({ kind: "unknown", missing });
  });
});
