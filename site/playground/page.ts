/** The playground: a kernel, its Python, what programs touch, and what is wrong, while the reader types. */
import type { Mark, Reply, Request } from "./protocol.js";
import { LIMIT, Runs, type Stage } from "./runs.js";
import { linkTo, textOf } from "./share.js";

const element = <E extends HTMLElement>(id: string): E => document.getElementById(id) as E;
const MAIN = "kernel.ts";

const json = async <T>(path: string): Promise<T> => (await fetch(new URL(path, import.meta.url))).json() as Promise<T>;

// The editors take as long to load as the first kernel takes to build, so both begin at once; results wait for the editors.
let setReady = (): void => undefined;
const ready = new Promise<void>((resolve) => (setReady = resolve));
const runs = new Runs(() => new Worker(new URL("./worker.js", import.meta.url), { type: "module" }), {
  result: (reply) => void ready.then(() => receive(reply)),
  stopped: (stage) => void ready.then(() => stopped(stage)),
});
const loading = Promise.all([import("./editors.js"), json<Record<string, string>>("./declarations.json")]);
const [examples, shared] = await Promise.all([json<Record<string, string>>("./examples.json"), textOf(location.hash)]);
const imported = Object.entries(examples);
const named = `${location.hash.slice(1)}.ts`;
const first = named in examples ? named : "gemm.ts";
if (shared === undefined) runs.run({ files: [[MAIN, examples[first]!], ...imported], program: [0] });

const [{ createEditors, knowFiles, linkLines, marksAt, setDark, showMarks, startTypes, typesWorker }, declarations] =
  await loading;
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
/** What the reader chose; what is empty, the worker chooses. */
let chosen: Pick<Request, "sizes" | "dtypes" | "config" | "kernel"> = {};
let program: readonly number[] = [0];
let grid: readonly number[] = [1];
/** A text from a link runs only after a click. */
let mayRun = shared === undefined;
const marks = new Map<Mark["kind"] | "compile", readonly Mark[]>();

function stopped(stage: Stage): void {
  startTypes();
  setState(`stopped: the ${stage} took longer than ${LIMIT / 1000} s`, stage !== "proof");
  if (stage === "proof")
    element("verdict").append(" Proofs take longer than this page waits; `tilescript check` has time.");
  document.dispatchEvent(new CustomEvent("playground", { detail: { stage: "stopped", of: stage } }));
}

function run(): void {
  if (!mayRun) return;
  setState("running…", true);
  runs.run({
    files: [[MAIN, editors.text.getValue()], ...imported],
    program: element<HTMLInputElement>("map").checked ? "map" : program,
    ...chosen,
  });
}

function receive(reply: Exclude<Reply, { stage: "ready" }>): void {
  startTypes();
  if (reply.stage === "failed") {
    note("compile", reply.marks);
    setState("see the marked lines", true);
  } else if (reply.stage === "built") showBuilt(reply);
  else if (reply.stage === "evaluated") showEvaluated(reply);
  else if (reply.stage === "refused") {
    note("finding", []);
    element("verdict").textContent = `It cannot be launched like this: ${reply.why}`;
  } else {
    note("proof", reply.marks);
    element("verdict").append(` Proofs: ${reply.summary}.`);
  }
  document.dispatchEvent(new CustomEvent("playground", { detail: reply }));
}

function showBuilt({ python, lines, ir, kernels, kernel, marks: warnings, dtypes, milliseconds }: Built): void {
  marks.clear();
  note("compile", warnings);
  if (editors.python.getValue() !== python) editors.python.setValue(python);
  showLinks(lines.map((line) => (line && line[0] === MAIN ? line[1] : null)));
  element("ir").textContent = ir;
  setState(`built in ${Math.round(milliseconds)} ms`, false);
  element("verdict").textContent = "";
  const select = element<HTMLSelectElement>("kernel");
  if (select.options.length !== kernels.length || kernels.some((name, i) => select.options[i]!.value !== name))
    select.replaceChildren(...kernels.map((name) => new Option(name)));
  select.value = chosen.kernel ?? kernels[0] ?? kernel;
  element("kernel-label").hidden = kernels.length < 2;
  members = dtypes;
}

function showEvaluated(reply: Evaluated): void {
  grid = reply.grid;
  note("finding", reply.marks);
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
  const took = `Evaluated in ${Math.round(milliseconds)} ms.`;
  if (findings.length > 0) return `${took} ${findings.length} findings: see the marked lines.`;
  const left = unchecked.length > 0 ? ` Unchecked: ${unchecked.join("; ")}.` : "";
  if (!comparison) return `${took} No finding.${left}`;
  if (comparison.correct) return `${took} It agrees with the reference, without a finding.${left}`;
  const { worst, wrong, total } = comparison;
  const where = worst ? `: ${worst.output}[${worst.index.join(", ")}] is ${worst.got}, not ${worst.expected}` : "";
  return `${took} Wrong: ${wrong} of ${total} elements differ from the reference${where}.${left}`;
}

/** What was evaluated, to be changed. A field is not touched while the reader types in it. */
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
  // In any order: new fields would lose what the reader is typing into one.
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
  chosen = { ...(chosen.kernel && { kernel: chosen.kernel }), ...parts };
  run();
});
element("choices").addEventListener("submit", (event) => event.preventDefault());

function valueOf(text: string): number | boolean | string {
  if (text === "true" || text === "false") return text === "true";
  return text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text;
}

/** Remembers the messages of one kind, and shows all. */
function note(kind: Mark["kind"] | "compile", list: readonly Mark[]): void {
  marks.set(kind, list);
  const all = [...marks.values()].flat();
  showMarks(editors, all);
  element("marks").replaceChildren(
    ...all.map(({ kind: of, code, message, at }) => {
      const item = document.createElement("li");
      item.className = of;
      const place = document.createElement("button");
      place.type = "button";
      place.textContent = at ? `line ${at.line}` : "kernel";
      place.addEventListener("click", () => {
        editors.text.setPosition({ lineNumber: at?.line ?? 1, column: at?.column ?? 1 });
        editors.text.revealLineInCenter(at?.line ?? 1);
        editors.text.focus();
      });
      item.append(place, ` ${code}: ${message}`);
      return item;
    }),
  );
}

/** Output of an earlier text looks different until the new one is there. */
function setState(words: string, isStale: boolean): void {
  element("state").textContent = words;
  document.body.classList.toggle("stale", isStale);
}

function forget(): void {
  chosen = {};
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
  chosen = { kernel: (target as HTMLSelectElement).value };
  run();
});
element("map").addEventListener("change", run);

/** Steps through the grid, its first axis fastest. */
function step(by: number): void {
  const count = grid.reduce((product, size) => product * size, 1);
  let number = program.reduceRight((sum, id, axis) => sum * (grid[axis] ?? 1) + id, 0) + by;
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

select.value = first;
editors.text.setValue(shared ?? examples[first]!);
clearTimeout(soon);
if (shared !== undefined) {
  element("untrusted").hidden = false;
  setState("not run yet", true);
  startTypes();
}
setReady();
/** For the tests of the site. */
Object.assign(globalThis, { playground: { editors, run, types: typesWorker, marksAt } });
