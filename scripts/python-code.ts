/**
 * Python as npm gets it: without comments, docstrings and types of parameters, and indented by one space where it was by
 * four. Each line keeps its number, so a traceback's lines hold.
 */

/** A string, a comment, or a line's indentation. Nothing else of Python's grammar has quotes or `#`. */
const PART =
  /(?<quote>"""|''')(?:\\[^]|(?!\k<quote>)[^])*\k<quote>|"(?:\\[^]|[^"\\\n])*"|'(?:\\[^]|[^'\\\n])*'|#[^\n]*|^(?: {4})+/gm;
/** A string that is a statement: nothing precedes it on its line, and nothing follows. */
const ALONE = /(?<=^[ \t]*)(?:"""(?:\\[^]|(?!""")[^])*"""|"(?:\\[^]|[^"\\\n])*")(?=[ \t]*$)/gm;
/** What stands before a docstring: nothing, or the end of a line that begins a class or a function. */
const BEGINS = /^\s*$|(?:^|\n)[ \t]*(?:(?:async )?def |class |\)).*:\s*$/;

export function withoutComments(python: string): string {
  const uncommented = python.replaceAll(PART, (part, _quote, at: number) => {
    if (part.startsWith(" ")) return " ".repeat(part.length / 4);
    return part.startsWith("#") && !(at === 0 && part.startsWith("#!")) ? "" : part;
  });
  // Only where a statement begins: a string may also be an argument on a line of its own.
  const code = uncommented.replaceAll(ALONE, (string, at: number) =>
    BEGINS.test(uncommented.slice(0, at)) ? `""${"\n".repeat(string.split("\n").length - 1)}` : string,
  );
  return withoutTypes(code).replaceAll(/[ \t]+$/gm, "");
}

/** A string, the start of a function, or what its signature is made of. */
const TOKEN =
  /(?<string>(?<quote>"""|''')(?:\\[^]|(?!\k<quote>)[^])*\k<quote>|"(?:\\[^]|[^"\\\n])*"|'(?:\\[^]|[^'\\\n])*')|(?<def>^[ \t]*(?:async )?def \w+(?=\())|[[({]|[\])}]|->|[,:=]/gm;

/** Python without the types of parameters and results, which nothing reads while it runs. */
function withoutTypes(python: string): string {
  const cuts: (readonly [from: number, to: number])[] = [];
  /** How many brackets are open since the last `def`; before the first, and after a signature, nothing is one. */
  let depth = 0;
  let isSignature = false;
  /** Where a type starts, and the depth that it ends at. */
  let type: { readonly at: number; readonly depth: number } | undefined;
  /** Whether a parameter's name was the last that came: a colon then begins its type, and elsewhere is a lambda's. */
  let isName = false;
  const end = (at: number): void => {
    if (type?.depth !== depth) return;
    const text = python.slice(type.at, at).trimEnd();
    if (!text.includes("\n")) cuts.push([type.at, type.at + text.length]);
    type = undefined;
  };
  for (const { 0: token, index: at, groups } of python.matchAll(TOKEN)) {
    if (groups?.["def"] !== undefined) [isSignature, depth, isName] = [true, 0, true];
    else if (!isSignature || groups?.["string"] !== undefined) continue;
    else if ("[({".includes(token)) depth++;
    else if ("])}".includes(token)) {
      end(at);
      depth--;
    } else if (token === "->") type = { at: at - 1, depth };
    else if (depth === 0) {
      end(at);
      isSignature = false;
    } else if (depth === 1 && token === ":" && isName) type = { at, depth };
    else if (depth === 1) {
      end(at);
      isName = token === ",";
    }
  }
  return cuts.reduceRight((code, [from, to]) => code.slice(0, from) + code.slice(to), python);
}
