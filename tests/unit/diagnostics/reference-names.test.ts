/** What is said where a reference mistakes its names: for the kernel's values, and for Python's. */
import { describe, expect, test } from "vitest";
import { build, constexpr, kernel, python, tensor, tl } from "tilescript";
import { failureOf } from "../../../src/runtime/cases/outcome.js";
import { emit } from "../../support/emit.js";

const copying = (reference: unknown) =>
  kernel(
    "copying",
    {
      params: { seqIdx: tensor(tl.int32, ["N"]), y: tensor.out(tl.int32, ["N"]), BLOCK: constexpr() },
      grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
      config: { BLOCK: 16 },
      reference: reference as never,
    },
    ({ seqIdx, y, BLOCK }) => {
      const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
      tl.store(y.at(i), tl.load(seqIdx.at(i)));
    },
  );

test("tl's functions do not take what a recorded reference gets", () => {
  const mistaken = copying(({ seqIdx, N }: any) => seqIdx.add(tl.cdiv(N, 2)));
  expect(() => emit(mistaken)).toThrow("cdiv: x is a value of the reference, and tl computes with the kernel's");
});

describe("a name that Python does not find in a reference", () => {
  const failed = async (message: string) =>
    failureOf(await build(copying(python`return seqIdx`)), { kind: "python-error", message, frames: [], fatal: false })
      .message;

  test("is given as it is in Python", async () => {
    expect(await failed("name 'seqIdx' is not defined")).toBe(
      "name 'seqIdx' is not defined; in Python seqIdx is called seq_idx",
    );
  });
  test("may be of a param that no reference gets", async () => {
    expect(await failed("name 'BLOCK' is not defined")).toContain("a reference gets inputs and arguments");
  });
  test("may be anyone's", async () => {
    expect(await failed("name 'N2' is not defined")).toBe("name 'N2' is not defined");
  });
});
