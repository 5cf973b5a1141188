/** What Triton refuses is refused here first, in the author's words and at the author's line. */
import { expect, test } from "vitest";
import { constexpr, kernel, libdevice, pointer, scalar, tensor, tl, TileScriptError } from "tilescript";
import { compile } from "../../../src/pipeline/compile-kernel.js";
import { notApplicable, type Rule, rules } from "./rules.js";

const language = { ...tl, libdevice };

/** What the build says of a rule; undefined where it lets it pass. */
function refusal({ here }: Rule): { readonly message: string; readonly file: string | undefined } | undefined {
  const broken = kernel(
    "broken",
    {
      params: {
        x: tensor(tl.float32, ["N"]),
        p: pointer(tl.float32),
        q: pointer(tl.float32),
        h: pointer(tl.float16),
        a: scalar(tl.int64),
        n: scalar(tl.int32),
        f: scalar(tl.float32),
        B: constexpr(),
      },
      grid: () => [1],
      config: { B: 16 },
    },
    (args) => void here(args, language),
  );
  try {
    compile(broken);
    return undefined;
  } catch (error) {
    if (error instanceof TileScriptError) {
      const [first] = error.diagnostics;
      return { message: first!.message, file: first!.at?.file };
    }
    // JavaScript's own error, which the editor reports first: there is no such method or element.
    const isMissing =
      error instanceof TypeError && /is not a function$|of undefined|not extensible/.test(error.message);
    if (isMissing) return { message: error.message, file: error.stack?.match(/\/rules\.ts/)?.[0] };
    throw error;
  }
}

const answers = new Map(rules.map((rule) => [rule, refusal(rule)] as const));

test("every rule of Triton is refused before Triton", () => {
  const passed = rules.filter((rule) => !answers.get(rule));
  const others = REFUSED - rules.length;
  console.log(
    `${rules.length - passed.length} of ${rules.length} Triton rules are rejected before Triton (${others} more do not apply)`,
  );
  expect(passed.map(({ id, python }) => `${id}: ${python}`)).toEqual([]);
});

test("and the sentence points at the author's file", () => {
  const lost = rules.filter((rule) => answers.get(rule) && !answers.get(rule)!.file?.endsWith("rules.ts"));
  expect(lost.map(({ id, python }) => `${id}: ${python}`)).toEqual([]);
});

/** Small kernels that Triton 3.9 was seen to refuse, out of 760; 3.6 refuses all but twelve of them. */
const REFUSED = 255;

test("each stands once, here or among those that do not apply", () => {
  const ids = [...rules.map(({ id }) => id), ...notApplicable.flatMap(({ ids: list }) => list.split(" "))];
  expect(ids.filter((id, i) => ids.indexOf(id) !== i)).toEqual([]);
  expect(ids).toHaveLength(REFUSED);
});
