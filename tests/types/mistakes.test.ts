/** Each mistake is one error with a sentence that helps; what is right compiles. `vitest -u` renews the sentences. */
import { format } from "prettier";
import { expect, test } from "vitest";
import { chapters, imports, setting, settingEnd, type Mistake } from "./mistakes.js";
import { complaints, type Complaint } from "./tsc.js";

type Side = "wrong" | "right";
const all = chapters.flatMap(({ mistakes }) => mistakes);

/** One program of all of them, and where each begins and ends. */
function program(side: Side) {
  const lines = `${imports}\n${setting}`.split("\n");
  const places = new Map<Mistake, readonly [first: number, last: number]>();
  const append = (mistake: Mistake) => {
    const first = lines.length + 1;
    lines.push("{", ...mistake[side].split("\n"), "}");
    places.set(mistake, [first, lines.length]);
  };
  for (const { of, mistakes } of chapters) if (of === "lines") mistakes.forEach(append);
  lines.push(...settingEnd.split("\n"));
  for (const { of, mistakes } of chapters) if (of === "kernels") mistakes.forEach(append);
  return { text: lines.join("\n"), places };
}

const programs = { wrong: program("wrong"), right: program("right") };
let said: Complaint[] | undefined;
/** One run of the compiler serves every test. */
function about(mistake: Mistake, side: Side): Complaint[] {
  said ??= complaints("mistakes", { "wrong.ts": programs.wrong.text, "right.ts": programs.right.text });
  const [first, last] = programs[side].places.get(mistake)!;
  return said.filter(({ file, line }) => file === `${side}.ts` && line >= first && line <= last);
}
const inWords = ({ code, message }: Complaint) => `${code}: ${message}`;

test("what is right compiles", { timeout: 30_000 }, () => {
  expect(all.flatMap((mistake) => about(mistake, "right").map((c) => `${mistake.title}: ${inWords(c)}`))).toEqual([]);
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

test("titles tell the mistakes apart", () => {
  expect(new Set(all.map(({ title }) => title)).size).toBe(all.length);
});

test("the sentences", async () => {
  const fence = (code: string) => `\`\`\`ts\n${code}\n\`\`\``;
  const page = [
    "# What the editor says to mistakes",
    "Written by `mistakes.test.ts`; `npx vitest -u tests/types` renews it. Lines stand at the end of this kernel:",
    fence(`${imports}\n\n${setting}\n// …\n${settingEnd}`),
    ...chapters.flatMap(({ title, mistakes }) => [
      `## ${title}`,
      ...mistakes.flatMap((mistake) => [
        `### ${mistake.title}`,
        fence(`${mistake.wrong}\n// right:\n${mistake.right}`),
        ...about(mistake, "wrong").map((c) => `> ${c.code}: \`${c.message}\``),
      ]),
    ]),
  ].join("\n\n");
  const text = await format(page, { parser: "markdown", printWidth: 120 });
  await expect(text).toMatchFileSnapshot("mistakes.md");
});
