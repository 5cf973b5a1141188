/** JavaScript takes every traced value for true, whatever way it came there: the kernel is traced with values that are false. */
import { describe, expect, test } from "vitest";
import { execa } from "execa";
import { compile, constexpr, kernel, tensor, tl } from "tilescript";

const SOURCE = new URL("../../../src/index.ts", import.meta.url).href;

/** A kernel that uses its flag and its mask, and what `ask` makes of one of them. */
function made(ask: (given: any, value: any) => any, spec: object = {}): unknown {
  return kernel(
    "asking",
    {
      params: {
        x: tensor(tl.float32, ["N"]),
        y: tensor.out(tl.float32, ["N"]),
        F: constexpr.bool({ default: false }),
        B: constexpr(),
      },
      grid: ({ N, B }: any) => [tl.cdiv(N, B)],
      config: { B: 16 },
      ...spec,
    } as never,
    (({ x, y, F, B }: any) => {
      const i = tl.programId(0).mul(B).add(tl.arange(0, B));
      const value = tl.load(x.at(i)) as any;
      const mask = value.gt(0);
      tl.when(F, () => {
        tl.store(y.at(i), tl.where(mask, value, 0));
      });
      const row = tl.programId(0);
      const result = ask({ F, mask, row }, value);
      tl.store(y.at(i), result.add(row.to(tl.float32)));
    }) as never,
  );
}

const build = (...given: Parameters<typeof made>): string => {
  try {
    compile(made(...given) as never);
    return "built";
  } catch (error) {
    return String((error as Error).message);
  }
};

const REFUSED = /error traced-condition: code here or earlier uses a traced value as a JavaScript condition/;

describe("a flag that is used elsewhere too", () => {
  test.each<[string, (flag: any) => unknown]>([
    ["a map", (flag) => new Map([["f", flag]]).get("f")],
    ["a field", (flag) => new (class { f = flag; })().f], // prettier-ignore
    ["a static field", (flag) => class { static f = flag; }.f], // prettier-ignore
    ["a generator", (flag) => (function* () { yield flag; })().next().value], // prettier-ignore
    ["an iterator", (flag) => [flag].values().next().value],
    ["splice", (flag) => [flag].splice(0, 1)[0]],
    ["a default parameter", (flag) => ((f = flag) => f)()],
    ["Reflect", (flag) => Reflect.get({ flag }, "flag")],
    ["an assignment to a pattern", (flag) => { let f; [f] = [flag]; return f; }], // prettier-ignore
    ["structured objects", (flag) => Object.fromEntries(Object.entries({ flag }))["flag"]],
    ["a proxy", (flag) => new Proxy({ flag }, {}).flag],
    ["a weak reference", (flag) => new WeakRef(flag).deref()],
  ])("that came by way of %s", (_, way) => {
    expect(build(({ F }, v) => (way(F) ? v.mul(2) : v))).toMatch(REFUSED);
    expect(build(({ mask }, v) => (way(mask) ? v.mul(2) : v))).toMatch(REFUSED);
    expect(build(({ row }, v) => (way(row) ? v.mul(2) : v))).toMatch(REFUSED);
  });

  test("is refused where asking it fails or ends nothing", () => {
    const held = (flag: any) => new Map([["f", flag]]).get("f");
    expect(build(({ F }, v) => v.mul([1, 2].filter(() => held(F)).length))).toMatch(REFUSED);
    expect(build(({ F }, v) => { if (!held(F)) throw new Error("no flag"); return v; })).toMatch(REFUSED); // prettier-ignore
    expect(build(({ F }, v) => v.mul(held(F) && 3))).toMatch(REFUSED);
  });

  test("is refused in what runs before a launch", () => {
    const held = (flag: any) => new Map([["f", flag]]).get("f");
    const requires = ({ N }: any) => {
      const isLong = N.ge(1);
      return held(isLong) ? [isLong, N.ge(2)] : [isLong];
    };
    expect(build((_, v) => v, { requires })).toMatch(REFUSED);
  });

  test("may be asked whether it is there", () => {
    const held = (flag: any) => new Map([["f", flag]]).get("f");
    expect(build(({ F }, v) => (held(F) !== undefined ? v.mul(2) : v))).toBe("built");
    expect(build(({ mask }, v) => v.mul(tl.where(held(mask) ?? 1, 2, 3)))).toBe("built");
    expect(build((_, v) => (held(v) ? v.mul(2) : v))).toBe("built");
    expect(build((_, v) => [undefined, v].find((each) => each !== undefined).mul(2))).toBe("built");
  });
});

describe("a process that traces for long", () => {
  const held = (flag: any) => new Map([["f", flag]]).get("f");

  test("may freeze values, which are not used again", () => {
    const frozen = (each: any) => (Object.freeze(each), each);
    for (let i = 0; i < 3; i++) expect(build(({ mask }, v) => tl.where(frozen(mask), v, 0))).toBe("built");
    expect(build(({ mask }, v) => (held(mask) ? v.mul(2) : v))).toMatch(REFUSED);
  });

  test("gets more values after V8 forgot functions that are seldom called", async () => {
    const code = `
      import { runInNewContext } from "node:vm";
      import { setFlagsFromString } from "node:v8";
      import { compile, constexpr, kernel, tensor, tl } from ${JSON.stringify(SOURCE)};
      const made = (masks, asks) => kernel("k", {
        params: { x: tensor.inout(tl.float32, ["N"]), B: constexpr() },
        grid: ({ N, B }) => [tl.cdiv(N, B)], config: { B: 16 },
      }, ({ x, B }) => {
        const i = tl.programId(0).mul(B).add(tl.arange(0, B));
        let value = tl.load(x.at(i));
        for (let turn = 0; turn < masks; turn++) value = tl.where(value.gt(turn), value, turn);
        const { mask } = new (class { mask = value.gt(0); })();
        tl.store(x.at(i), asks && mask ? tl.where(mask, value, 1) : tl.where(mask, value, 0));
      });
      const said = (masks, asks) => {
        try { compile(made(masks, asks)); return "built"; }
        catch (error) { return /as a JavaScript condition/.test(error.message) ? "refused" : error.message; }
      };
      const answers = [said(1, false)];
      setFlagsFromString("--expose-gc");
      const gc = runInNewContext("gc");
      for (let i = 0; i < 50; i++) { gc(); await new Promise((turn) => setTimeout(turn, 1)); }
      console.log(JSON.stringify([...answers, said(200, false), said(200, true)]));
    `;
    const { stdout } = await execa(
      process.execPath,
      ["--import", "tsx", "--stress-flush-code", "--input-type=module", "--eval", code],
      { stdin: "ignore" },
    );
    expect(JSON.parse(stdout)).toEqual(["built", "built", "refused"]);
  });
});
