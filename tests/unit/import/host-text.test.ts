import { describe, expect, it } from "vitest";
import { callbackText, fixedValue, type HostNames } from "../../../src/import/host-text.js";
import type { HostTree } from "../../../src/import/tree.js";

const known = new Map<string, ReturnType<HostNames>>([
  ["n", { name: "n" }],
  ["BLOCK_SIZE", { name: "blockSize" }],
  ["FIXED", { value: 8 }],
]);
const names: HostNames = (python) => known.get(python);
const param = (name: string): HostTree => ({ param: name });
const tree = (op: string, ...of: readonly HostTree[]): HostTree => ({ op, of });
const grid = (...trees: readonly HostTree[]) => callbackText(trees, names, (texts) => `[${texts.join(", ")}]`);

describe("what the host computes", () => {
  it.each([
    [[tree("cdiv", param("n"), param("BLOCK_SIZE"))], "({ n, blockSize }) => [tl.cdiv(n, blockSize)]"],
    [[tree("mul", param("n"), { value: 2 }), { value: 3 }], "({ n }) => [n.mul(2), 3]"],
    [[{ value: 1 }], "() => [1]"],
    // A number has no methods.
    [[tree("add", { value: 1 }, param("n"))], "({ n }) => [n.add(1)]"],
    [[tree("sub", { value: 1 }, param("n"))], "({ n }) => [tl.sub(1, n)]"],
    [[tree("lt", { value: 1 }, param("n"))], "({ n }) => [n.gt(1)]"],
    [[tree("nextPowerOf2", param("n"))], "({ n }) => [tl.nextPowerOf2(n)]"],
    [[tree("not", tree("eq", param("n"), { value: 1 }))], "({ n }) => [n.eq(1).not()]"],
    // What is fixed is a number.
    [[tree("floorDiv", param("n"), param("FIXED"))], "({ n }) => [n.floorDiv(8)]"],
    [[tree("cdiv", { value: 17 }, param("FIXED"))], "() => [3]"],
  ] satisfies readonly (readonly [readonly HostTree[], string])[])("%j is %s", (trees, text) => {
    expect(grid(...trees)).toBe(text);
  });

  it("should be undefined where a parameter is missing", () => {
    expect(grid(tree("cdiv", param("n"), param("GONE")))).toBeUndefined();
  });

  it("should fold as Python does", () => {
    const folded = (op: string, x: number, y: number) => fixedValue(tree(op, { value: x }, { value: y }), names);
    expect(folded("floorDiv", -7, 2)).toBe(-4);
    expect(folded("mod", -7, 4)).toBe(1);
    expect(folded("cdiv", 7, 2)).toBe(4);
    expect(folded("le", 2, 2)).toBe(true);
    expect(folded("and", 1, 1)).toBeUndefined();
  });
});
