/** Python's reserved words. `__debug__` is not a keyword, but nothing may be assigned to it. */
export const PYTHON_KEYWORDS: readonly string[] = (
  "False None True and as assert async await break class continue def del elif else except finally for from global " +
  "if import in is lambda nonlocal not or pass raise return try while with yield"
).split(" ");

/** True if `name` can be an attribute or a keyword argument. */
export function isPythonIdentifier(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && name !== "__debug__" && !PYTHON_KEYWORDS.includes(name);
}
