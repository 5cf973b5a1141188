/**
 * Texts of a Python file in TypeScript. A comment or a string must never become code: JavaScript ends a line at more
 * characters than Python does.
 */

/** A comment in one line. */
export const lineComment = (text: string): string => `// ${text.replaceAll("\n", " ")}`;

/** A JSDoc comment with one line per paragraph. The emitter wraps paragraphs. */
export function docComment(doc: string | undefined): string {
  if (doc === undefined) return "";
  const paragraphs = doc.replaceAll("*/", "* /").split(/\n\s*\n/);
  return `/** ${paragraphs.map((paragraph) => paragraph.replaceAll(/\s+/g, " ").trim()).join("\n *\n * ")} */\n`;
}

/**
 * Escapes the characters that end a line in JavaScript alone, and those that a reader cannot see: controls, and marks
 * that change the direction of text (CVE-2021-42574). A string keeps its value.
 */
export const escapeInvisible = (text: string): string =>
  text.replace(/(?!\n)[\p{C}\p{Zl}\p{Zp}]/gu, (character) => {
    const code = character.codePointAt(0)!.toString(16);
    return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, "0")}`;
  });
