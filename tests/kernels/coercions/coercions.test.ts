/**
 * Random mixtures of JavaScript and traced values mean the same as a kernel and as JavaScript, or are refused.
 * `npm run fuzz -- coercions` draws thousands.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { drawnCount, seedOfRun } from "../../support/sampled-tests.js";
import { type Outcome, outcomeOf } from "./outcome.js";
import { type Snippet, snippetOf } from "./snippets.js";

const folder = mkdtempSync(join(tmpdir(), "tilescript-coercions-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** A snippet of this body, whose kernel has a, b, c and the flag F. */
function snippet(body: string): Snippet {
  const text = `import { constexpr, kernel, tensor, tl } from "tilescript";
export const snippet = kernel("snippet", {
  params: { x: tensor(tl.int32, [3]), y: tensor.out(tl.int32, [1]), C: constexpr(), F: constexpr.bool({ default: true }) },
  grid: () => [1],
  config: { C: 2 },
}, ({ x, y, C }) => {
const [a, b, c] = [0, 1, 2].map((i) => tl.load(x.at(i)));
const sum = a.add(b).add(c).add(C);
const m = tl.mut(sum);
${body}
tl.store(y.at(0), m.value);
});
`;
  return { seed: 0, files: { "snippet.mjs": text } };
}

const outcome = (body: string, name: string, withSource = true): Outcome =>
  outcomeOf(snippet(body), join(folder, name), withSource);

describe("a snippet and its kernel", () => {
  test("that agree are the same", () => {
    expect(outcome("for (const k of tl.range(3)) m.value = m.value.add(k);", "same")).toEqual({ kind: "same" });
  });

  test("that differ are told apart, when nothing refuses the snippet", () => {
    const shared = "const q = a.gt(0); m.value = m.value.add(q.to(tl.int32)).add([q].map((r) => (r ? b : c))[0]);";
    expect(outcome(shared, "shared")).toEqual({ kind: "refused", code: "traced-condition" });
    expect(outcome(shared, "shared without its source", false)).toEqual({ kind: "refused", code: "traced-condition" });
    const identity = "const [p, q] = [a.mul(0), b.mul(0)]; m.value = m.value.add(p).add(q).add(new Set([p, q]).size);";
    expect(outcome(identity, "identity", false)).toMatchObject({ kind: "changed" });
  });
});

test("random snippets never change their meaning without a word", () => {
  const count = drawnCount("snippets of JavaScript", 480);
  const kinds = { same: 0, refused: 0, changed: 0, meaningless: 0 };
  const changed: string[] = [];
  for (let i = 0; i < count; i++) {
    const drawn = snippetOf(1000 * seedOfRun() + i);
    const { kind } = outcomeOf(drawn, join(folder, String(i)), true);
    kinds[kind]++;
    if (kind === "changed") changed.push(`seed ${drawn.seed}\n${Object.values(drawn.files).join("\n")}`);
  }
  expect(changed).toEqual([]);
  // Neither side is empty: much is refused, and plain JavaScript is not.
  expect(kinds.same).toBeGreaterThan(count / 20);
  expect(kinds.refused).toBeGreaterThan(count / 4);
});
