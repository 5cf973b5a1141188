/** Messages about what another copy of the package made. */
import { afterEach, expect, it } from "vitest";
import { build, tensor, tl } from "tilescript";

const copies = (globalThis as unknown as Record<symbol, Set<string>>)[Symbol.for("tilescript.copies")]!;
const other = "file:///elsewhere/node_modules/tilescript/dist";

afterEach(() => void copies.delete(other));

const all: readonly (() => unknown)[] = [
  () => build({}),
  () => tensor({ name: "float32" } as never, ["N"]),
  () => void tl.arange(0, 16 as never),
];

it.each(all)("should name both copies", async (mistake) => {
  copies.add(other);
  await expect(async () => await mistake()).rejects.toThrow(
    /; this program has 2 copies of tilescript, .* and file:.*elsewhere.*import one/,
  );
});

it.each(all)("should name none where there is one", async (mistake) => {
  await expect(async () => await mistake()).rejects.toThrow(/^(?!.*copies of)/s);
});
