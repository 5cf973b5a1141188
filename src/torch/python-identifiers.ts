/** Words that Python takes for itself everywhere. `__debug__` is no keyword, but nothing may be given that name. */
export const PYTHON_KEYWORDS: readonly string[] = (
  "False None True and as assert async await break class continue def del elif else except finally for from global " +
  "if import in is lambda nonlocal not or pass raise return try while with yield"
).split(" ");

/** Whether `name` can stand after a dot and before the `=` of a keyword argument. */
export function isPythonIdentifier(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && name !== "__debug__" && !PYTHON_KEYWORDS.includes(name);
}
