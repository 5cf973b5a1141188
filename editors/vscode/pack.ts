/** Packs the extension: `npm run package -- vscode [FILE]`. A .vsix is a zip archive with a list of its content types. */
import { build } from "esbuild";
import { strToU8, zipSync } from "fflate";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const folder = import.meta.dirname;
const root = resolve(folder, "../..");

interface Manifest extends Readonly<Record<string, unknown>> {
  readonly name: string;
  readonly displayName: string;
  readonly description: string;
  readonly publisher: string;
  readonly categories: readonly string[];
  readonly engines: { readonly vscode: string };
}

/** The archive, with the version of the package. */
export async function packExtension(): Promise<Uint8Array> {
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { readonly version: string };
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
  const { script, packages } = await bundle();
  return zipSync({
    "[Content_Types].xml": strToU8(CONTENT_TYPES),
    "extension.vsixmanifest": strToU8(vsixManifest(manifest, version)),
    "extension/package.json": strToU8(`${JSON.stringify({ ...manifest, version }, undefined, 2)}\n`),
    "extension/extension.cjs": script,
    "extension/README.md": readFileSync(join(folder, "README.md")),
    "extension/LICENSE.txt": readFileSync(join(root, "LICENSE")),
    "extension/NOTICES.txt": strToU8(packages.map(noticeOf).join("\n")),
  });
}

interface Bundle {
  readonly script: Uint8Array;
  /** The packages in it, by their folders. */
  readonly packages: readonly string[];
}

async function bundle(): Promise<Bundle> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: [join(folder, "extension.ts")],
    bundle: true,
    platform: "node",
    format: "cjs",
    target: "node20",
    external: ["vscode"],
    minify: true,
    write: false,
    metafile: true,
  });
  const [script] = outputFiles;
  if (!script) throw new Error("esbuild wrote no file");
  const packages = Object.keys(metafile.inputs).flatMap(
    (path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? [],
  );
  return { script: script.contents, packages: [...new Set(packages)].sort() };
}

/** The license of a package, which its copies must contain. */
function noticeOf(path: string): string {
  const file = readdirSync(join(root, path)).find((name) => /^licen[cs]e/i.test(name));
  if (file === undefined) throw new Error(`${path} has no license file; its copies need one`);
  return `${path.replace(/^.*node_modules\//, "")}\n\n${readFileSync(join(root, path, file), "utf8")}`;
}

const CONTENT_TYPES = `<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
  <Default Extension=".json" ContentType="application/json"/>
  <Default Extension=".vsixmanifest" ContentType="text/xml"/>
  <Default Extension=".cjs" ContentType="application/node"/>
  <Default Extension=".md" ContentType="text/markdown"/>
  <Default Extension=".txt" ContentType="text/plain"/>
</Types>
`;

function vsixManifest(
  { name, displayName, description, publisher, categories, engines }: Manifest,
  version: string,
): string {
  return `<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity Language="en-US" Id="${name}" Version="${version}" Publisher="${publisher}"/>
    <DisplayName>${displayName}</DisplayName>
    <Description xml:space="preserve">${description}</Description>
    <Categories>${categories.join(",")}</Categories>
    <GalleryFlags>Public</GalleryFlags>
    <License>extension/LICENSE.txt</License>
    <Properties>
      <Property Id="Microsoft.VisualStudio.Code.Engine" Value="${engines.vscode}"/>
      <Property Id="Microsoft.VisualStudio.Code.ExtensionKind" Value="workspace"/>
    </Properties>
  </Metadata>
  <Installation>
    <InstallationTarget Id="Microsoft.VisualStudio.Code"/>
  </Installation>
  <Dependencies/>
  <Assets>
    <Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.Details" Path="extension/README.md" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.License" Path="extension/LICENSE.txt" Addressable="true"/>
  </Assets>
</PackageManifest>
`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , file = join(folder, "tilescript.vsix")] = process.argv;
  const archive = await packExtension();
  writeFileSync(file, archive);
  console.log(`wrote ${file}, ${Math.round(archive.length / 1000)} kB`);
}
