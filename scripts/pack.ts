/** Packs the package as it is published. `npm pack` builds `dist` first. */
import { execFileSync } from "node:child_process";
import { join, resolve } from "node:path";

export interface Packed {
  /** The path of the tarball. */
  readonly tarball: string;
  readonly filename: string;
  readonly size: number;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string }[];
}

export function pack(folder: string): Packed {
  const packOutput = execFileSync("npm", ["pack", "--json", "--pack-destination", folder], {
    cwd: resolve(import.meta.dirname, ".."),
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    // npm is a script on Windows.
    shell: process.platform === "win32",
  });
  const packages = JSON.parse(packOutput.slice(packOutput.search(/^[[{]/m))) as
    readonly Omit<Packed, "tarball">[] | Record<string, Omit<Packed, "tarball">>;
  const [packed] = Object.values(packages);
  return { ...packed!, tarball: join(folder, packed!.filename) };
}
