/**
 * Functions of a spec run once, before any launch: JavaScript state is no part of what they compute, and JavaScript
 * decides nothing in them.
 */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { constexpr, kernel, op, tensor, tl, TileScriptError } from "tilescript";
import { compile } from "../../../src/pipeline/compile-kernel.js";

/** The types of these functions are not what the tests are about. */
type Loose = any;

function scale(spec: object): Loose {
  const params = {
    x: tensor(tl.float32, ["N"]),
    y: tensor.out(tl.float32, ["N"]),
    BLOCK: constexpr(),
    FLAG: constexpr.bool({ default: true }),
    MODE: constexpr.string(["plain", "twice"], { default: "plain" }),
  };
  const whole = {
    params,
    grid: ({ N, BLOCK }: Loose) => [tl.cdiv(N, BLOCK)],
    config: { BLOCK: 64 },
    ...spec,
  };
  return kernel("scale", whole as Loose, ({ x, y, BLOCK, FLAG }: Loose) => {
    const at = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    const factor = tl.when(FLAG, () => tl.full([], 1, tl.float32)).otherwise(() => tl.full([], 2, tl.float32));
    tl.store(y.at(at), tl.load(x.at(at)).mul(factor));
  });
}

const plain = scale({});
const signature = { x: tensor(tl.float32, ["N"]), FLAG: constexpr.bool(), y: tensor.out(tl.float32, ["N"]) };
const operator = (forward: Loose, backward?: Loose): Loose =>
  op("scaled", { params: signature } as Loose, forward, backward);

/** The code and message of a build's first error; undefined where there is none. */
function errorOf(built: Loose): { readonly said: string; readonly line: string } | undefined {
  try {
    compile(built);
    return undefined;
  } catch (error) {
    if (!(error instanceof TileScriptError)) throw error;
    const [first] = error.diagnostics;
    const line = first!.at ? (readFileSync(first!.at.file, "utf8").split("\n")[first!.at.line - 1] ?? "") : "";
    return { said: `${first!.code}: ${first!.message}`, line };
  }
}

/** Each function, with a number and a condition that the author's JavaScript may have decided. */
const TORCH: Readonly<Record<string, (use: (x: Loose, known: Loose, torch: Loose) => Loose) => Loose>> = {
  "the reference": (use) => scale({ reference: ({ x, ...known }: Loose, torch: Loose) => use(x, known, torch) }),
  "a provider": (use) =>
    scale({ providers: { other: ({ x, ...known }: Loose, torch: Loose) => use(x, known, torch) } }),
  inputs: (use) => scale({ inputs: (known: Loose, torch: Loose) => ({ x: use(torch.rand([known.N]), known, torch) }) }),
  "an operator": (use) =>
    operator(({ x, ...known }: Loose, torch: Loose) => ({ y: plain.call({ x: use(x, known, torch) }).y })),
  "a gradient": (use) =>
    operator(
      ({ x }: Loose) => ({ y: plain.call({ x }).y }),
      (known: Loose, { y }: Loose, torch: Loose) => ({ x: use(y, known, torch) }),
    ),
};

const HOST: Readonly<Record<string, (use: (known: Loose) => Loose) => Loose>> = {
  grid: (use) => scale({ grid: (known: Loose) => [use(known)] }),
  requires: (use) => scale({ requires: (known: Loose) => [tl.cdiv(use(known), 2).ge(1)] }),
  "a computed config": (use) =>
    scale({ config: (known: Loose) => ({ BLOCK: 64, numWarps: tl.minimum(use(known), 4) }) }),
  "a constant of a config": (use) =>
    scale({ config: (known: Loose) => (use(known), { BLOCK: use({}) === 1 ? 64 : 32 }) }),
};

const pick = (condition: unknown, a: unknown, b: unknown): Loose => (condition ? a : b);

/** State that JavaScript keeps from one run to the next. */
const STATE: Readonly<Record<string, () => () => number>> = {
  "a counter": () => {
    let n = 0;
    return () => ++n;
  },
  "a list": () => {
    const list: number[] = [];
    return () => list.push(0);
  },
  "random numbers": () => () => Math.floor(Math.random() * 1e9),
};

describe.each(Object.entries(STATE))("%s", (_, make) => {
  test.each(Object.entries(TORCH))("changes %s", (_name, built) => {
    const next = make();
    const found = errorOf(built((x) => x.mul(next())));
    expect(found?.said).toMatch(/^changed-state: JavaScript behaves differently here when .* is run a second time/);
    expect(found?.line).toContain("x.mul(next())");
  });

  test.each(Object.entries(HOST).filter(([name]) => name !== "a constant of a config"))(
    "changes %s",
    (_name, built) => {
      const next = make();
      expect(errorOf(built(({ N }) => tl.cdiv(N, 2).add(next())))?.said).toMatch(/^changed-state: /);
    },
  );
});

test("a result that JavaScript remembers from the first run is refused", () => {
  let kept: Loose;
  const found = errorOf(TORCH["the reference"]!((x) => (kept ??= x.mul(2))));
  expect(found?.said).toMatch(/^changed-state: /);
});

test("a constant of a config that changes is refused", () => {
  let n = 0;
  expect(errorOf(scale({ config: () => ({ BLOCK: 32 * ++n }) }))?.said).toMatch(/^changed-state: config returns/);
});

test("a function that fails only the second time says so", () => {
  let n = 0;
  const once = (x: Loose): Loose => (n++ === 0 ? x : x.missing.other());
  expect(errorOf(TORCH["the reference"]!((x) => once(x).mul(n > 1 ? (undefined as Loose) : 1)))?.said).toMatch(
    /^changed-state: (JavaScript fails when the reference|JavaScript behaves)/,
  );
});

describe("a condition that JavaScript decides", () => {
  test.each(Object.entries(TORCH))("on a size, in %s", (_, built) => {
    const found = errorOf(built((x, { N }) => pick(N.gt(4), x, 0)));
    expect(found?.said).toMatch(/^unused-value: .*: no result depends on gt, so JavaScript may have taken it for true/);
    expect(found?.line).toContain("pick(N.gt(4), x, 0)");
  });

  test.each(Object.entries(TORCH))("on a tensor, in %s", (_, built) => {
    const found = errorOf(built((x, __, torch) => pick(torch.all(x.gt(0)), x, 0)));
    expect(found?.said).toMatch(/^unused-value: .*: no result depends on (gt|all), so JavaScript/);
  });

  test.each<[string, Loose]>([
    ["the reference", scale({ reference: ({ x, FLAG }: Loose) => pick(FLAG, x, 0) })],
    ["a provider", scale({ providers: { other: ({ x, MODE }: Loose) => pick(MODE === "twice", 0, x) } })],
    ["inputs", scale({ inputs: ({ N, FLAG }: Loose, torch: Loose) => ({ x: torch.rand([N]).mul(pick(FLAG, 1, 2)) }) })],
    ["an operator", operator(({ x, FLAG }: Loose) => ({ y: plain.call({ x: pick(FLAG, x, 0) }).y }))],
    [
      "a gradient",
      operator(
        ({ x }: Loose) => ({ y: plain.call({ x }).y }),
        ({ FLAG }: Loose, { y }: Loose) => ({ x: y.mul(pick(FLAG, 1, 2)) }),
      ),
    ],
  ])("on a flag taken by name, in %s", (_, built) => {
    expect(errorOf(built)?.said).toMatch(/^reference-flag: .*takes (FLAG|MODE), and no result depends on it/);
  });

  test.each(Object.entries(HOST))("on a flag, in %s", (_, built) => {
    const found = errorOf(built(({ FLAG, N }) => (FLAG ? (N ? tl.cdiv(N, 2) : 1) : 1)));
    expect(found?.said).toMatch(/^unused-value: FLAG: nothing uses this truth value/);
  });

  test.each(Object.entries(HOST))("on a word, in %s", (_, built) => {
    const found = errorOf(built(({ MODE, N }) => (MODE === "twice" ? 1 : N ? tl.cdiv(N, 2) : 1)));
    expect(found?.said).toMatch(/^unused-value: MODE: nothing uses it, and JavaScript's === is always false for it/);
  });
});

describe("what a recording would leave out", () => {
  test.each(Object.entries(TORCH))("a change in place, in %s", (_, built) => {
    const changed = (x: Loose): Loose => {
      const y = x.clone();
      y.mul_(2);
      return y;
    };
    expect(errorOf(built(changed))?.said).toMatch(
      /^reference-in-place: .*: mul_ changes a tensor in place.* write mul\(…\)/,
    );
    const option = (x: Loose, __: unknown, torch: Loose) => torch.nn.functional.relu(x, { inplace: true });
    expect(errorOf(built(option))?.said).toMatch(
      /^reference-in-place: .*: nn.functional.relu changes .*without inplace/,
    );
  });

  test.each(Object.entries(TORCH))("a result that nothing uses, in %s", (_, built) => {
    const found = errorOf(built((x) => (x.exp(), x)));
    expect(found?.said).toMatch(/^unused-value: .*: no result depends on exp; use its result, or remove it/);
    expect(found?.line).toContain("x.exp()");
  });

  test.each(Object.entries(TORCH))("a property that is set, in %s", (_, built) => {
    const set = (x: Loose): Loose => ((x[0] = 1), x);
    expect(errorOf(built(set))?.said).toMatch(/^reference-coercion: .*a property of a torch value cannot be set/);
  });
});

test("functions without state, which use all that they take, are built", () => {
  const reference = ({ x, FLAG, N }: Loose, torch: Loose) =>
    FLAG.choose(torch.where(x.gt(0), x, N.gt(4).choose(1, 2)), x).mul(1);
  expect(
    errorOf(scale({ reference, grid: ({ N, BLOCK, FLAG }: Loose) => [tl.where(FLAG, tl.cdiv(N, BLOCK), N)] })),
  ).toBe(undefined);
});
