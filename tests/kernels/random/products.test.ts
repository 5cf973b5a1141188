/** Random products of matrices: each has a warp-specialised kernel, beside a plain one that is as it is without. */
import { expect, test } from "vitest";
import { compile } from "tilescript";
import { drawn } from "../../support/drawn.js";
import { randomProduct } from "./random-products.js";

const seeds = drawn(
  "random products",
  Array.from({ length: 120 }, (_, seed) => seed),
  { key: (seed) => `product ${seed}` },
);

test.each(seeds)("should specialise random product %i", (seed) => {
  const { name, kernel, words } = randomProduct(seed);
  const built = compile(kernel);
  const { python } = built.emit({ specialise: "always" });
  const plain = built.python.slice(built.python.indexOf("@triton.jit"), built.python.indexOf(`\ndef ${name}(`));
  expect({ words, found: python.includes(`def ${name}_specialised_kernel(`) }).toEqual({ words, found: true });
  expect(python).toContain(plain.trimEnd());
});
