/** Random products and random attention: each has a warp-specialised kernel, beside a plain one that is as it is without. */
import { afterAll, describe, expect, test } from "vitest";
import { compile } from "tilescript";
import { drawn } from "../../support/drawn.js";
import { randomAttention } from "./random-attentions.js";
import type { RandomKernel } from "./random-numbers.js";
import { randomProduct } from "./random-products.js";

/** Milliseconds that a module with both kernels may take to write. */
const MOST_MS = 50;
const COUNT = 160;

const forms = [
  ["product", randomProduct],
  ["attention", randomAttention],
] as const;

/** CPU time of this process: a busy machine takes longer, but no more of it. */
const cpuMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

describe.each(forms)("random %s", (form, random: (seed: number) => RandomKernel) => {
  const seeds = drawn(
    `random kernels of the form ${form}`,
    Array.from({ length: COUNT }, (_, seed) => seed),
    { key: (seed) => `${form} ${seed}`, least: 16 },
  );
  const took: number[] = [];

  test.each(seeds)("should specialise number %i", (seed) => {
    const { name, kernel, words } = random(seed);
    const built = compile(kernel);
    const before = cpuMs();
    const { python } = built.emit({ specialise: "always" });
    took.push(cpuMs() - before);
    const plain = built.python.slice(built.python.indexOf("@triton.jit"), built.python.indexOf(`\ndef ${name}(`));
    expect({ words, found: python.includes(`def ${name}_specialised_kernel(`) }).toEqual({ words, found: true });
    expect(python).toContain(plain.trimEnd());
  });

  afterAll(() => {
    const [middle] = took.toSorted((a, b) => a - b).slice(Math.floor(took.length / 2));
    expect(middle).toBeLessThanOrEqual(MOST_MS);
  });
});
