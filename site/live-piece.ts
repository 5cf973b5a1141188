/** A kernel that a page shows with its Python and its result, and that the reader can change and run in place. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { kernelPart } from "../docs/kernel-part.js";
import type { CompiledKernel, TestCase } from "../src/compiled/compiled-kernel.js";
import { build } from "../src/pipeline/build.js";
import { formatCase } from "../src/runtime/cases/cases.js";
import { accessPicture } from "../src/visualize/access-picture.js";
import type { Highlight } from "./highlight.js";
import { outputsText } from "./playground/outputs.js";
import { type Selection, shownCase } from "./playground/shown-case.js";
import { escape } from "./shell.js";

/** A folder of modules that import the sources. */
const folder = join(import.meta.dirname, ".cache/pieces");

export interface Piece {
  /** The name of the kernel file. */
  readonly file: string;
  readonly text: string;
  /** The same kernel with a mistake, and the buttons that put it in and take it out. */
  readonly broken?: { readonly text: string; readonly breakLabel: string; readonly mendLabel: string };
  /** What is evaluated, and the program that the picture shows. */
  readonly selection?: Selection & { readonly program: readonly number[] };
  /** The address of the same kernel in the playground. */
  readonly playground: string;
}

/** Builds the kernel `example` of a text, with locations in it. */
export async function kernelOf(file: string, text: string): Promise<{ definition: unknown; kernel: CompiledKernel }> {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, file);
  // What a text passes to `main` is the kernel that a page shows.
  const [, name = ""] = /^main\(import\.meta, (\w+)\);$/m.exec(text) ?? [];
  writeFileSync(path, text.replace(`from "tilescript"`, `from "../../../src/index.js"`).replace(/^main\(.*$/m, ""));
  const module = (await import(pathToFileURL(path).href)) as Readonly<Record<string, unknown>>;
  const definition = module[name];
  return { definition, kernel: await build(definition) };
}

/** What the piece shows before the reader runs anything: computed here as it is in the page. */
export async function livePiece(piece: Piece, highlight: Highlight): Promise<string> {
  const { file, text, broken, selection, playground } = piece;
  const { definition, kernel } = await kernelOf(file, text);
  const shown = shownCase(definition, kernel, undefined, selection);
  const python = kernelPart(kernel.python, kernel.signature.name);
  const button = (act: string, label: string, kind = ""): string =>
    `<button type="button" data-act="${act}"${kind}>${label}</button>`;
  const buttons = [
    broken
      ? button("break", broken.breakLabel, ` class="primary" data-other="${broken.mendLabel}"`)
      : button("run", "Run", ` class="primary"`),
    button("edit", "Edit"),
    `<a href="${playground}">Open in the playground</a>`,
  ];
  const texts = [
    highlight(text, "ts"),
    ...(broken ? [markLine(highlight(broken.text, "ts"), differingLine(text, broken.text))] : []),
  ];
  return `<div class="live" data-selection="${escape(JSON.stringify(selection ?? {}))}">
<div class="live-bar">${buttons.join(" ")}</div>
<div class="live-columns"><figure class="live-text"><figcaption>${file}</figcaption>${texts.join("")}</figure>
<div><figure class="live-python"><figcaption>Python</figcaption>${highlight(python, "python")}</figure>
<output class="verdict" aria-live="polite"${shownVerdict(kernel, broken !== undefined)}</output></div></div>
${"refusal" in shown ? "" : resultOf(shown, selection?.program)}</div>`;
}

/** The index of the first line in which two texts differ. */
function differingLine(text: string, other: string): number {
  const lines = text.split("\n");
  return other.split("\n").findIndex((line, i) => line !== lines[i]);
}

/** The hidden block of a text with a mistake, whose line is marked. */
function markLine(html: string, index: number): string {
  let count = 0;
  const marked = html.replaceAll('<span class="line">', (line) =>
    count++ === index ? '<span class="line broken">' : line,
  );
  return marked.replace("<pre ", "<pre hidden ");
}

/** The verdict of a kernel that is correct, as the page computes it. */
function shownVerdict(kernel: CompiledKernel, isShown: boolean): string {
  if (!isShown) return ` hidden>`;
  const { obligations } = kernel.proof();
  if (obligations.some(({ verdict }) => verdict.kind !== "proved" && verdict.kind !== "waived"))
    throw new Error(`${kernel.signature.name}: the first page shows a kernel whose accesses are all proved`);
  return ` data-tone="good"><strong>Every access is proved in bounds, for all sizes</strong>`;
}

function resultOf(
  { kernel, at }: { readonly kernel: CompiledKernel; readonly at: TestCase },
  program: readonly number[] | undefined,
): string {
  const { outputs, accesses = [], unchecked } = kernel.evaluate(at, { accesses: "all" });
  if (program === undefined) {
    const values =
      unchecked.length > 0 ? "The evaluator does not model this op: it needs a GPU." : outputsText(outputs);
    return `<p class="label">Result, for inputs drawn from a seed</p><pre class="outputs" tabindex="0">${escape(values)}</pre>`;
  }
  const drawn = accesses.filter((access) => access.program.join() === program.join());
  const caption = `What program ${program.join(", ")} touches, at ${formatCase(at)}`;
  return `<p class="label">${escape(caption)}</p><div class="picture" tabindex="0">${accessPicture(drawn)}</div>`;
}
