/** Paths of the author's files: absolute, with forward slashes, on disk or on a web page. */

/** Resolves a path relative to a file: `../b.ts` from `/a/c.ts` is `/b.ts`. Returns an absolute path unchanged. */
export function resolvePath(file: string, relative: string): string {
  if (/^([a-zA-Z]:)?[\\/]/.test(relative)) return relative.replaceAll("\\", "/");
  const [, origin = "", path = ""] = /^([a-z]+:\/\/[^/]*|[a-zA-Z]:)?(.*)$/s.exec(file.replaceAll("\\", "/")) ?? [];
  const segments = path.split("/").slice(0, -1);
  for (const segment of relative.replaceAll("\\", "/").split("/")) {
    // The first segment is empty and stands for the root.
    if (segment === "..") segments.splice(Math.max(1, segments.length - 1));
    else if (segment !== "" && segment !== ".") segments.push(segment);
  }
  return `${origin}${segments.join("/")}`;
}
