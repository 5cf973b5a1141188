/** Runs the kernels that pages show, in the sandbox of the playground, once the reader asks for it. */
import { kernelPart } from "../docs/kernel-part.js";
import { elementOf } from "./playground/drawing.js";
import type { Reply, Request } from "./playground/protocol.js";
import { Runs } from "./playground/runs.js";
import { openSandbox } from "./playground/sandbox.js";
import { type Replies, showVerdict, verdictOf } from "./playground/verdict.js";

const root = new URL(document.documentElement.dataset["root"] ?? "./", location.href);

for (const piece of document.querySelectorAll<HTMLElement>(".live")) connect(piece);

function connect(piece: HTMLElement): void {
  const find = <E extends HTMLElement>(selector: string): E | null => piece.querySelector<E>(selector);
  const texts = Array.from(piece.querySelectorAll<HTMLPreElement>(".live-text pre"), (each) => each);
  const python = find<HTMLPreElement>(".live-python pre")!;
  const verdict = find<HTMLElement>(".verdict")!;
  const coloredLines = new Map(
    Array.from(python.querySelectorAll<HTMLElement>(".line"), (line) => [line.textContent ?? "", line] as const),
  );
  let area: HTMLTextAreaElement | undefined;
  let replies: Replies = {};
  let runs: Runs | undefined;
  let shownText = 0;

  const receive = (reply: Exclude<Reply, { stage: "ready" }>): void => {
    if (reply.stage === "built" || reply.stage === "failed") replies = {};
    replies = { ...replies, [reply.stage]: reply };
    if (reply.stage === "built") showPython(python, kernelPart(reply.python, reply.kernel), coloredLines);
    python.classList.toggle("old", reply.stage === "failed");
    if (reply.stage === "evaluated") {
      find(".picture")?.replaceChildren(elementOf(reply.picture));
      const outputs = find(".outputs");
      if (outputs) outputs.textContent = reply.outputs;
    }
    verdict.hidden = false;
    showVerdict(verdict, verdictOf(replies));
    piece.dispatchEvent(new CustomEvent("live", { detail: reply, bubbles: true }));
  };
  const run = (): void => {
    if (!runs) {
      verdict.hidden = false;
      showVerdict(verdict, { tone: "busy", headline: "Loading the compiler…", details: [] });
      runs = new Runs(openSandbox(new URL("playground/", root)), {
        result: receive,
        stopped: (stopped) => showVerdict(verdict, verdictOf((replies = { ...replies, stopped }))),
      });
    }
    const text = area?.value ?? texts[shownText]!.textContent ?? "";
    const selection = JSON.parse(piece.dataset["selection"]!) as Partial<Request>;
    runs.run({ program: [0], ...selection, files: [["kernel.ts", text]] });
  };
  const edit = (): void => {
    const text = texts[shownText]!;
    area = document.createElement("textarea");
    area.value = text.textContent ?? "";
    area.spellcheck = false;
    area.setAttribute("aria-label", "Kernel");
    area.rows = area.value.split("\n").length;
    let timer: ReturnType<typeof setTimeout> | undefined;
    area.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(run, 250);
    });
    text.replaceWith(area);
    area.focus({ preventScroll: true });
  };
  piece.addEventListener("click", ({ target }) => {
    if (!(target instanceof HTMLButtonElement)) return;
    switch (target.dataset["act"]) {
      case "run":
        return run();
      case "edit":
        edit();
        target.remove();
        return run();
      case "break":
        [target.textContent, target.dataset["other"]] = [target.dataset["other"] ?? "", target.textContent ?? ""];
        shownText = 1 - shownText;
        if (area) area.value = texts[shownText]!.textContent ?? "";
        else texts.forEach((each, i) => (each.hidden = i !== shownText));
        return run();
    }
  });
}

/** Shows Python with the colors of the lines that the page had. Other lines are marked. */
function showPython(element: HTMLElement, text: string, coloredLines: ReadonlyMap<string, HTMLElement>): void {
  const lines = text.split("\n").flatMap((each) => {
    const line = coloredLines.get(each)?.cloneNode(true) ?? document.createElement("span");
    if (!line.hasChildNodes() && each !== "") {
      line.textContent = each;
      (line as HTMLElement).className = "line changed";
    }
    return [line, "\n"];
  });
  element.querySelector("code")!.replaceChildren(...lines);
}
