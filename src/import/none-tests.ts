/** Comparisons with None, which show that a parameter is optional. */

export function namesComparedWithNone(body: unknown, names = new Set<string>()): ReadonlySet<string> {
  if (typeof body !== "object" || body === null) return names;
  if (Array.isArray(body)) {
    for (const each of body) namesComparedWithNone(each, names);
    return names;
  }
  const node = body as Readonly<Record<string, unknown>>;
  if (node["kind"] === "Compare") {
    const { left: lhs, comparators } = node as {
      left: { kind: string; id?: string };
      comparators: readonly { kind: string; of?: string }[];
    };
    if (lhs.kind === "Name" && lhs.id !== undefined && comparators.some(({ of }) => of === "NoneType"))
      names.add(lhs.id);
  }
  for (const [key, value] of Object.entries(node))
    if (key !== "types" && key !== "bound") namesComparedWithNone(value, names);
  return names;
}
