import fc from "fast-check";
import { build } from "tilescript";
import { cases } from "tilescript/testing";
import { test } from "vitest";
import { starter } from "./kernel.js";

test("starter is right at any shape", async () => {
  const compiled = await build(starter);
  fc.assert(fc.property(cases(compiled), (at) => void compiled.check(at)));
});
