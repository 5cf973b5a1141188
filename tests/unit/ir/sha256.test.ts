/** The digest that certificates use in browsers too, against Node's. */
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { sha256 } from "../../../src/ir/fingerprint.js";

test("digests are Node's, at every length around a block", () => {
  for (let length = 0; length <= 200; length++) {
    const text = `${"aé𝒳".repeat(length)}${length}`.slice(0, length);
    expect(sha256(text)).toBe(createHash("sha256").update(text).digest("hex"));
  }
});
