/** The extension for Visual Studio Code, as it is packed. */
import { strFromU8, unzipSync } from "fflate";
import { isBuiltin } from "node:module";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { packExtension } from "../../editors/vscode/pack.js";
import { version } from "../../src/runtime/system/files.js";

const readDocument = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

test("the archive has the files that its manifests name, and needs only what Visual Studio Code has", async () => {
  const files = unzipSync(await packExtension());
  const textOf = (path: string): string => strFromU8(files[path] ?? new Uint8Array());
  const manifest = JSON.parse(textOf("extension/package.json")) as {
    readonly version: string;
    readonly main: string;
    readonly contributes: {
      readonly commands: readonly { readonly command: string }[];
      readonly configuration: { readonly properties: Readonly<Record<string, { readonly default: unknown }>> };
    };
  };
  expect(manifest.version).toBe(version);
  expect(textOf("extension.vsixmanifest")).toContain(`Version="${version}"`);
  const named = [...textOf("extension.vsixmanifest").matchAll(/Path="([^"]+)"/g)].map(([, path = ""]) => path);
  const main = `extension/${manifest.main.replace("./", "")}`;
  expect(named.length).toBeGreaterThan(2);
  expect([...named, main].filter((path) => !(path in files))).toEqual([]);
  const types = new Set([...textOf("[Content_Types].xml").matchAll(/Extension="([^"]+)"/g)].map(([, type]) => type));
  const extensions = Object.keys(files).map((path) => /\.\w+$/.exec(path)?.[0]);
  expect(extensions.filter((each) => each !== ".xml" && !types.has(each))).toEqual([]);

  expect(textOf("extension/NOTICES.txt")).toMatch(/^vscode-languageclient\n\nCopyright/m);
  const required = [...textOf(main).matchAll(/\brequire\("([^"]+)"\)/g)].map(([, name = ""]) => name);
  expect(required).toContain("vscode");
  expect(required.filter((name) => name !== "vscode" && !isBuiltin(name))).toEqual([]);

  const page = readDocument("docs/editors.md");
  const { commands, configuration } = manifest.contributes;
  expect(commands.map(({ command }) => command)).toEqual(["tilescript.showPython"]);
  expect(readDocument("src/runtime/language-server/server.ts")).toContain('"tilescript.showPython"');
  for (const [name, { default: value }] of Object.entries(configuration.properties))
    expect(page.replaceAll(/ +/g, " ")).toContain(`| \`${name}\` | \`${String(value)}\` |`);
});
