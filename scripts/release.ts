/**
 * Rehearses a release: `npm run package -- release`. It checks versions, changelog and addresses, builds and packs the
 * package into a temporary folder, and lints the tarball. It publishes nothing and creates no tag. With `--ready`, steps
 * that are left before a release are errors too. `--no-lint` leaves out the linters, which npm downloads.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { addresses, withAddresses } from "./addresses.js";
import { pack } from "./pack.js";
import { lintTarball } from "./package-lint.js";
import { checkRelease, type Manifest, missingFiles } from "./release-checks.js";

const root = resolve(import.meta.dirname, "..");
const read = (file: string): string => readFileSync(join(root, file), "utf8");

/** Files in which an address differs from `release.json`. */
function staleFiles(): readonly string[] {
  return Object.entries(withAddresses).flatMap(([file, fill]) =>
    fill(read(file), addresses) === read(file)
      ? []
      : [`${file} differs from release.json; run npx tsx scripts/addresses.ts`],
  );
}

function main(): void {
  const { values: options } = parseArgs({
    options: { ready: { type: "boolean", default: false }, "no-lint": { type: "boolean", default: false } },
  });
  const manifest = JSON.parse(read("package.json")) as Manifest;
  const report = checkRelease({
    manifest,
    pyproject: read("python/pyproject.toml"),
    changelog: read("CHANGELOG.md"),
    addresses,
  });
  const faults = [...report.faults, ...staleFiles()];
  const folder = mkdtempSync(join(tmpdir(), "tilescript-release-"));
  try {
    const { tarball, filename, size, unpackedSize, files } = pack(folder);
    console.log(`${filename}: ${files.length} files, ${kilobytes(size)} packed, ${kilobytes(unpackedSize)} unpacked`);
    const packedFiles = files.map(({ path }) => path);
    faults.push(...missingFiles(manifest, packedFiles).map((file) => `the tarball lacks ${file}`));
    if (!options["no-lint"] && !lintTarball(tarball))
      faults.push("the linters of the package found mistakes, or could not be downloaded");
  } finally {
    rmSync(folder, { recursive: true });
  }
  for (const step of report.remaining) console.log(`left to do: ${step}`);
  for (const fault of faults) console.error(`error: ${fault}`);
  if (faults.length > 0 || (options.ready && report.remaining.length > 0)) process.exitCode = 1;
  else console.log(`${manifest.name} ${manifest.version}: nothing was published`);
}

const kilobytes = (bytes: number): string => `${Math.round(bytes / 1024)} KiB`;

if (process.argv[1] === import.meta.filename) main();
