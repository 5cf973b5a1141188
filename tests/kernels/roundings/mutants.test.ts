/** A plain run fails where a kernel rounds below what its author declares, at the line that rounds. */
import { describe, expect, test } from "vitest";
import { matchers } from "../../../src/testing/matchers.js";
import { mutants } from "./mutants.js";

const ROUNDING_LINE = /^ *> *\d+ \|.*\/\/ rounds$/m;

describe.each(Object.entries(mutants))("%s", (_, make) => {
  test("should fail at its line", async () => {
    const { pass, message } = await matchers.toVerify(make(false), { device: "eval" });
    expect(message()).toMatch(ROUNDING_LINE);
    expect(message()).toContain("narrow-rounding: ");
    expect(pass).toBe(false);
  });

  test("should pass if its author declares it", async () => {
    const { pass, message } = await matchers.toVerify(make(true), { device: "eval" });
    expect(pass, message()).toBe(true);
  });
});
