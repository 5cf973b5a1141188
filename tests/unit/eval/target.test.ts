/** Queries of the compilation target on the evaluator, which has no GPU: they answer for the one that the case states. */
import { expect, test } from "vitest";
import { kernel, tensor, tl } from "tilescript";
import { dependentAdd } from "../../../examples/dependent-launch.js";
import { compile } from "../../../src/pipeline/compile-kernel.js";

const asked = kernel("asked", { params: { y: tensor.out(tl.int32, [3]) }, grid: () => [1], triton: "3.9" }, ({ y }) => {
  const { isCuda, isHip, cudaCapabilityGeq } = tl.targetInfo;
  [isCuda(), isHip(), cudaCapabilityGeq(9, 0)].forEach((answer, i) =>
    tl.when(answer, () => tl.store(y.at(i), 1)).otherwise(() => tl.store(y.at(i), 0)),
  );
});

test("queries of the target answer for the GPU of the case, an H200 if it states none", () => {
  const at = { sizes: {}, dtypes: {}, config: 0, seed: 0 };
  const compiled = compile(asked);
  const answers = (gpu: { major: number; minor: number } | undefined) => {
    const { outputs, findings, unchecked } = compiled.evaluate({ ...at, ...(gpu && { gpu }) }, { lowered: true });
    return { answers: [...outputs["y"]!.data].map(Number), findings, said: unchecked[2] };
  };
  expect(answers(undefined)).toMatchObject({ answers: [1, 0, 1], findings: [] });
  expect(answers({ major: 8, minor: 9 })).toMatchObject({ answers: [1, 0, 0], findings: [] });
  // The program that was prepared for one GPU does not run as on another.
  expect(answers({ major: 10, minor: 0 })).toMatchObject({ answers: [1, 0, 1] });
  expect(answers({ major: 8, minor: 6 }).said).toMatch(/^tl\.cudaCapabilityGeq at .*: answered as on sm_86$/);
});

test("a kernel that asks for its target is compared with its reference", () => {
  const compiled = compile(dependentAdd);
  for (const gpu of [{}, { major: 8, minor: 0 }]) {
    const at = { sizes: { N: 3000 }, dtypes: {}, config: 0, seed: 1, gpu };
    expect(compiled.evaluate(at, { lowered: true }).comparison?.correct).toBe(true);
    expect(compiled.work(at).guessed).toBe(undefined);
  }
});

const sized = kernel("sized", { params: { y: tensor.out(tl.int32, [1]) }, grid: () => [1] }, ({ y }) => {
  const TILE = tl.choose(tl.targetInfo.cudaCapabilityGeq(9, 0), 8, 4);
  tl.store(y.at(0), tl.sum(tl.full([TILE], 1, tl.int32), 0));
});

test("the size of a tile may be what a query of the target chooses", () => {
  const compiled = compile(sized);
  const at = { sizes: {}, dtypes: {}, config: 0, seed: 0 };
  const lanesOn = (major: number) =>
    Number(compiled.evaluate({ ...at, gpu: { major, minor: 0 } }, { lowered: true }).outputs["y"]!.data[0]);
  expect([lanesOn(8), lanesOn(9)]).toEqual([4, 8]);
});
