/**
 * Python as published on npm: without comments, docstrings and types of parameters and results, and indented by one
 * space instead of four. Each line keeps its number, so the lines of tracebacks stay correct.
 */
import type { SyntaxNode } from "@lezer/common";
import { parser } from "@lezer/python";

/** A replacement of a range of the text. */
interface Edit {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

export function withoutComments(python: string): string {
  const edits: Edit[] = [];
  // Spaces in strings are not indentation.
  const strings: SyntaxNode[] = [];
  parser.parse(python).iterate({
    enter({ node }) {
      if (STRINGS.has(node.name)) strings.push(node);
      const edit = editOf(node, python);
      if (edit) edits.push(edit);
    },
  });
  for (const { index: from, 0: spaces } of python.matchAll(/^(?: {4})+/gm)) {
    const isWithin = strings.some((string) => string.from < from && from < string.to);
    if (!isWithin) edits.push({ from, to: from + spaces.length, text: " ".repeat(spaces.length / 4) });
  }
  const code = edits
    .toSorted((a, b) => b.from - a.from)
    .reduce((text, edit) => text.slice(0, edit.from) + edit.text + text.slice(edit.to), python);
  return code.replaceAll(/[ \t]+$/gm, "");
}

const STRINGS: ReadonlySet<string> = new Set(["String", "FormatString"]);

/** The edit of a syntax node, if it changes. */
function editOf(node: SyntaxNode, python: string): Edit | undefined {
  const { from, to, prevSibling, parent } = node;
  const lines = python.slice(from, to).split("\n").length;
  if (node.name === "Comment" && !(from === 0 && python.startsWith("#!"))) return { from, to, text: "" };
  if (node.name === "String" && isDocstring(parent!)) return { from, to, text: `""${"\n".repeat(lines - 1)}` };
  const isOfFunction = parent?.name === "ParamList" || parent?.name === "FunctionDefinition";
  if (node.name === "TypeDef" && isOfFunction && lines === 1) return { from: prevSibling!.to, to, text: "" };
  return undefined;
}

const DOCUMENTED: ReadonlySet<string> = new Set(["Script", "ClassDefinition", "FunctionDefinition"]);

/** True if the statement of a string is the first one of a module, a class or a function. */
function isDocstring({ name, parent, prevSibling }: SyntaxNode): boolean {
  if (name !== "ExpressionStatement") return false;
  let previous = prevSibling;
  while (previous?.name === "Comment") previous = previous.prevSibling;
  const owner = parent!.name === "Body" ? parent!.parent! : parent!;
  return DOCUMENTED.has(owner.name) && (previous === null || previous.name === ":");
}
