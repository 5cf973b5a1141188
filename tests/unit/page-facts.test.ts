/**
 * Facts that stand in several pages, or that a page takes from the code: each has one source here, and every page that
 * states it must agree. The versions of Python, PyTorch and Triton are in `versions.test.ts`.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { algorithmTolerance, MAX_MISMATCHED_FRACTION, MAX_RMS_TOLERANCE } from "../../src/compiled/tolerance.js";
import { defaultIterations } from "../../src/runtime/measure/benchmark.js";
import { DEFAULT_BUDGET } from "../../src/runtime/measure/staged-search.js";
import { exitCodes } from "../../src/runtime/system/errors.js";
import { MAX_PROCESSES } from "../../src/runtime/worker/worker.js";
import { pages as documentPages } from "../support/doc-code-blocks.js";

const root = join(import.meta.dirname, "../..");
const SKILL = "skills/tilescript/SKILL.md";
const AGENTS = "docs/tilescript-for-agents.md";
const pages = [...documentPages, SKILL];
const textOf = (page: string): string => readFileSync(join(root, page), "utf8").replaceAll(/\s+/g, " ");

const { engines } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly engines: { readonly node: string };
};
const launchCache = readFileSync(join(root, "python/runtime/launch_cache.py"), "utf8");

const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const superscript = (exponent: number): string =>
  `${exponent < 0 ? "⁻" : ""}${Array.from(String(Math.abs(exponent)), (digit) => SUPERSCRIPTS[Number(digit)]).join("")}`;

interface Fact {
  readonly name: string;
  /** Finds each statement of the fact, in whatever page. Its first group is the value. */
  readonly pattern: RegExp;
  readonly value: string;
  /** The pages that must state it. */
  readonly pages: readonly string[];
}

const facts: readonly Fact[] = [
  {
    name: "the oldest Node",
    pattern: /Node (\d+\.\d+) or newer(?!, Bun)/g,
    value: engines.node.replace(">=", ""),
    pages: ["README.md", "docs/install.md", "CONTRIBUTING.md"],
  },
  {
    name: "the folder of the Python scripts in the package",
    pattern: /node_modules\/tilescript\/((?:dist\/)?python)/g,
    value: "dist/python",
    pages: ["README.md", "docs/testing.md", SKILL],
  },
  {
    name: "the tolerance of an algorithm",
    pattern: /(?:may differ by|within|\|) (2⁻²\S) (?:\(|of the element and|of itself|, so a difference)/g,
    value: `2${superscript(Math.log2(algorithmTolerance().rtol))}`,
    pages: ["docs/testing.md"],
  },
  {
    name: "the largest rounding error",
    pattern: /at most (0\.\d+), so that an error/g,
    value: String(MAX_RMS_TOLERANCE),
    pages: ["docs/testing.md"],
  },
  {
    name: "the share of integers that may differ",
    pattern: /`share`[^.]{0,20} \(default (0\.\d+)\)/g,
    value: String(MAX_MISMATCHED_FRACTION),
    pages: ["docs/testing.md", "docs/spec.md", AGENTS],
  },
  {
    name: "the configs that tuning measures",
    pattern: /(\d+) configs (?:or|and) \d+ ?s(?:econds)? (?:per|for each) case/g,
    value: String(DEFAULT_BUDGET.count),
    pages: ["docs/performance.md", "docs/cli.md"],
  },
  {
    name: "the seconds that tuning measures",
    pattern: /\d+ configs (?:or|and) (\d+) ?s(?:econds)? (?:per|for each) case/g,
    value: String(DEFAULT_BUDGET.seconds),
    pages: ["docs/performance.md", "docs/cli.md"],
  },
  {
    name: "the calls before timing starts",
    pattern: /(?:After (\d+) warm-up calls|before timing starts \(default: (\d+)\))/g,
    value: String(defaultIterations.warmup),
    pages: ["docs/performance.md", "docs/cli.md"],
  },
  {
    name: "the timed calls",
    pattern: /(?:GPU events time (\d+) single calls|calls to time \(default: (\d+)\))/g,
    value: String(defaultIterations.iterations),
    pages: ["docs/performance.md", "docs/cli.md"],
  },
  {
    name: "the processes that compile",
    pattern: /up to (\d+) processes/g,
    value: String(MAX_PROCESSES),
    pages: ["docs/cli.md", "docs/devices.md"],
  },
  {
    name: "the entries of the launch cache",
    pattern: /beyond (\d+) sets of shapes/g,
    value: /len\(_LAUNCHES\) >= (\d+)/.exec(launchCache)![1]!,
    pages: ["docs/performance.md"],
  },
  ...(
    [
      ["ok", "success"],
      ["failed", "something is wrong with a kernel"],
      ["usage", "a mistake on the command line"],
      ["environment", "the machine lacks a requirement"],
    ] as const
  ).map(([code, meaning]): Fact => ({
    name: `the exit code of ${code}`,
    pattern: new RegExp(`(\\d)(?: \\|)? ${meaning}`, "g"),
    value: String(exitCodes[code]),
    pages: ["docs/cli.md", AGENTS, SKILL],
  })),
];

/** The values that a page states, in order. */
const valuesIn = (text: string, { pattern }: Fact): readonly string[] =>
  Array.from(text.matchAll(pattern), ([, ...groups]) => groups.find((group) => group !== undefined)!);

describe.each(facts.map((fact) => [fact.name, fact] as const))("%s", (_, fact) => {
  test("is the same in all pages", () => {
    const other = pages.flatMap((page) =>
      valuesIn(textOf(page), fact).flatMap((value) => (value === fact.value ? [] : [`${page}: ${value}`])),
    );
    expect(other).toEqual([]);
  });

  test.each(fact.pages)("stands in %s", (page) => {
    expect(valuesIn(textOf(page), fact)).toContain(fact.value);
  });
});

test("a page with another value is found", () => {
  const [node] = facts;
  expect(valuesIn("It needs Node 18.2 or newer.", node!)).toEqual(["18.2"]);
});

/** The anchors of a page, as GitHub makes them from its headings. */
const anchorsOf = (page: string): ReadonlySet<string> => {
  const text = readFileSync(join(root, page), "utf8").replaceAll(/^```[^]*?^```$/gm, "");
  return new Set(
    Array.from(text.matchAll(/^#+ (.*)$/gm), ([, heading]) =>
      heading!
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
        .replaceAll(" ", "-"),
    ),
  );
};

/** The links of a page to a file or a heading that does not exist. */
function brokenLinks(page: string, markdown: string): readonly string[] {
  const text = markdown.replaceAll(/^```[^]*?^```$|`[^`\n]*`/gm, "");
  return Array.from(text.matchAll(/\]\(([^)\s]+)\)/g), ([, target]) => target!).filter((target) => {
    if (/^https?:/.test(target)) return false;
    const [path = "", anchor] = target.split("#");
    const file = path === "" ? page : join(page, "..", path);
    if (!existsSync(join(root, file))) return true;
    return anchor !== undefined && !anchorsOf(file).has(anchor);
  });
}

test.each(pages)("each link of %s has its page and its heading", (page) => {
  expect(brokenLinks(page, readFileSync(join(root, page), "utf8"))).toEqual([]);
});

test("a link to a missing page or heading is found", () => {
  const text = "[a](cli.md#run) [b](cli.md#missing) [c](missing.md) [d](#run) `[e](none.md)`";
  expect(brokenLinks("docs/testing.md", text)).toEqual(["cli.md#missing", "missing.md"]);
});
