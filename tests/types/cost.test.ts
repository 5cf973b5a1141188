/** What a kernel costs the checker, as a number that is the same on every machine. `npm run bench:types` says more. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { instantiations } from "./cost.js";
import { root } from "./tsc.js";

const importOnly = `import { tl } from "tilescript";\nexport { tl };`;

test("the matrix product stays within its budget of instantiations", { timeout: 30_000 }, () => {
  const gemm = readFileSync(join(root, "examples/gemm.ts"), "utf8");
  const cost = instantiations(gemm) - instantiations(importOnly);
  const measured = 19_385;
  expect(cost).toBeGreaterThan(0);
  expect(cost).toBeLessThan(measured * 1.1);
});
