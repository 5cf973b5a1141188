/**
 * Python as npm gets it: without comments and docstrings, and indented by one space where it was by four. Each line
 * keeps its number, so a traceback's lines hold.
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
  return code.replaceAll(/[ \t]+$/gm, "");
}
