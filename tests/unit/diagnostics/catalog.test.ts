/** Each code has an example that shows it and its remedy, and is said somewhere. */
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { catalog, type DiagnosticCode } from "../../../src/diagnostics/catalog/index.js";
import { kernelFileOf, type KernelFileParts } from "../../../src/diagnostics/explanations/explanation.js";
import { codesByArea, explanations } from "../../../src/diagnostics/explanations/index.js";
import { sourceFiles, SRC } from "../../../docs/folders.js";
import { referenceOf, withoutReference } from "./example-references.js";
import { edited, editsOf, faultsOf, shownBy } from "./example-output.js";

const FOLDER = join(import.meta.dirname, ".examples");
afterAll(() => rmSync(FOLDER, { recursive: true, force: true }));

/** Codes whose remedy is mechanical in the example. */
const EDITED: ReadonlySet<DiagnosticCode> = new Set([
  "hidden-coercion",
  "not-proved",
  "unknown-option",
  "state-as-value",
]);

/** Codes of what a file does around kernels, and not of a kernel. */
const WITHOUT_KERNEL: readonly DiagnosticCode[] = [
  "not-a-kernel",
  "dtype-members",
  "dtype-name",
  "call-argument",
  "host-array",
];

/** Raw Python, and the gradient that PyTorch computes. */
const NOT_EVALUATED: ReadonlySet<DiagnosticCode> = new Set(["unknown-effect", "operator-gradient"]);

/** Codes whose example builds, and gets an edit from `check`. */
const CHECK_EDITS: ReadonlySet<DiagnosticCode> = new Set<DiagnosticCode>([
  "false-in-bounds",
  "not-proved",
  "unordered-lanes",
]);

/** The mended example with a reference, unless it has one or is no single kernel. */
function withReference(code: DiagnosticCode, parts: KernelFileParts | string): KernelFileParts | string {
  const reference = referenceOf(code);
  if (typeof parts === "string" || reference === undefined || parts.spec?.includes("reference:")) return parts;
  return { ...parts, spec: [parts.spec, `reference: ${reference},`].filter(Boolean).join("\n") };
}

const codes = Object.values(codesByArea).flat();
const ofKernels = codes.filter((code) => "failing" in explanations[code]);

describe.each(ofKernels)("%s", (code: DiagnosticCode) => {
  const example = explanations[code];
  if (!("failing" in example)) return;

  test("the example says it, and nothing else", async () => {
    const shown = await shownBy(join(FOLDER, code, "fails.ts"), example.failing, example);
    expect(`${shown[0]?.code}: ${shown[0]?.message}`).toBe(`${code}: ${example.message}`);
    expect(shown.filter((each) => each.code !== code)).toEqual([]);
  });

  test("an edit of it gives the mended example", async () => {
    const file = join(FOLDER, code, "fails.ts");
    const shown = await shownBy(file, example.failing, example);
    const edits = shown.flatMap(({ edit }) => edit ?? []);
    if (edits.length > 0) expect(edited(file, edits)).toBe(kernelFileOf(example.passing));
    expect(edits.length > 0).toBe(EDITED.has(code));
  });

  test("an edit that check offers is one that proves the example", async () => {
    const folder = join(FOLDER, code);
    const edits = await editsOf(join(folder, "checked.ts"), kernelFileOf(example.failing), example);
    expect(edits.length > 0).toBe(CHECK_EDITS.has(code));
    if (edits.length === 0) return;
    const text = edited(join(folder, "checked.ts"), edits);
    expect(await faultsOf(join(folder, "edited.ts"), text, example)).toMatchObject({
      said: [],
      open: [],
      findings: [],
    });
  });

  test("the mended example is proved, and agrees with its reference", async () => {
    const faults = await faultsOf(
      join(FOLDER, code, "passes.ts"),
      kernelFileOf(withReference(code, example.passing)),
      example,
    );
    if (faults === undefined) return void expect(WITHOUT_KERNEL).toContain(code);
    const correct = withoutReference.has(code) ? "no reference" : true;
    expect(faults).toEqual({ said: [], open: [], findings: [], correct, unchecked: NOT_EVALUATED.has(code) ? 1 : 0 });
  });
});

const isCatalog = (file: string): boolean => file.startsWith("diagnostics/");
const texts = sourceFiles()
  .filter((file) => !isCatalog(file))
  .map((file) => [file, readFileSync(join(SRC, file), "utf8")] as const);

test("every code is said somewhere", () => {
  const names = new Map(
    Object.values(catalog).flatMap((area) => Object.entries(area).map(([name, { code }]) => [code, name] as const)),
  );
  const used = (code: DiagnosticCode) => new RegExp(`\\b${names.get(code)}\\b(?!:)`);
  const own = readFileSync(join(SRC, "diagnostics/catalog/rule-codes.ts"), "utf8");
  // Mistakes that type rules find, too, have a second name there.
  const shared = own.slice(own.indexOf("// Mistakes that type rules and other checks find"));
  const silent = codes.filter(
    (code) => ![...texts.map(([, text]) => text), shared].some((text) => used(code).test(text)),
  );
  expect(silent).toEqual([]);
});

test("every code has one entry, and an explanation", () => {
  expect(codes).toEqual([...new Set(codes)]);
  expect(codes.toSorted()).toEqual(Object.keys(explanations).toSorted());
});

test("no file but the catalog spells a code as a string", () => {
  const spelt = new RegExp(`\\b(?:fail|errorDiagnostic|warning)\\(\\s*["'\`]|\\bcode: "(?:${codes.join("|")})"`);
  expect(texts.filter(([, text]) => spelt.test(text)).map(([file]) => file)).toEqual([]);
});
