/** Tables in Markdown. */
type Cells = readonly string[];

/** The lines of a table. `isRight` tells which columns are aligned to the right. */
export function tableLines(
  head: Cells,
  rows: readonly Cells[],
  isRight: (column: number) => boolean = () => false,
): readonly string[] {
  const rule = head.map((_, i) => (isRight(i) ? "---:" : "---"));
  return [head, rule, ...rows].map((cells) => `| ${cells.join(" | ")} |`);
}

/** Columns of figures, which follow the name in the first one. */
export const afterFirst = (column: number): boolean => column > 0;

/** A marked part: a caption above the lines of a table. */
export const captioned = (caption: string, lines: readonly string[]): string =>
  ["", caption, "", ...lines, ""].join("\n");

/** How busy the machine of a measurement was. */
export const loadSentence = (loadBefore: number): string =>
  `The load average before the measurement was ${loadBefore}.`;
