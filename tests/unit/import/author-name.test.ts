import { expect, it } from "vitest";
import { authorName } from "../../../src/import/author-name.js";
import { snakeCase } from "../../../src/codegen/names/names.js";

it.each([
  ["pid_m", "pidM"],
  ["num_pid_in_group", "numPidInGroup"],
  ["BLOCK_M", "BLOCK_M"],
  ["x", "x"],
  // Emission would not give these names back.
  ["stride_0", "stride_0"],
  ["a_B", "a_B"],
  ["_", "unused"],
  ["new", "new_"],
  ["tl", "tl_"],
])("should name %s as %s", (python, name) => {
  expect(authorName(python)).toBe(name);
});

it("should give names that emission turns back", () => {
  for (const name of ["offs_am", "b_ptrs", "q_len", "x1_y", "lse_ptrs"]) expect(snakeCase(authorName(name))).toBe(name);
});
