/**
 * The source index on Node: TypeScript's parser over the author's files on disk.
 *
 * Its import takes about half a second, so it is loaded with a dynamic `import()`.
 */
import { existsSync, readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { dirname } from "node:path";
import type { SourceIndex } from "../ir/source-index.js";
import { indexFiles, parseSource } from "./indexed-files.js";
import { type ModuleFile, type ReadFile, resolveFile, resolvePath } from "./author-modules.js";
import { ts } from "./typescript.js";

const parseFile = (path: string): ts.SourceFile => parseSource(path, readFileSync(path, "utf8").replace(/^\uFEFF/, ""));

/** A source index over the files on disk; each is read on first use. */
export function createSourceIndex(): SourceIndex {
  const files = new Map<string, ts.SourceFile | undefined>();
  const read = (path: string): ts.SourceFile | undefined => {
    if (!files.has(path)) files.set(path, existsSync(path) ? parseFile(path) : undefined);
    return files.get(path);
  };
  return indexFiles(
    { read, moduleFile: (importer, specifier) => moduleFile(importer, specifier, read) },
    (location, path) => {
      const file = resolvePath(location.file, path);
      return existsSync(file) ? { text: readFileSync(file, "utf8"), file } : undefined;
    },
    async (...call) => (await import("./rewrite-configs.js")).rewriteConfigs(...call),
  );
}

/** The source file of an import, as TypeScript and Node resolve it; undefined if it is not available. */
function moduleFile(importer: ts.SourceFile, specifier: string, read: ReadFile): ModuleFile | undefined {
  if (specifier.startsWith(".")) {
    const file = resolveFile(importer, specifier, read);
    return file && { file, isForeign: false };
  }
  if (isBuiltin(specifier)) return undefined;
  const path = resolvedPath(importer.fileName, specifier);
  if (path === undefined) return undefined;
  const file = read(path);
  return file && { file, isForeign: path.includes("/node_modules/") && !dependsOnUs(path) };
}

/** The resolved JavaScript or TypeScript file. Declaration files are excluded, because they have no bodies. */
function resolvedPath(importer: string, specifier: string): string | undefined {
  const options = { ...optionsFor(dirname(importer)), noDtsResolution: true, allowJs: true };
  const { resolvedModule } = ts.resolveModuleName(specifier, importer, options, ts.sys);
  const path = resolvedModule?.resolvedFileName;
  return path === undefined || /\.d\.[cm]?ts$|\.json$/.test(path) ? undefined : path;
}

const compilerOptions = new Map<string, ts.CompilerOptions>();

/** The compiler options of the nearest tsconfig.json, such as `paths` and conditions. */
function optionsFor(folder: string): ts.CompilerOptions {
  let options = compilerOptions.get(folder);
  if (options) return options;
  const config = ts.findConfigFile(folder, ts.sys.fileExists);
  const parsedConfig =
    config === undefined ? undefined : ts.getParsedCommandLineOfConfigFile(config, undefined, { ...ts.sys, ...SILENT });
  options = { moduleResolution: ts.ModuleResolutionKind.Bundler, ...parsedConfig?.options };
  compilerOptions.set(folder, options);
  return options;
}

/**
 * Ignores errors in tsconfig.json, which TypeScript reports itself, and lists no files, which would scan the whole
 * project.
 */
const SILENT = { onUnRecoverableConfigFileDiagnostic: () => undefined, readDirectory: () => [] };

/** True if the package.json of a file depends on TileScript. */
function dependsOnUs(path: string): boolean {
  const manifest = ts.findConfigFile(dirname(path), ts.sys.fileExists, "package.json");
  if (manifest === undefined) return false;
  try {
    const { dependencies, peerDependencies } = JSON.parse(readFileSync(manifest, "utf8")) as Record<string, object>;
    return "tilescript" in { ...dependencies, ...peerDependencies };
  } catch {
    return false;
  }
}
