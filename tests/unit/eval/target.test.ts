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
