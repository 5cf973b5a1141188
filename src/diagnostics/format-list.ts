/** `a, b and c`, or `a, b or c`. */
export function formatList(words: readonly string[], conjunction: "and" | "or" = "and"): string {
  return words.length < 2 ? words.join() : `${words.slice(0, -1).join(", ")} ${conjunction} ${words.at(-1)}`;
}
