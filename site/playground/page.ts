/**
 * The playground: a kernel, its Python, the memory accesses of its programs, and its diagnostics, updated while the
 * reader types.
 */
import type { Mark, Reply, Request } from "./protocol.js";
import { LIMIT, Runs, type Stage } from "./runs.js";
import { linkTo, textOf } from "./share.js";

const element = <E extends HTMLElement>(id: string): E => document.getElementById(id) as E;
const MAIN = "kernel.ts";

const json = async <T>(path: string): Promise<T> => (await fetch(new URL(path, import.meta.url))).json() as Promise<T>;

// Loading the editors takes as long as building the first kernel, so both start at once; results wait for the editors.
let setReady = (): void => undefined;
const ready = new Promise<void>((resolve) => (setReady = resolve));
const runs = new Runs(() => new Worker(new URL("./worker.js", import.meta.url), { type: "module" }), {
  result: (reply) => void ready.then(() => receive(reply)),
  stopped: (stage) => void ready.then(() => onStopped(stage)),
});
const loading = Promise.all([import("./editors.js"), json<Record<string, string>>("./declarations.json")]);
const [examples, sharedText] = await Promise.all([
  json<Record<string, string>>("./examples.json"),
  textOf(location.hash),
]);
const exampleFiles = Object.entries(examples);
const exampleName = `${location.hash.slice(1)}.ts`;
const initialFile = exampleName in examples ? exampleName : "gemm.ts";
if (sharedText === undefined) runs.run({ files: [[MAIN, examples[initialFile]!], ...exampleFiles], program: [0] });

const [
  { createEditors, addFiles: knowFiles, linkLines, marksAt, setDark, showMarks, startTypes, typesWorker },
  declarations,
] = await loading;
const editors = createEditors({ text: element("text"), python: element("python") }, declarations);
knowFiles(examples);
const showLinks = linkLines(editors);
const prefersDark = matchMedia("(prefers-color-scheme: dark)");
const isDark = (): boolean =>
  (document.documentElement.dataset["theme"] ?? (prefersDark.matches ? "dark" : "light")) === "dark";
setDark(isDark());
prefersDark.addEventListener("change", () => setDark(isDark()));
document.addEventListener("themechange", () => setDark(isDark()));

type Built = Extract<Reply, { stage: "built" }>;
type Evaluated = Extract<Reply, { stage: "evaluated" }>;

/** The dtypes that each variable may have. */
let members: Built["dtypes"] = {};
/** The reader's choices. The worker chooses the missing parts. */
let selection: Pick<Request, "sizes" | "dtypes" | "config" | "kernel"> = {};
let program: readonly number[] = [0];
let grid: readonly number[] = [1];
/** A text from a link runs only after a click. */
let mayRun = sharedText === undefined;
const marks = new Map<Mark["kind"] | "compile", readonly Mark[]>();

const isLast = (stage: Stage): boolean => stage === "proof" || stage === "comparison";

function onStopped(stage: Stage): void {
  startTypes();
  setState(`stopped: the ${stage} took longer than ${LIMIT / 1000} s`, !isLast(stage));
  if (stage === "proof")
    element("verdict").append(" Proofs take longer than this page waits; `tilescript check` has time.");
  if (stage === "comparison")
    element("verdict").append(" What it computes takes longer; `tilescript check --computes` has time.");
  document.dispatchEvent(new CustomEvent("playground", { detail: { stage: "stopped", of: stage } }));
}

function run(): void {
  if (!mayRun) return;
  setState("running…", true);
  runs.run({
    files: [[MAIN, editors.text.getValue()], ...exampleFiles],
    program: element<HTMLInputElement>("map").checked ? "map" : program,
    ...selection,
  });
}

function receive(reply: Exclude<Reply, { stage: "ready" }>): void {
  startTypes();
  if (reply.stage === "failed") {
    recordMarks("compile", reply.marks);
    setState("see the marked lines", true);
  } else if (reply.stage === "built") showBuilt(reply);
  else if (reply.stage === "evaluated") showEvaluated(reply);
  else if (reply.stage === "refused") {
    recordMarks("finding", []);
    element("verdict").textContent = `It cannot be launched like this: ${reply.why}`;
  } else {
    recordMarks("proof", reply.marks);
    const lines = reply.stage === "proved" ? [`Proofs: ${reply.summary}`] : reply.lines;
    for (const line of lines) element("verdict").append(` ${line}.`);
  }
  document.dispatchEvent(new CustomEvent("playground", { detail: reply }));
}

function showBuilt({ python, lines, ir, kernels, kernel, marks: warnings, dtypes, milliseconds }: Built): void {
  marks.clear();
  recordMarks("compile", warnings);
  if (editors.python.getValue() !== python) editors.python.setValue(python);
  showLinks(lines.map((line) => (line && line[0] === MAIN ? line[1] : null)));
  element("ir").textContent = ir;
  setState(`built in ${Math.round(milliseconds)} ms`, false);
  element("verdict").textContent = "";
  const select = element<HTMLSelectElement>("kernel");
  if (select.options.length !== kernels.length || kernels.some((name, i) => select.options[i]!.value !== name))
    select.replaceChildren(...kernels.map((name) => new Option(name)));
  select.value = selection.kernel ?? kernels[0] ?? kernel;
  element("kernel-label").hidden = kernels.length < 2;
  members = dtypes;
}

function showEvaluated(reply: Evaluated): void {
  grid = reply.grid;
  recordMarks("finding", reply.marks);
  element("picture").innerHTML = reply.picture;
  element("grid").textContent = `of ${grid.join(" × ")}`;
  if (reply.program !== "map") {
    program = reply.program;
    const field = element<HTMLInputElement>("program");
    if (document.activeElement !== field) field.value = program.join(", ");
  }
  showChoices(reply);
  element("verdict").textContent = verdictOf(reply);
}

function verdictOf({ marks: findings, comparison, unchecked, milliseconds }: Evaluated): string {
  const duration = `Evaluated in ${Math.round(milliseconds)} ms.`;
  if (findings.length > 0) return `${duration} ${findings.length} findings: see the marked lines.`;
  const uncheckedText = unchecked.length > 0 ? ` Unchecked: ${unchecked.join("; ")}.` : "";
  if (!comparison) return `${duration} No finding.${uncheckedText}`;
  if (comparison.correct) return `${duration} It agrees with the reference, without a finding.${uncheckedText}`;
  const { worst, wrong, total } = comparison;
  const worstText = worst ? `: ${worst.output}[${worst.index.join(", ")}] is ${worst.got}, not ${worst.expected}` : "";
  return `${duration} Wrong: ${wrong} of ${total} elements differ from the reference${worstText}.${uncheckedText}`;
}

/** Shows the evaluated case in editable fields. A field is not changed while the reader types in it. */
function showChoices({ sizes, dtypes, config }: Evaluated): void {
  const form = element<HTMLFormElement>("choices");
  const numbers = (part: string, values: Readonly<Record<string, unknown>>) =>
    Object.entries(values).map(([name, value]) => ({
      part,
      name,
      value: String(value),
      options: [] as readonly string[],
    }));
  const fields = [
    ...numbers("sizes", sizes),
    ...Object.entries(dtypes).map(([name, value]) => ({
      part: "dtypes",
      name,
      value,
      options: members[name] ?? [value],
    })),
    ...numbers("config", config),
  ];
  // The order is ignored: new fields would lose the text that the reader is typing.
  const shape = JSON.stringify(fields.map(({ part, name, options }) => [part, name, options].flat().join()).sort());
  if (form.dataset["shape"] !== shape) {
    form.dataset["shape"] = shape;
    form.replaceChildren(...fields.map(fieldFor));
  }
  for (const { part, name, value } of fields) {
    const field = form.elements.namedItem(`${part} ${name}`) as HTMLInputElement | HTMLSelectElement;
    if (document.activeElement !== field) field.value = value;
  }
}

function fieldFor({ part, name, options }: { part: string; name: string; options: readonly string[] }): HTMLElement {
  const label = document.createElement("label");
  const field = document.createElement(options.length > 0 ? "select" : "input");
  field.name = `${part} ${name}`;
  if (field instanceof HTMLSelectElement) field.append(...options.map((each) => new Option(each)));
  else Object.assign(field, { size: 6, autocomplete: "off", spellcheck: false });
  label.append(name, field);
  return label;
}

element<HTMLFormElement>("choices").addEventListener("change", ({ currentTarget }) => {
  const parts: Record<string, Record<string, unknown>> = { sizes: {}, dtypes: {}, config: {} };
  for (const [key, text] of new FormData(currentTarget as HTMLFormElement)) {
    const [part, name] = key.split(" ") as [string, string];
    parts[part]![name] = part === "dtypes" ? text : valueOf(String(text));
  }
  selection = { ...(selection.kernel && { kernel: selection.kernel }), ...parts };
  run();
});
element("choices").addEventListener("submit", (event) => event.preventDefault());

function valueOf(text: string): number | boolean | string {
  if (text === "true" || text === "false") return text === "true";
  return text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text;
}

/** Stores the messages of one kind, and shows all. */
function recordMarks(kind: Mark["kind"] | "compile", list: readonly Mark[]): void {
  marks.set(kind, list);
  const allMarks = [...marks.values()].flat();
  showMarks(editors, allMarks);
  element("marks").replaceChildren(
    ...allMarks.map(({ kind: markKind, code, message, at }) => {
      const item = document.createElement("li");
      item.className = markKind;
      const locationButton = document.createElement("button");
      locationButton.type = "button";
      locationButton.textContent = at ? `line ${at.line}` : "kernel";
      locationButton.addEventListener("click", () => {
        editors.text.setPosition({ lineNumber: at?.line ?? 1, column: at?.column ?? 1 });
        editors.text.revealLineInCenter(at?.line ?? 1);
        editors.text.focus();
      });
      item.append(locationButton, ` ${code}: ${message}`);
      return item;
    }),
  );
}

/** Sets the state text. Stale output is displayed differently until the new output arrives. */
function setState(message: string, isStale: boolean): void {
  element("state").textContent = message;
  document.body.classList.toggle("stale", isStale);
}

function forget(): void {
  selection = {};
  program = [0];
}

let soon: ReturnType<typeof setTimeout> | undefined;
editors.text.onDidChangeModelContent(() => {
  document.body.classList.add("stale");
  clearTimeout(soon);
  soon = setTimeout(run, 300);
});

const select = element<HTMLSelectElement>("example");
select.append(...Object.keys(examples).map((name) => new Option(name.replace(/\.ts$/, ""), name)));
select.addEventListener("change", () => {
  forget();
  allow();
  history.replaceState(null, "", `#${select.value.replace(/\.ts$/, "")}`);
  editors.text.setValue(examples[select.value]!);
  editors.text.setScrollTop(0);
});
element("kernel").addEventListener("change", ({ target }) => {
  forget();
  selection = { kernel: (target as HTMLSelectElement).value };
  run();
});
element("map").addEventListener("change", run);

/** Steps through the grid, its first axis fastest. */
function step(offset: number): void {
  const count = grid.reduce((product, size) => product * size, 1);
  let number = program.reduceRight((sum, id, axis) => sum * (grid[axis] ?? 1) + id, 0) + offset;
  number = ((number % count) + count) % count;
  program = grid.map((size) => {
    const id = number % size;
    number = Math.floor(number / size);
    return id;
  });
  element<HTMLInputElement>("map").checked = false;
  run();
}
element("previous").addEventListener("click", () => step(-1));
element("next").addEventListener("click", () => step(1));
element("program").addEventListener("change", ({ target }) => {
  const ids = (target as HTMLInputElement).value.split(",").map(Number);
  if (ids.every((id) => Number.isInteger(id) && id >= 0)) program = ids;
  element<HTMLInputElement>("map").checked = false;
  run();
});

function allow(): void {
  mayRun = true;
  element("untrusted").hidden = true;
}
element("run").addEventListener("click", () => {
  allow();
  run();
});
element("share").addEventListener("click", async () => {
  const hash = await linkTo(editors.text.getValue());
  history.replaceState(null, "", hash);
  await navigator.clipboard?.writeText(location.href).catch(() => undefined);
  element("state").textContent = "the link is in the address bar and the clipboard";
});

for (const tab of document.querySelectorAll<HTMLButtonElement>('[role="tab"]'))
  tab.addEventListener("click", () => {
    for (const each of document.querySelectorAll<HTMLButtonElement>('[role="tab"]')) {
      each.setAttribute("aria-selected", String(each === tab));
      element(each.getAttribute("aria-controls")!).hidden = each !== tab;
    }
  });

select.value = initialFile;
editors.text.setValue(sharedText ?? examples[initialFile]!);
clearTimeout(soon);
if (sharedText !== undefined) {
  element("untrusted").hidden = false;
  setState("not run yet", true);
  startTypes();
}
setReady();
/** For the tests of the site. */
Object.assign(globalThis, { playground: { editors, run, types: typesWorker, marksAt } });
