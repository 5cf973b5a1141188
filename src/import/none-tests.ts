/** Which parameters a call may leave out. */

/** Whether a function asks if a parameter is None. */
export function hasNoneTest(body: unknown, name: string): boolean {
  if (typeof body !== "object" || body === null) return false;
  if (Array.isArray(body)) return body.some((each) => hasNoneTest(each, name));
  const node = body as Readonly<Record<string, unknown>>;
  if (node["kind"] === "Compare") {
    const { left, comparators } = node as {
      left: { kind: string; id?: string };
      comparators: readonly { kind: string; of?: string }[];
    };
    if (left.kind === "Name" && left.id === name && comparators.some(({ of }) => of === "NoneType")) return true;
  }
  return Object.entries(node).some(([key, value]) => key !== "types" && key !== "bound" && hasNoneTest(value, name));
}
