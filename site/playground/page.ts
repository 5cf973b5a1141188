/**
 * The playground: a kernel, its Python, the memory accesses of its programs, and its diagnostics, updated while the
 * reader types.
 */
import { elementOf } from "./drawing.js";
import type { Mark, Reply, Request } from "./protocol.js";
import { isLastStage, Runs, type Stage } from "./runs.js";
import { openSandbox } from "./sandbox.js";
import { linkTo, textOf } from "./share.js";
import { type Replies, showVerdict, verdictOf } from "./verdict.js";

const element = <E extends HTMLElement>(id: string): E => document.getElementById(id) as E;
const MAIN = "kernel.ts";
/** The kernel of the tutorial. */
const TUTORIAL = "scale.ts";

const json = async <T>(path: string): Promise<T> => (await fetch(new URL(path, import.meta.url))).json() as Promise<T>;

// Loading the editors takes as long as building the first kernel, so both start at once; results wait for the editors.
let setReady = (): void => undefined;
const ready = new Promise<void>((resolve) => (setReady = resolve));
const runs = new Runs(openSandbox(new URL("./", import.meta.url)), {
  result: (reply) => void ready.then(() => receive(reply)),
  stopped: (stage) => void ready.then(() => onStopped(stage)),
});
const loading = Promise.all([import("./editors.js"), json<Record<string, string>>("./declarations.json")]);
const [files, ops, sharedText] = await Promise.all([
  json<Record<string, string>>("./examples.json"),
  location.hash.startsWith("#op-") ? json<Record<string, string>>("./ops.json") : ({} as Record<string, string>),
  textOf(location.hash),
]);
/** The kernel of an op's page is not among the examples. */
const examples: Record<string, string> = {
  ...files,
  ...Object.fromEntries(
    Object.entries(ops).flatMap(([name, text]) => (location.hash === `#op-${name}` ? [[`op-${name}.ts`, text]] : [])),
  ),
};
const exampleFiles = Object.entries(examples);
const exampleName = `${location.hash.slice(1)}.ts`;
const initialFile = Object.hasOwn(examples, exampleName) ? exampleName : TUTORIAL;
if (sharedText === undefined) runs.run({ files: [[MAIN, examples[initialFile]!], ...exampleFiles] });

const [
  { createEditors, addFiles: knowFiles, linkLines, marksAt, setDark, showMarks, showPython, startTypes, typesWorker },
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
/** The program that the reader chose. */
let program: readonly number[] | undefined;
let drawn: readonly number[] = [0];
let grid: readonly number[] = [1];
/** A text from a link runs only after a click. */
let mayRun = sharedText === undefined;
const marks = new Map<Mark["kind"] | "compile", readonly Mark[]>();

/** What the current run has said so far. */
let replies: Replies = {};
/** True if the next Python is of another kernel, which scrolls to its start. */
let isOtherKernel = true;

function onStopped(stage: Stage): void {
  startTypes();
  if (!isLastStage(stage)) clearResult();
  replies = { ...replies, stopped: stage };
  showState(isLastStage(stage) ? "" : "stopped");
  document.dispatchEvent(new CustomEvent("playground", { detail: { stage: "stopped", of: stage } }));
}

function run(): void {
  if (!mayRun) return;
  element("state").textContent = "running…";
  document.body.classList.add("stale");
  runs.run({
    files: [[MAIN, editors.text.getValue()], ...exampleFiles],
    program: element<HTMLInputElement>("map").checked ? "map" : program,
    ...selection,
  });
}

function receive(reply: Exclude<Reply, { stage: "ready" }>): void {
  startTypes();
  if (reply.stage === "failed") clearResult();
  // A run starts with its Python or with the reason why there is none.
  if (reply.stage === "built") replies = {};
  replies = { ...replies, [reply.stage]: reply };
  if (reply.stage === "failed") {
    recordMarks("compile", reply.marks);
  } else if (reply.stage === "built") showBuilt(reply);
  else if (reply.stage === "evaluated") showEvaluated(reply);
  else if (reply.stage === "refused") recordMarks("finding", []);
  else recordMarks("proof", reply.marks);
  showState(replies.built ? `built in ${Math.round(replies.built.milliseconds)} ms` : "");
  document.dispatchEvent(new CustomEvent("playground", { detail: reply }));
}

/** Shows the verdict. What remains of an older text is displayed differently. */
function showState(message: string): void {
  showVerdict(element("verdict"), verdictOf(replies));
  element("state").textContent = message;
  document.body.classList.toggle("stale", replies.built === undefined);
}

/** Removes what was found out about an older text. */
function clearResult(): void {
  replies = {};
  marks.clear();
  recordMarks("compile", []);
  for (const id of ["picture", "ir", "grid", "choices"]) element(id).replaceChildren();
  delete element("choices").dataset["shape"];
}

function showBuilt({ python, lines, ir, kernels, kernel, marks: warnings, dtypes }: Built): void {
  marks.clear();
  recordMarks("compile", warnings);
  if (editors.python.getValue() !== python) showPython(editors, python, isOtherKernel);
  isOtherKernel = false;
  showLinks(lines.map((line) => (line && line[0] === MAIN ? line[1] : null)));
  element("ir").textContent = ir;
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
  element("picture").replaceChildren(elementOf(reply.picture));
  element("grid").textContent = `of ${grid.join(" × ")}`;
  if (reply.program !== "map") {
    drawn = reply.program;
    const field = element<HTMLInputElement>("program");
    if (document.activeElement !== field) field.value = drawn.join(", ");
  }
  showChoices(reply);
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

function forget(): void {
  selection = {};
  program = undefined;
  isOtherKernel = true;
  element<HTMLInputElement>("map").checked = false;
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
  let number = drawn.reduceRight((sum, id, axis) => sum * (grid[axis] ?? 1) + id, 0) + offset;
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

for (const list of document.querySelectorAll<HTMLElement>('[role="tablist"]')) {
  const tabs = [...list.querySelectorAll<HTMLButtonElement>('[role="tab"]')];
  const choose = (chosen: HTMLButtonElement): void => {
    for (const tab of tabs) {
      tab.setAttribute("aria-selected", String(tab === chosen));
      tab.tabIndex = tab === chosen ? 0 : -1;
      const panel = element(tab.getAttribute("aria-controls")!);
      // A wide window has room for all panes.
      if (list.classList.contains("panes")) panel.classList.toggle("shown-pane", tab === chosen);
      else panel.hidden = tab !== chosen;
    }
  };
  list.addEventListener("click", ({ target }) => {
    if (target instanceof HTMLButtonElement) choose(target);
  });
  list.addEventListener("keydown", ({ key, target }) => {
    const offset = { ArrowLeft: -1, ArrowRight: 1 }[key];
    if (offset === undefined) return;
    const tab = tabs.at((tabs.indexOf(target as HTMLButtonElement) + offset) % tabs.length)!;
    choose(tab);
    tab.focus();
  });
  choose(tabs[0]!);
}

select.value = initialFile;
editors.text.setValue(sharedText ?? examples[initialFile]!);
clearTimeout(soon);
if (sharedText !== undefined) {
  element("untrusted").hidden = false;
  showVerdict(element("verdict"), { tone: "busy", headline: "Not run yet", details: [] });
  element("state").textContent = "";
  document.body.classList.add("stale");
  startTypes();
}
setReady();
/** For the tests of the site. */
Object.assign(globalThis, { playground: { editors, run, types: typesWorker, marksAt } });
