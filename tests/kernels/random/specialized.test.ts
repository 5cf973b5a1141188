/**
 * Random products, mixed ones too, and random attention: each has a warp-specialized kernel, beside a plain one that is
 * as it is without, and its text computes what the evaluator does, at sizes, in configs and in orders that the seed of
 * the run draws.
 */
import { describe, expect, test } from "vitest";
import { compile } from "tilescript";
import { sampleCases, seedOfRun } from "../../support/sampled-tests.js";
import { emulate, type Trial } from "../../triton/gluon/emulated.js";
import { trialOf } from "../../triton/gluon/random-trials.js";
import { randomAttention } from "./random-attentions.js";
import { randomMixed } from "./random-mixed.js";
import type { RandomKernel } from "./random-numbers.js";
import { randomProduct } from "./random-products.js";

const COUNT = 160;

const forms = [
  ["product", "product", randomProduct],
  ["mixed product", "product", randomMixed],
  ["attention", "attention", randomAttention],
] as const;

const trials: Trial[] = [];
const wanted: number[] = [];

describe.each(forms)("random %s", (title, form, random: (seed: number) => RandomKernel) => {
  const seeds = sampleCases(
    `random kernels of the form ${title}`,
    Array.from({ length: COUNT }, (_, seed) => seed),
    { key: (seed) => `${title} ${seed}`, minimum: 8, maximum: 8, perRun: 54 },
  );
  wanted.push(...seeds);

  test.each(seeds)("should specialize number %i", (seed) => {
    const each = random(seed);
    const { name, words } = each;
    const built = compile(each.kernel as never);
    const { python } = built.emit({ warpSpecialize: "always" });
    const plain = built.python.slice(built.python.indexOf("@triton.jit"), built.python.indexOf(`\ndef ${name}(`));
    expect({ words, found: python.includes(`def ${name}_specialized_kernel(`) }).toEqual({ words, found: true });
    expect(python).toContain(plain.trimEnd());
    trials.push({ ...trialOf(form, each, built, 1000 * seedOfRun() + seed), python });
  });
});

// One process of Python for all forms.
test("random kernels should compute in the emulator what the evaluator does", { timeout: 900_000 }, async () => {
  expect(trials).toHaveLength(wanted.length);
  expect((await emulate(trials)).filter(({ wrong }) => wrong.some((said) => said !== null))).toEqual([]);
});
