import { createHash } from "node:crypto";

/**
 * What the kernels of an emitted module are, as a hash of their code and configs: comments, docstrings and how they are
 * launched are left out. Two empty lines stand between the parts of a module, and nowhere else.
 */
export function kernelDigest(python: string): string {
  const code = python
    .split("\n\n\n")
    .filter((part) => /^@triton\b/m.test(part))
    .map((part) => part.replaceAll(/^ *#.*\n| *#.*$|^ *"""[^]*?"""\n/gm, ""))
    .join("\n")
    // However it is passed, a limit of registers is what it is.
    .replaceAll(/\*\*_maxnreg\((\d+)\)/g, "maxnreg=$1");
  return createHash("sha256").update(code).digest("hex").slice(0, 16);
}
