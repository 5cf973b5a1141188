/** The pages of all ops. A separate process renders them, because they take a core for seconds. */
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { formatCall } from "../docs/language.js";
import { createHighlight } from "./highlight.js";
import { livePiece } from "./live-piece.js";
import { exampleText, type OpPage, opPageHtml, opPages } from "./ops.js";

export interface RenderedOp extends Omit<OpPage, "entry" | "section"> {
  readonly html: string;
  /** The kernel file of its example. */
  readonly text: string;
  /** The comment of its record. */
  readonly summary: string;
}

export async function renderOps(): Promise<readonly RenderedOp[]> {
  const args = ["--import", import.meta.resolve("tsx"), import.meta.filename];
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 2 ** 28 });
  return JSON.parse(stdout) as readonly RenderedOp[];
}

const examples = resolve(import.meta.dirname, "../examples");

async function renderAll(): Promise<readonly RenderedOp[]> {
  const highlight = await createHighlight();
  const files = readdirSync(examples).filter((name) => name.endsWith(".ts"));
  const texts = new Map(files.map((file) => [file.replace(/\.ts$/, ""), readFileSync(join(examples, file), "utf8")]));
  const rendered: RenderedOp[] = [];
  for (const page of opPages()) {
    const { entry, name, path, title, keywords } = page;
    const text = await exampleText(name);
    if (text === undefined) throw new Error(`site/op-examples.ts has no kernel for ${name}`);
    const playground = `../playground/index.html#op-${name}`;
    const piece = await livePiece({ file: `${name.replace(".", "-")}.ts`, text, playground }, highlight);
    const call = new RegExp(`\\btl\\.${entry.name}\\(`);
    const html = opPageHtml(page, {
      piece: `${piece}<script type="module" src="../live.js"></script>`,
      signature: highlight(formatCall(entry), "ts"),
      users: [...texts].flatMap(([user, each]) => (call.test(each) ? [user] : [])).slice(0, 8),
    });
    rendered.push({ name, path, title, keywords, html, text, summary: entry.text.replaceAll("`", "") });
  }
  return rendered;
}

if (process.argv[1] === import.meta.filename) process.stdout.write(JSON.stringify(await renderAll()));
