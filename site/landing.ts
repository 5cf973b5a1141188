/** The first page: what TileScript is, with a kernel that the reader can break. */
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { certificateRows, type Entry } from "./gallery.js";
import { speedBars } from "./figures.js";
import type { Highlight } from "./highlight.js";
import { livePiece } from "./live-piece.js";

const root = resolve(import.meta.dirname, "..");
const read = (file: string): string => readFileSync(join(root, file), "utf8");

export const TITLE = "TileScript: GPU kernels in TypeScript, checked before they run";
export const DESCRIPTION =
  "Write Triton kernels in TypeScript. A wrong shape is an error in the editor, a wrong mask is refuted with the sizes where it fails, and what ships is plain Python.";

const INDEX = "tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK))";

/** The kernel with a claim that its blocks never leave the tensor, which removes its masks. */
const withoutMask = (text: string): string => text.replace(INDEX, `tl.inBounds(${INDEX})`);

/** The block of code that follows a mark or a heading. */
function codeAfter(text: string, start: string, language: string): string {
  const from = text.indexOf(start);
  return new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\``, "m").exec(text.slice(from))![1]!.trim();
}

export async function landingPage(entries: ReadonlyMap<string, Entry>, highlight: Highlight): Promise<string> {
  const text = read("examples/vector-add.ts")
    .replace(/^\/\*\*.*\*\/\n/, "")
    .trim();
  const piece = await livePiece(
    {
      file: "vector-add.ts",
      text,
      broken: { text: withoutMask(text), breakLabel: "Break the mask", mendLabel: "Restore the mask" },
      selection: { sizes: { N: 20 }, config: { BLOCK: 8 }, program: [2] },
      playground: "./playground/index.html#vector-add",
    },
    highlight,
  );
  const install = codeAfter(read("README.md"), "<!-- begin install -->", "sh");
  return `<section class="hero">
<h1>GPU kernels in TypeScript, checked before they run</h1>
<p class="lead">TileScript compiles typed TypeScript to the <a href="https://triton-lang.org">Triton</a> Python that you would have written. A wrong shape is an error in the editor. A wrong mask is refuted, with the sizes where it fails, before it corrupts a tensor.</p>
<div class="install">${highlight(install, "sh")}</div>
<p class="actions"><a class="button" href="./first-kernel.html">First kernel in 15 minutes</a> <a class="button plain" href="./playground/index.html">Playground</a> <a href="./from-triton.html">I know Triton</a></p>
</section>
<section class="try" aria-labelledby="try">
<h2 id="try">Break it</h2>
<p>The last program of this kernel reaches beyond the tensor, so TileScript masks its last lanes. Take the mask away and see what happens. It runs in this page, without a GPU.</p>
${piece}
</section>
${proofs(entries)}
${evaluator(entries)}
${importer(highlight)}
<section class="feature">
<div><h2>Measured beside PyTorch</h2>
<p>The emitted kernel is the Triton that you would write by hand, so nothing is lost on the way. Where PyTorch is faster, <a href="./when-not-to-write-a-kernel.html">use PyTorch</a>.</p>
<p><a href="./performance.html">All measurements</a></p></div>
<div>${speedBars()}</div>
</section>
<section class="closing"><h2>Start</h2>
<p class="actions"><a class="button" href="./first-kernel.html">First kernel</a> <a class="button plain" href="./gallery/index.html">Gallery</a> <a class="button plain" href="./ops/index.html">Ops</a></p></section>
<script type="module" src="./live.js"></script>`;
}

function proofs(entries: ReadonlyMap<string, Entry>): string {
  const { kernel } = entries.get("softmax")!;
  return `<section class="feature">
<div><h2>Proved for every size</h2>
<p>Tests try some shapes. The prover decides bounds, coverage, races and overflow for all shapes and configs, or returns the smallest case that fails.</p>
<p><a href="./proofs.html">What a proof promises</a></p></div>
<div class="table" tabindex="0"><table class="certificate"><caption>The certificate of softmax</caption>${certificateRows(kernel)}</table></div>
</section>`;
}

function evaluator(entries: ReadonlyMap<string, Entry>): string {
  const [, picture = ""] = entries.get("gemm")!.pictures;
  return `<section class="feature reverse">
<div><h2>Seen without a GPU</h2>
<p>The evaluator runs a kernel lane by lane on your machine. It reports lanes out of bounds, races and values that nobody wrote, with the line, the program and the lane. This is what one program of a matrix product touches.</p>
<p><a href="./debugging.html">Debugging</a></p></div>
${picture}
</section>`;
}

function importer(highlight: Highlight): string {
  const page = read("docs/import.md");
  return `<section class="feature stacked">
<div><h2>Bring your Triton kernels</h2>
<p><code>tilescript import</code> writes a Triton kernel in TypeScript, and accepts the result only if Triton compiles both to the same IR.</p>
<p><a href="./import.html">Import Triton's Python</a></p></div>
<div class="pair"><figure><figcaption>scale.py</figcaption>${highlight(codeAfter(page, "## An example", "python"), "python")}</figure>
<figure><figcaption>scale_kernel.ts</figcaption>${highlight(codeAfter(page, "## An example", "ts"), "ts")}</figure></div>
</section>`;
}
