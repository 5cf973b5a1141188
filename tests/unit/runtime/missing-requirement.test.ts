/** A reference that PyTorch refuses at sizes that nobody asked for is a missing requirement and no failure. */
import { expect, test } from "vitest";
import { build, constexpr, kernel, op, tensor, tl } from "tilescript";
import { compile } from "../../../src/pipeline/compile-kernel.js";
import { missingRequirement } from "../../../src/runtime/cases/command-cases.js";
import { failureOf } from "../../../src/runtime/cases/outcome.js";
import { verify, summarize } from "../../../src/runtime/verify/plan-cases.js";
const device = { kind: "eval", reason: "", unchecked: [] } as const;

/** A kernel that copies the first elements of a tensor, with this reference. */
const copied = (reference: (x: any, sizes: any, torch: any) => any, spec: object = {}, M: number | string = 16) =>
  compile(
    kernel(
      "copied",
      {
        params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, [M]), BLOCK: constexpr() },
        grid: () => [tl.cdiv(16, 16)],
        config: { BLOCK: 16 },
        reference: ({ x, ...sizes }: any, torch: any) => reference(x, sizes, torch),
        shapes: [{ N: 40 }],
        ...spec,
      } as never,
      (({ x, y, BLOCK }: any) => {
        const i = tl.arange(0, BLOCK);
        tl.store(y.at(i), tl.load(x.at(i)));
      }) as never,
    ),
  );

const requirementAt = (of: ReturnType<typeof compile>, sizes: Record<string, number>): string | undefined =>
  missingRequirement(of, { sizes, dtypes: {}, config: 0, seed: 0 });

const narrowed = copied((x) => x.narrow(0, 0, 16));

test("the requirement is a bound, another size or a divisor", () => {
  expect(requirementAt(narrowed, { N: 13 })).toBe("({ N }) => [N.ge(16)]");
  const within = copied((x, { M }) => x.narrow(0, 0, M), { shapes: [{ N: 40, M: 8 }] }, "M");
  expect(requirementAt(within, { N: 3, M: 11 })).toBe("({ N, M }) => [N.ge(M)]");
  const viewed = copied((x) => x.reshape(-1, 16).sum(0));
  expect(requirementAt(viewed, { N: 40 })).toBe("({ N }) => [N.mod(16).eq(0)]");
});

test("a run names it once, and passes", async () => {
  const verification = await verify(narrowed, device, { selection: { seed: 0 } });
  const { correct, notChecked, failed } = summarize(verification, device);
  expect({ correct, failed }).toEqual({ correct: true, failed: 0 });
  expect(notChecked.filter((reason) => reason.includes("requires"))).toEqual([
    expect.stringMatching(/^the reference refuses N=\d+ \(.*narrow.*\); add requires: \(\{ N \}\) => \[N\.ge\(16\)\]$/),
  ]);
});

test("an operator names the requirement that its kernels lack", async () => {
  const copy = (requires?: (sizes: any) => any) =>
    kernel(
      "copy",
      {
        params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, [16]), BLOCK: constexpr() },
        grid: () => [1],
        config: { BLOCK: 16 },
        ...(requires && { requires }),
      } as never,
      (({ x, y, BLOCK }: any) => {
        const i = tl.arange(0, BLOCK);
        tl.store(y.at(i), tl.load(x.at(i)));
      }) as never,
    ) as any;
  const operator = (inner: any) =>
    build(
      op(
        "copied",
        {
          params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, [16]) },
          reference: ({ x }: any) => x.narrow(0, 0, 16),
          shapes: [{ N: 40 }],
        } as never,
        (({ x }: any) => inner.call({ x })) as never,
      ) as never,
    );
  const reasons = async (inner: any) => {
    const verification = await verify(await operator(inner), device, { selection: { seed: 0 } });
    const { correct, notChecked } = summarize(verification, device);
    return { correct, requirements: notChecked.filter((reason) => reason.includes("the reference refuses")) };
  };
  expect(await reasons(copy())).toEqual({
    correct: true,
    requirements: [expect.stringMatching(/; add requires of one of its kernels: \(\{ N \}\) => \[N\.ge\(16\)\]$/)],
  });
  expect(await reasons(copy(({ N }) => [N.ge(16)]))).toEqual({ correct: true, requirements: [] });
});

test("PyTorch refuses the reference for its shapes, not for strides and not in the wrapper", () => {
  const isRefused = (message: string, caller: string, exception = "RuntimeError") =>
    failureOf(narrowed, {
      kind: "python-error",
      message,
      exception,
      frames: [{ line: 1, text: "", function: caller }],
      fatal: false,
    }).isRefusedReference;
  const beyond = "start (0) + length (16) exceeds dimension size (13).";
  expect(isRefused(beyond, "reference_fn")).toBe(true);
  expect(isRefused("Dimension out of range", "reference_fn", "IndexError")).toBe(true);
  expect(isRefused(beyond, "copied")).toBe(undefined);
  expect(isRefused("name 'q' is not defined", "reference_fn", "NameError")).toBe(undefined);
  expect(isRefused("view size is not compatible with input tensor's size and stride", "reference_fn")).toBe(undefined);
});

test("a declared shape that the reference refuses fails", async () => {
  const wrong = copied((x) => x.narrow(0, 0, 16), { shapes: [{ N: 8 }, { N: 40 }] });
  const verification = await verify(wrong, device, { selection: { seed: 0 } });
  expect(summarize(verification, device)).toMatchObject({ correct: false, failed: 1 });
});
