/** Which file an import of the author reads, as TypeScript and Node resolve it. */
import { readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { dirname } from "node:path";
import { ts } from "./typescript.js";
import { type ModuleFile, type Read, resolveFile } from "./imports.js";

/** The file with the source of an import; undefined if there is none to read. */
export function moduleFile(from: ts.SourceFile, specifier: string, read: Read): ModuleFile | undefined {
  if (specifier.startsWith(".")) {
    const file = resolveFile(from, specifier, read);
    return file && { file, isForeign: false };
  }
  if (isBuiltin(specifier)) return undefined;
  const path = resolvedPath(from.fileName, specifier);
  const file = path === undefined ? undefined : read(path);
  return file && { file, isForeign: path!.includes("/node_modules/") && !dependsOnUs(path!) };
}

/** JavaScript and TypeScript, but no declarations, which have no bodies to read. */
function resolvedPath(importer: string, specifier: string): string | undefined {
  const options = { ...optionsFor(dirname(importer)), noDtsResolution: true, allowJs: true };
  const { resolvedModule } = ts.resolveModuleName(specifier, importer, options, ts.sys);
  const path = resolvedModule?.resolvedFileName;
  return path === undefined || /\.d\.[cm]?ts$|\.json$/.test(path) ? undefined : path;
}

const known = new Map<string, ts.CompilerOptions>();

/** The options of the nearest tsconfig.json: its `paths`, its conditions. */
function optionsFor(folder: string): ts.CompilerOptions {
  let options = known.get(folder);
  if (options) return options;
  const config = ts.findConfigFile(folder, ts.sys.fileExists);
  const parsed =
    config === undefined ? undefined : ts.getParsedCommandLineOfConfigFile(config, undefined, { ...ts.sys, ...SILENT });
  options = { moduleResolution: ts.ModuleResolutionKind.Bundler, ...parsed?.options };
  known.set(folder, options);
  return options;
}

/** A mistake in tsconfig.json is TypeScript's to report; files are not listed, which would walk the whole project. */
const SILENT = { onUnRecoverableConfigFileDiagnostic: () => undefined, readDirectory: () => [] };

/** Whether the package of a file says that it uses TileScript. */
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
