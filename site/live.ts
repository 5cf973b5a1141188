/** The example of the first page: once the reader edits it, the playground's worker emits its Python. */
import type { Reply } from "./playground/protocol.js";
import { LIMIT, Runs } from "./playground/runs.js";

const root = new URL(document.documentElement.dataset["root"] ?? "./", location.href);
const live = document.getElementById("live")!;
const state = document.getElementById("live-state")!;
const [text, python] = Array.from(live.querySelectorAll<HTMLPreElement>("pre"), (each) => each);
const name = `${live.dataset["example"]}.ts`;

/** The colored lines of the original page, by their text. */
const coloredLines = new Map(
  Array.from(
    python!.querySelectorAll<HTMLElement>(".line"),
    (line) => [line.textContent ?? "", line.innerHTML] as const,
  ),
);

function receive(reply: Exclude<Reply, { stage: "ready" }>): void {
  if (reply.stage === "built") {
    python!.classList.remove("old");
    python!.querySelector("code")!.replaceChildren(
      ...reply.python.split("\n").flatMap((each) => {
        const line = document.createElement("span");
        const html = coloredLines.get(each);
        line.className = html === undefined ? "line changed" : "line";
        if (html === undefined) line.textContent = each;
        else line.innerHTML = html;
        return [line, "\n"];
      }),
    );
    state.textContent = `Built in ${Math.round(reply.milliseconds)} ms.`;
  } else if (reply.stage === "failed") {
    const [firstMark] = reply.marks;
    python!.classList.add("old");
    state.textContent = firstMark ? `${firstMark.at ? `Line ${firstMark.at.line}: ` : ""}${firstMark.message}` : "";
  } else if (reply.stage === "evaluated") {
    const { marks, comparison } = reply;
    if (marks[0]) state.textContent += ` Line ${marks[0].at?.line}: ${marks[0].message}.`;
    else if (comparison) state.textContent += comparison.correct ? " It agrees with its reference." : " It is wrong.";
  } else if (reply.stage === "proved") state.textContent += ` ${reply.summary}.`;
}

async function edit(): Promise<void> {
  const examples = (await (await fetch(new URL("playground/examples.json", root))).json()) as Record<string, string>;
  const runs = new Runs(() => new Worker(new URL("playground/worker.js", root), { type: "module" }), {
    result: receive,
    stopped: (stage) => (state.textContent = `Stopped: the ${stage} took longer than ${LIMIT / 1000} s.`),
  });
  const area = document.createElement("textarea");
  area.value = examples[name]!;
  area.spellcheck = false;
  area.setAttribute("aria-label", name);
  text!.replaceWith(area);
  area.focus({ preventScroll: true });
  const runText = (): void =>
    runs.run({ files: [["kernel.ts", area.value], ...Object.entries(examples)], program: [0] });
  let timer: ReturnType<typeof setTimeout> | undefined;
  area.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(runText, 250);
  });
  runText();
}

document.getElementById("edit")!.addEventListener("click", ({ currentTarget }) => {
  (currentTarget as HTMLElement).remove();
  state.textContent = "Loading…";
  void edit();
});
