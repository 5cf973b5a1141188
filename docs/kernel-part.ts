/** The kernel of an emitted module, without the wrapper that follows it. */
export function kernelPart(python: string, name: string): string {
  const lines = python.split("\n");
  const start = lines.findIndex((line) => line === "@triton.jit");
  const wrapper = lines.findIndex((line, i) => i > start && line.startsWith(`def ${name}(`));
  return lines
    .slice(Math.max(0, start), wrapper < 0 ? undefined : wrapper)
    .join("\n")
    .trimEnd();
}
