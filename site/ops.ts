/** A page for each op: signature, types, an example that runs in place, errors, from the op records and their samples. */
import { format } from "prettier";
import { dtypesOf, type Entry as LanguageEntry, formatCall, isMethod, sections } from "../docs/language.js";
import type { OperandKind } from "../src/ir/op.js";
import {
  type DTypeName,
  dtypeNames,
  dtypeTable,
  isFp8,
  isInt,
  dtypeTargets,
  formatTargets,
} from "../src/types/dtype.js";
import { exampleOf, type TypedCall, typesOf } from "./op-examples.js";
import { escape, type Neighbor } from "./shell.js";

export interface OpPage extends Neighbor {
  /** The name of its example, and of its file. */
  readonly name: string;
  /** What a search compares with, besides the title. */
  readonly keywords: string;
  /** The title of the list that the op is in. */
  readonly section: string;
  readonly entry: LanguageEntry;
}

/** Words of other languages for control flow, which a search should find. */
const KEYWORDS: Readonly<Record<string, string>> = {
  when: "if else branch condition otherwise",
  where: "select ternary",
  range: "for loop iteration",
  staticRange: "for loop unroll",
  whileLoop: "while loop",
  mut: "variable state accumulator let",
  to: "cast astype convert dtype",
  dot: "matmul matrix product gemm",
  at: "index view mask slice",
  programId: "program_id block index",
};

/** What an operand may be. */
const KINDS: Readonly<Record<OperandKind, string>> = {
  value: "a tile, constexpr or number",
  index: "a tile of integers, constexpr or integer",
  valueOrPointer: "a tile, constexpr, number or pointer",
  tile: "a tile",
  tileOrPointer: "a tile or pointer",
  mask: "a tile of int1, or one truth value",
  shape: "a list of constexprs and numbers",
  constant: "a constant: a number, string or truth value",
  constants: "a constant or a list of them",
  dtype: "a dtype",
  address: "a view or pointer",
  tensor: "a tensor",
  tensorOrView: "a tensor or view",
  descriptor: "a tensor descriptor",
  values: "a list of values",
  tiles: "a tile or a list of tiles",
  function: "a function of the kernel file",
};

/** `gather` of tensors shares its name with that of tiles. */
const nameOf = ({ name, op }: LanguageEntry): string =>
  op?.spelling.form === "lowered" && name === "gather" ? "x.gather" : name;

const titleOf = (entry: LanguageEntry): string => formatCall(entry).replace(/\(.*$/, "");

/** All ops in the order of the reference. */
export const opPages = (): readonly OpPage[] =>
  sections().flatMap(({ title: section, entries }) =>
    entries.map((entry) => {
      const { op } = entry;
      const triton = op && "name" in op.spelling ? op.spelling.name : "";
      return {
        entry,
        section,
        name: nameOf(entry),
        path: `ops/${nameOf(entry).replace(".", "-")}`,
        title: titleOf(entry),
        keywords: `${entry.name} ${triton} ${triton.replaceAll("_", " ")} ${KEYWORDS[entry.name] ?? ""}`,
      };
    }),
  );

/** The kernel file that shows an op, formatted. */
export async function exampleText(name: string): Promise<string | undefined> {
  const text = exampleOf(name);
  return text === undefined ? undefined : format(text, { parser: "typescript", printWidth: 90 });
}

const code = (text: string): string => escape(text).replaceAll(/`([^`]+)`/g, "<code>$1</code>");

interface OpContents {
  /** The piece with the example. */
  readonly piece: string;
  readonly signature: string;
  /** Names of examples in the gallery that call the op. */
  readonly users: readonly string[];
}

export function opPageHtml({ entry, section, name }: OpPage, { piece, signature, users }: OpContents): string {
  const { op, text } = entry;
  const { calls, messages } = typesOf(op?.name === "gather" && name !== "gather" ? name : entry.name);
  const operands = op ? [...Object.entries(op.operands), ...Object.entries(op.options).map(inBraces)] : [];
  const notes = [
    isMethod(entry) ? "Also a method of its first operand." : "",
    op ? dtypesOf(op).trim() : "",
    op?.needs.targets ? `${formatTargets(op.needs.targets)}.` : "",
  ].filter((note) => note !== "");
  const links = users.map((user) => `<a href="../gallery/${user}.html">${user}</a>`);
  return [
    `<p class="crumbs"><a href="index.html">Ops</a> › ${code(section)}</p>`,
    `<h1><code>${escape(titleOf(entry))}</code></h1>`,
    `<p>${code(text)}</p>`,
    signature,
    ...(notes.length > 0 ? [`<p>${notes.map(code).join(" ")}</p>`] : []),
    ...(operands.length > 0
      ? [
          heading("Arguments"),
          table(
            ["name", "what it may be"],
            operands.map(([argument, kind]) => [`<code>${argument}</code>`, kindText(kind)]),
          ),
        ]
      : []),
    ...(calls.length > 0 ? [heading("Types"), typesTable(calls)] : []),
    heading("Example"),
    piece,
    ...(messages.length > 0
      ? [heading("Errors"), `<ul>${messages.map((message) => `<li>${code(message)}</li>`).join("")}</ul>`]
      : []),
    ...(links.length > 0 ? [heading("In the gallery"), `<p>${links.join(", ")}</p>`] : []),
  ].join("\n");
}

const inBraces = ([name, kind]: readonly [string, string]): readonly [string, string] => [`{ ${name} }`, kind];

function kindText(kind: string): string {
  const isOptional = kind.endsWith("?");
  const text = Object.entries(KINDS).find(([name]) => name === kind.replace("?", ""))?.[1] ?? kind;
  return isOptional ? `${text}; optional` : text;
}

const OP_HEADINGS = ["Arguments", "Types", "Example", "Errors", "In the gallery"];
const slug = (text: string): string => text.toLowerCase().replaceAll(" ", "-");
const heading = (text: string): string => `<h2 id="${slug(text)}">${text}</h2>`;

/** The headings of a page, for its list of contents. */
export const headingsOf = (html: string): readonly { readonly text: string; readonly slug: string }[] =>
  OP_HEADINGS.map((text) => ({ text, slug: slug(text) })).filter(({ slug: id }) => html.includes(`<h2 id="${id}">`));

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = (row: readonly string[], tag: string): string =>
    `<tr>${row.map((cell) => `<${tag}>${cell}</${tag.split(" ")[0]}>`).join("")}</tr>`;
  return `<div class="table" tabindex="0"><table><thead>${cells(head, 'th scope="col"')}</thead><tbody>${rows.map((row) => cells(row, "td")).join("")}</tbody></table></div>`;
}

const typeText = ({ dtype, shape }: { readonly dtype: string; readonly shape: readonly number[] }): string =>
  shape.length === 0 ? dtype : `${dtype}[${shape.join(", ")}]`;

/** Calls that Triton accepts, and what they return. */
function typesTable(calls: readonly TypedCall[]): string {
  const MAX_ROWS = 24;
  const rows = calls
    .slice(0, MAX_ROWS)
    .map(({ operands, results }) =>
      [operands, results].map((types) => `<code>${types.map(typeText).join(", ") || "none"}</code>`),
    );
  const rest = calls.length > MAX_ROWS ? `<p>And ${calls.length - MAX_ROWS} more combinations of dtypes.</p>` : "";
  return `<p>Calls that tests compile with Triton:</p>${table(["operands", "result"], rows)}${rest}`;
}

/** The list of all ops by their sections. */
export function opsIndex(pages: readonly OpPage[]): string {
  const titles = [...new Set(pages.map(({ section }) => section))];
  const lists = titles.map((title) => {
    const items = pages
      .filter(({ section }) => section === title)
      .map(
        (page) => `<li><a href="../${page.path}.html"><code>${escape(page.title.replace(/^tl\./, ""))}</code></a></li>`,
      );
    return `<section><h2>${code(title)}</h2><ul class="op-list">${items.join("")}</ul></section>`;
  });
  return `<h1>Ops</h1>
<p>Each op has a page with its types, an example that runs in place, and its errors. <a href="dtypes.html">The dtypes</a> have one together; <a href="../language.html">the language</a> explains what ops share.</p>
<div class="op-sections">${lists.join("")}</div>`;
}

function kindOf(dtype: DTypeName): string {
  if (dtype === "int1") return "truth value";
  if (isFp8(dtype)) return "8-bit float: load, store, cast and <code>tl.dot</code>";
  return isInt(dtype) ? "integer" : "float";
}

/** The dtypes, each with an anchor. */
export function dtypesPage(): string {
  const rows = dtypeNames.map((name) => {
    const targets = dtypeTargets[name];
    const { bits } = dtypeTable[name];
    return [`<code id="${name}">tl.${name}</code>`, String(bits), kindOf(name), targets ? formatTargets(targets) : ""];
  });
  return `<p class="crumbs"><a href="index.html">Ops</a></p><h1>Dtypes</h1><p>The dtype of a tensor, a tile or a scalar. A tile is cast with <a href="to.html"><code>x.to(tl.float16)</code></a>.</p>${table(["dtype", "bits", "what it is", "GPUs"], rows)}`;
}
