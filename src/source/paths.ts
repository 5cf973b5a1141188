/** Paths of the author's files: absolute, with forward slashes, of a disk or of a page. */

/** The path that a relative one names from a file: `../b.ts` beside `/a/c.ts` is `/b.ts`. An absolute one stays. */
export function pathBeside(file: string, relative: string): string {
  if (/^([a-zA-Z]:)?[\\/]/.test(relative)) return relative.replaceAll("\\", "/");
  const [, origin = "", path = ""] = /^([a-z]+:\/\/[^/]*|[a-zA-Z]:)?(.*)$/s.exec(file.replaceAll("\\", "/"))!;
  const parts = path.split("/").slice(0, -1);
  for (const part of relative.replaceAll("\\", "/").split("/")) {
    // The first part is empty, for the root.
    if (part === "..") parts.splice(Math.max(1, parts.length - 1));
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return `${origin}${parts.join("/")}`;
}
