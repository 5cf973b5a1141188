/** Code and remedy of a message are data: neither the names of an author's constexprs nor a semicolon changes them. */
import { describe, expect, test } from "vitest";
import { constexpr, kernel, tensor, tl } from "../../../src/index.js";
import { compile } from "../../../src/pipeline/compile-kernel.js";
import { TileScriptError, type Diagnostic } from "../../../src/diagnostics/diagnostic.js";

/** Names that sentences of rules contain. */
const HOSTILE = ["BLOCK", "rank", "axis", "axes", "int1", "condition", "dimension", "permutation", "dot", "value"];

type Body = (x: any, i: any, size: any) => void;
/** Mistakes in whose messages the name of a constexpr stands. */
const mistakes: Readonly<Record<string, Body>> = {
  "a tile as a seed": (x, i) => tl.store(x.at(i), tl.rand(i, i)),
  "tiles that do not broadcast": (x, i, size) => tl.store(x.at(i), i.add(tl.arange(0, size.mul(2)))),
  "a value of another shape": (x, i) => tl.store(x.at(i), tl.zeros([2, 2], tl.float32)),
  "an axis out of range": (x, i) => tl.store(x.at(i), tl.sum(i, 3)),
  "a mask of another shape": (x, i, size) =>
    tl.store(x.ptr.add(i), 1, { mask: tl.arange(0, size.mul(2)).lt(3) as never }),
  "a scalar where a tile is needed": (x, i) => tl.store(x.at(i), (i as any).item()),
  "a reshape to another number of elements": (x, i, size) => tl.store(x.at(i), i.reshape([size.mul(4)])),
  "a branch on a tile": (x, i) => tl.when(i.lt(3) as never, () => tl.store(x.at(i), 1)),
};

function diagnose(name: string, body: Body): Diagnostic {
  const wrong = kernel(
    "wrong",
    {
      params: { x: tensor.out(tl.float32, ["N"]), [name]: constexpr() } as any,
      grid: () => [1],
      config: { [name]: 64 } as any,
    },
    ((args: any) => body(args.x, tl.programId(0).mul(args[name]).add(tl.arange(0, args[name])), args[name])) as never,
  );
  try {
    compile(wrong);
  } catch (error) {
    if (error instanceof TileScriptError) return error.diagnostics[0]!;
    throw error;
  }
  throw new Error("the build took it");
}

describe.each(Object.entries(mistakes))("%s", (_, body) => {
  const expected = diagnose("SIZE", body);

  test.each(HOSTILE)("has the same code where a constexpr is called %s", (name) => {
    const { code, message, remedy } = diagnose(name, body);
    expect(code).toBe(expected.code);
    expect(message).toBe(expected.message.replaceAll("SIZE", name));
    expect(remedy).toBe(expected.remedy?.replaceAll("SIZE", name));
  });
});

test("the message is the problem, a semicolon and the remedy", () => {
  const { message, remedy } = diagnose("BLOCK", mistakes["a branch on a tile"]!);
  expect(remedy).toBe("choose lane by lane with tl.where");
  expect(message).toBe(`when: one program has one condition, this is a tile [BLOCK]; ${remedy}`);
});

test("a message without a remedy has none", () => {
  const { message, remedy } = diagnose("BLOCK", mistakes["a tile as a seed"]!);
  expect(message).toBe("rand: the seed is a scalar, this is [BLOCK]");
  expect(remedy).toBeUndefined();
});

test("a mask that is compared with a number beyond int32 has a remedy that works", () => {
  const { code, remedy } = diagnose("BLOCK", (x, i) => tl.store(x.at(i), i.lt(3).eq(2 ** 40)));
  expect({ code, remedy }).toEqual({ code: "number-type", remedy: "compare it with 0 or 1" });
});
