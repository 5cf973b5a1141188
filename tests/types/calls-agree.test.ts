/**
 * The editor and the build say the same of every call: its result type, exactly, or the sentence that refuses it. Calls
 * are drawn for every op of the table, others by each seed, and each sample is also asked as a method.
 * `TILESCRIPT_CALL_SEEDS=30` draws by 30 seeds that follow from that of the run. `TILESCRIPT_CALL_SEEDS=all` asks about
 * every call that a seed may draw, which takes about ten minutes: run it after a change to a sample, a rule or what is
 * drawn, so that no later seed finds what it would find.
 */
import { describe, expect, test } from "vitest";
import { libdevice } from "tilescript";
import { table } from "../../src/ops/table.js";
import { looser, onlyTheBuild, onlyTheEditor, standIns } from "./call-apart.js";
import { callsLike, inBothForms } from "./call-questions.js";
import { samples } from "./call-samples.js";
import { type Built, built, edited } from "./call-verdicts.js";
import { fixedCalls } from "./calls-fixed.js";
import { drawnCount, sampledTests, seedOfRun } from "../support/sampled-tests.js";

sampledTests("calls that types and rules judge", "src/rules", "src/types");

const asked = process.env["TILESCRIPT_CALL_SEEDS"];
const seeds = Array.from(
  { length: asked === undefined ? drawnCount("seeds of typed calls", 4) : Number(asked) || 0 },
  (_, i) => 10 * seedOfRun() + i,
);
/** Calls that one seed draws from a sample. libdevice's functions share one rule. */
const drawnOf = (sample: string) => (sample.startsWith("libdevice") ? 1 : 4);
/** Calls in one run of the compiler. */
const AT_ONCE = 2500;

/** Numbers from 0 to below 1, the same for the same seed. */
function* random(start: number): Generator<number, never> {
  // Seeds of neighboring days must not begin alike.
  for (let state = Math.imul(start, 2_654_435_761) >>> 0; ;) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    yield state / 2 ** 32;
  }
}

const right = built(samples);
const alike = right.map(({ call, op }) => ({ sample: call, calls: op ? callsLike(call, op) : [] }));
function drawnBy(seed: number): readonly string[] {
  const numbers = random(seed);
  return alike.flatMap(({ sample, calls }) =>
    calls.length === 0
      ? []
      : Array.from({ length: drawnOf(sample) }, () => calls[Math.floor(numbers.next().value * calls.length)]!),
  );
}
/** Samples that may be written as methods, so: the seed does not decide whether a method is asked. */
const both = right.flatMap(({ call, op }) => (op ? inBothForms(call, op) : []));
const drawn = asked === "all" ? alike.flatMap(({ calls }) => calls) : seeds.flatMap(drawnBy);
const answers = built([...new Set([...samples, ...both, ...fixedCalls, ...drawn])]);
let said: string[][] | undefined;
/** What the compiler says serves every test. */
const editor = (i: number): string => (said ??= saidOfAll())[i]!.join("\n");
function saidOfAll(): string[][] {
  const parts = Array.from({ length: Math.ceil(answers.length / AT_ONCE) }, (_, i) =>
    answers.slice(i * AT_ONCE, (i + 1) * AT_ONCE),
  );
  return parts.flatMap((part) => edited("calls", part));
}

const about = (answer: Built, i: number) =>
  `${answer.call}\n  build: ${answer.result ?? answer.sentence}\n  editor: ${editor(i) || "accepts it"}`;
const isTyped = (i: number) => editor(i).includes("{ editor: ");
/** Errors about the call itself, not about the type of its result. */
const refusal = (i: number) =>
  editor(i)
    .split("\n")
    .filter((line) => !line.includes("{ editor: "))
    .join("\n");

/** Calls that this family of disagreement has and that no entry covers. */
function wrong(
  covered: readonly { covers(answer: Built, editor: string): boolean }[],
  has: (answer: Built, i: number) => boolean,
) {
  return answers.flatMap((answer, i) =>
    has(answer, i) && !covered.some((entry) => entry.covers(answer, editor(i))) ? [about(answer, i)] : [],
  );
}

test("every op has a sample that is right", () => {
  expect(right.filter(({ op }) => op === undefined).map(({ call, sentence }) => `${call}: ${sentence}`)).toEqual([]);
  const sampled = new Set(right.map(({ op }) => op));
  const names = new Set([...sampled].map((op) => op?.name));
  expect(table.filter(({ name }) => !names.has(name)).map(({ name }) => name)).toEqual([]);
  expect(
    Object.keys(libdevice).filter((name) => !samples.some((call) => call.startsWith(`libdevice.${name}(`))),
  ).toEqual([]);
});

describe(
  `${answers.length} calls, ${asked === "all" ? "all" : `of seeds ${seeds.join(", ")}`}`,
  { timeout: 1_800_000 },
  () => {
    test("samples are right in the editor", () => {
      expect(samples.flatMap((_, i) => (refusal(i) ? [about(answers[i]!, i)] : []))).toEqual([]);
    });
    test("what the build refuses, the editor refuses", () => {
      expect(wrong(onlyTheBuild, ({ sentence }, i) => sentence !== undefined && editor(i) === "")).toEqual([]);
    });
    test("what the editor refuses, the build refuses", () => {
      expect(wrong(onlyTheEditor, ({ result }, i) => result !== undefined && refusal(i) !== "")).toEqual([]);
    });
    test("both refuse in the same words", () => {
      const says = (sentence: string, i: number) =>
        editor(i).includes(sentence) || editor(i).includes(JSON.stringify(sentence));
      expect(
        wrong(standIns, ({ sentence }, i) => sentence !== undefined && editor(i) !== "" && !says(sentence, i)),
      ).toEqual([]);
    });
    test("both give the same type", () => {
      expect(wrong(looser, ({ result }, i) => result !== undefined && refusal(i) === "" && isTyped(i))).toEqual([]);
    });
    test("the build refuses with an error of its own", () => {
      expect(
        answers.filter(({ code }) => code === "crash").map(({ call, sentence }) => `${call}: ${sentence}`),
      ).toEqual([]);
    });
  },
);
