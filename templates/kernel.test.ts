import fc from "fast-check";
import { build } from "tilescript";
import { cases } from "tilescript/testing";
import { test } from "vitest";
import { starter } from "./kernel.js";

// vitest stops a test after 5 s of its own accord, and a slow machine needs more for 100 cases.
test("starter is right at any shape", { timeout: 60_000 }, async () => {
  const compiled = await build(starter);
  fc.assert(fc.property(cases(compiled), (at) => void compiled.check(at)));
});
