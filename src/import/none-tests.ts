/** Which parameters a call may leave out. */

/** The names that a function asks whether they are None. */
export function namesAskedForNone(body: unknown, found = new Set<string>()): ReadonlySet<string> {
  if (typeof body !== "object" || body === null) return found;
  if (Array.isArray(body)) {
    for (const each of body) namesAskedForNone(each, found);
    return found;
  }
  const node = body as Readonly<Record<string, unknown>>;
  if (node["kind"] === "Compare") {
    const { left, comparators } = node as {
      left: { kind: string; id?: string };
      comparators: readonly { kind: string; of?: string }[];
    };
    if (left.kind === "Name" && left.id !== undefined && comparators.some(({ of }) => of === "NoneType"))
      found.add(left.id);
  }
  for (const [key, value] of Object.entries(node))
    if (key !== "types" && key !== "bound") namesAskedForNone(value, found);
  return found;
}
