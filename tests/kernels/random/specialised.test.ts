/** Random products and random attention: each has a warp-specialised kernel, beside a plain one that is as it is without. */
import { describe, expect, test } from "vitest";
import { compile } from "tilescript";
import { drawn } from "../../support/drawn.js";
import { randomAttention } from "./random-attentions.js";
import type { RandomKernel } from "./random-numbers.js";
import { randomProduct } from "./random-products.js";

const COUNT = 160;

const forms = [
  ["product", randomProduct],
  ["attention", randomAttention],
] as const;

describe.each(forms)("random %s", (form, random: (seed: number) => RandomKernel) => {
  const seeds = drawn(
    `random kernels of the form ${form}`,
    Array.from({ length: COUNT }, (_, seed) => seed),
    { key: (seed) => `${form} ${seed}`, least: 16 },
  );

  test.each(seeds)("should specialise number %i", (seed) => {
    const { name, kernel, words } = random(seed);
    const built = compile(kernel);
    const { python } = built.emit({ specialise: "always" });
    const plain = built.python.slice(built.python.indexOf("@triton.jit"), built.python.indexOf(`\ndef ${name}(`));
    expect({ words, found: python.includes(`def ${name}_specialised_kernel(`) }).toEqual({ words, found: true });
    expect(python).toContain(plain.trimEnd());
  });
});
