/** Each mistake is one error with a sentence that helps; what is right compiles. `vitest -u` renews the sentences. */
import { format } from "prettier";
import { expect, test } from "vitest";
import type { Mistake } from "./mistake.js";
import { chapters, unseen } from "./mistakes.js";
import { imports, setting, settingEnd } from "./mistakes-setting.js";
import { typeErrors, type TscDiagnostic } from "../support/tsc.js";

type Side = "wrong" | "right";
const all = chapters.flatMap(({ mistakes }) => mistakes);
const bodyLines = [...chapters.flatMap(({ of, mistakes }) => (of === "lines" ? mistakes : [])), ...unseen];

/** One program of all of them, and where each begins and ends. */
function program(side: Side) {
  const lines = `${imports}\n${setting}`.split("\n");
  const places = new Map<Mistake, readonly [first: number, last: number]>();
  const append = (mistake: Mistake) => {
    const first = lines.length + 1;
    lines.push("{", ...mistake[side].split("\n"), "}");
    places.set(mistake, [first, lines.length]);
  };
  bodyLines.forEach(append);
  lines.push(...settingEnd.split("\n"));
  for (const { of, mistakes } of chapters) if (of === "kernels") mistakes.forEach(append);
  return { text: lines.join("\n"), places };
}

const programs = { wrong: program("wrong"), right: program("right") };
let said: TscDiagnostic[] | undefined;
/** One run of the compiler serves every test. */
function about(mistake: Mistake, side: Side): TscDiagnostic[] {
  said ??= typeErrors("mistakes", { "wrong.ts": programs.wrong.text, "right.ts": programs.right.text });
  const [first, last] = programs[side].places.get(mistake)!;
  return said.filter(({ file, line }) => file === `${side}.ts` && line >= first && line <= last);
}
const inWords = ({ code, message }: TscDiagnostic) => `${code}: ${message}`;

test("what is right compiles", { timeout: 120_000 }, () => {
  expect(
    [...all, ...unseen].flatMap((mistake) => about(mistake, "right").map((c) => `${mistake.title}: ${inWords(c)}`)),
  ).toEqual([]);
});

test("nothing else in the setting is wrong", () => {
  const places = (Object.keys(programs) as Side[]).flatMap((side) =>
    [...programs[side].places.values()].map(([first, last]) => ({ file: `${side}.ts`, first, last })),
  );
  const elsewhere = said!.filter(
    (c) => !places.some(({ file, first, last }) => c.file === file && c.line >= first && c.line <= last),
  );
  expect(elsewhere).toEqual([]);
});

test.each(all.map((mistake) => [mistake.title, mistake] as const))("%s: one error", (_, mistake) => {
  expect(about(mistake, "wrong").map(inWords)).toHaveLength(1);
});

test.each(unseen.map((mistake) => [mistake.title, mistake] as const))("%s: left to the build", (_, mistake) => {
  expect(about(mistake, "wrong").map(inWords)).toEqual([]);
});

test("titles tell the mistakes apart", () => {
  const titles = [...all, ...unseen].map(({ title }) => title);
  expect(new Set(titles).size).toBe(titles.length);
});

test("the sentences", async () => {
  const fence = (parts: readonly string[]) => `\`\`\`ts\n${parts.join("\n\n")}\n\`\`\``;
  const entry = (mistake: Mistake) =>
    [
      `// ${mistake.title}`,
      mistake.wrong,
      ...about(mistake, "wrong").map((complaint) => `// ${inWords(complaint)}`),
      "// Right:",
      mistake.right,
    ].join("\n");
  const page = [
    "# What the editor says to mistakes",
    "Written by `mistakes.test.ts`; `npx vitest run tests/types -u` renews it. Lines stand at the end of this kernel:",
    fence([imports, `${setting}\n// …\n${settingEnd}`]),
    ...chapters.flatMap(({ title, mistakes }) => [`## ${title}`, fence(mistakes.map(entry))]),
    "## What only the build sees",
    "The checker lets these pass; the build refuses them.",
    fence(unseen.map(entry)),
  ].join("\n\n");
  const text = await format(page, { parser: "markdown", printWidth: 120 });
  await expect(text).toMatchFileSnapshot("mistakes.md");
});
