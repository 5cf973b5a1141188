/** `a, b and c`, or `a, b or c`. */
export function formatList(items: readonly string[], conjunction: "and" | "or" = "and"): string {
  return items.length < 2 ? items.join() : `${items.slice(0, -1).join(", ")} ${conjunction} ${items.at(-1)}`;
}
