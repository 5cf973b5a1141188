/** Values that nothing uses: JavaScript takes a traced truth value for true without a word. */
import { describe, expect, test } from "vitest";
import { constexpr, kernel, tensor, tl, TileScriptError } from "tilescript";
import { checkUnused } from "../../../src/check/structure.js";
import { definitionOf } from "../../../src/dsl/definition.js";
import { compile } from "../../../src/pipeline/compile-kernel.js";
import { traceAndCheck } from "../../../src/pipeline/trace-and-check.js";
import { lineOf } from "../../support/evaluate.js";

type Body = (args: any, v: any) => unknown;

/** A kernel that stores what the body gives for a tile of `x`. */
function unusedIn(body: Body, spec: object = {}) {
  return kernel(
    "unused",
    {
      params: {
        x: tensor(tl.float32, ["N"]),
        y: tensor.out(tl.float32, ["N"]),
        BLOCK: constexpr(),
        FLAG: constexpr.bool({ default: true }),
      },
      grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
      config: { BLOCK: 64 },
      ...spec,
    },
    (args: any) => {
      const offsets = tl.programId(0).mul(args.BLOCK).add(tl.arange(0, args.BLOCK));
      tl.store(args.y.at(offsets), body(args, tl.load(args.x.at(offsets))) as never);
    },
  );
}

/** What the build says without the author's source, as `severity code: message`. */
function said(body: Body, spec?: object): string[] {
  const built = unusedIn(body, spec);
  const shown = (all: readonly { severity: string; code: string; message: string }[]) =>
    all.filter(({ code }) => code !== "no-source").map((each) => `${each.severity} ${each.code}: ${each.message}`);
  try {
    return shown(compile(built).warnings);
  } catch (error) {
    if (!(error instanceof TileScriptError)) throw error;
    return shown(error.diagnostics).filter((line) => !line.startsWith("warning no-source"));
  }
}

const pick = (condition: unknown, a: unknown, b: unknown): unknown => (condition ? a : b);
const TAKEN = /^error unused-value: \w+: nothing uses this truth value, so JavaScript may have taken it for true; /;

describe("a truth value that JavaScript takes for true", () => {
  test.each<[string, (args: any, v: any) => unknown]>([
    ["some", ({ N }, v) => ([1, 2].some((n) => N.gt(n)) ? v : 0)],
    ["every", ({ N }, v) => ([1, 2].every((n) => N.gt(n)) ? v : 0)],
    ["find", ({ N }, v) => v.add([1, 2].find((n) => N.gt(n)))],
    ["filter", ({ N }, v) => v.add([1, 2].filter((n) => N.gt(n)).length)],
    ["a getter", ({ N }, v) => pick({ get c() { return N.gt(0); } }.c, v, 0)], // prettier-ignore
    ["bind", ({ N }, v) => pick.bind(null, N.gt(0))(v, 0)],
    ["Reflect", ({ N }, v) => Reflect.apply(pick, null, [N.gt(0), v, 0])],
    ["a field of a class", ({ N }, v) => pick(new (class { c = N.gt(0); })().c, v, 0)], // prettier-ignore
    ["a tile", (_, v) => pick(v.gt(0), v, 0)],
    ["a constexpr", ({ BLOCK }, v) => pick(BLOCK.gt(32), v, 0)],
    ["a flag that is negated", ({ FLAG }, v) => pick(FLAG.not(), v, 0)],
    ["state", (_, v) => pick(tl.mut(v.gt(0)).value, v, 0)],
    [
      "the result of a branch",
      ({ N }, v) =>
        pick(
          tl.when(N.gt(2), () => N.gt(0)).otherwise(() => N.lt(9)),
          v,
          0,
        ),
    ],
    ["a helper function's result", ({ N }, v) => pick(tl.fn((n: any) => n.gt(0))(N), v, 0)],
    ["a value that is loaded", ({ x }, v) => pick(tl.load(x.at(0)).gt(0), v, 0)],
  ])("%s", (_, body) => {
    expect(said(body).filter((line) => line.startsWith("error"))).toEqual(
      expect.arrayContaining([expect.stringMatching(TAKEN)]),
    );
  });

  test("in the grid, in requirements and in what is computed before a launch", () => {
    const body = (_: unknown, v: any) => v.add(1);
    expect(said(body, { grid: ({ N }: any) => [pick(N.gt(0), 1, 2)] })[0]).toMatch(TAKEN);
    expect(said(body, { requires: ({ N }: any) => pick(N.gt(0), [], [N.gt(1)]) })[0]).toMatch(TAKEN);
  });

  test("the message points at the line that made it", () => {
    let at: { file: string; line: number } | undefined;
    try {
      compile(
        kernel("here", { params: { y: tensor.out(tl.int32, [1]) }, grid: () => [1] }, ({ y }) => {
          tl.store(y.at(0), pick(tl.programId(0).eq(0), 1, 2) as number); // here
        }),
      );
    } catch (error) {
      at = (error as TileScriptError).diagnostics.find(({ code }) => code === "unused-value")?.at;
    }
    expect(at).toMatchObject({ file: import.meta.filename, line: lineOf(import.meta.url, "here") });
  });
});

describe("another result that nothing uses", () => {
  const warned = (op: string) => [
    `warning unused-value: ${op}: nothing uses its result; hold it, store it or return it, or remove it`,
  ];

  test("of an op as a statement, in an arm, of a load and of state", () => {
    expect(said((_, v) => (v.add(1), v))).toEqual(warned("add"));
    expect(said(({ N }, v) => (tl.when(N.gt(0), () => v.add(1)), v))).toEqual(warned("add"));
    expect(said(({ x }, v) => (tl.load(x.at(0)), v))).toEqual(warned("load"));
    expect(said((_, v) => (tl.mut(v).value, v))).toEqual(warned("value"));
  });

  test("is said once for a line that is traced several times", () => {
    const twice = (_: unknown, v: any) => {
      for (let i = 0; i < 3; i++) v.add(i);
      return v;
    };
    expect(said(twice)).toEqual(warned("add"));
  });
});

describe("a truth value that decides nothing, where the engine can tell", () => {
  test("is a warning, as another result is", () => {
    const unused = (op: string) =>
      `warning unused-value: ${op}: nothing uses its result; hold it, store it or return it, or remove it`;
    expect(said(({ N }, v) => (N.gt(0), v))).toEqual([unused("gt")]);
    expect(said((_, v) => (pick(v.gt(0), 1, 1), v))).toEqual([unused("gt")]);
    expect(said(({ FLAG }, v) => [FLAG, v][1])).toEqual(["warning unused-value: FLAG: nothing uses it; leave it out"]);
  });

  test("is an error where the engine cannot, and where another value is asked", () => {
    const refused = expect.stringMatching(TAKEN) as unknown;
    expect(said(({ N }, v) => (N.gt(0), pick(N.gt(1), v, 0)))).toEqual([refused, refused]);
    const { ir } = traceAndCheck(definitionOf(unusedIn(({ N }, v) => (N.gt(0), v))), undefined);
    const severities = [true, false].map((canTell) => checkUnused(ir, canTell).map(({ severity }) => severity));
    expect(severities).toEqual([["warning"], ["error"]]);
  });
});

describe("what says nothing", () => {
  test("results of atomics, one of several results, an arm's value, and results that only effects use", () => {
    expect(
      said(({ y, N }, v) => {
        tl.atomicAdd(y.at(0), 1);
        tl.assume(N.gt(0));
        const [values] = tl.max(v, 0, { returnIndices: true }) as unknown as [any];
        const arm = tl.when(N.gt(0), () => v.add(1)).otherwise(() => v);
        return arm.add(values);
      }),
    ).toEqual([]);
  });
});
