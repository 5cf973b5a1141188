/**
 * Imports of a file: those from TileScript, the types that they declare, and the files that relative ones resolve to.
 * Paths are absolute, with forward slashes, on disk or on a web page.
 */
import { ts } from "./typescript.js";
import { isTileScript } from "../diagnostics/callsite.js";

export type ReadFile = (path: string) => ts.SourceFile | undefined;

export interface ModuleFile {
  readonly file: ts.SourceFile;
  /** True for a package that does not depend on TileScript. Its source is read only if it receives traced values. */
  readonly isForeign: boolean;
}

/** The parsed files of the author. */
export interface Files {
  readonly read: ReadFile;
  /** The source file of an import; undefined if it is not available. */
  moduleFile(importer: ts.SourceFile, specifier: string): ModuleFile | undefined;
}

/** A file's imported and declared types. */
export interface Types {
  /** Maps local names to names in TileScript. */
  readonly imported: ReadonlyMap<string, string>;
  readonly namespaces: ReadonlySet<string>;
  readonly local: ReadonlyMap<string, ts.InterfaceDeclaration | ts.TypeAliasDeclaration>;
}

const typeTables = new WeakMap<ts.SourceFile, Types>();

export function typesOf(file: ts.SourceFile): Types {
  let types = typeTables.get(file);
  if (!types) typeTables.set(file, (types = readTypes(file)));
  return types;
}

function readTypes(file: ts.SourceFile): Types {
  const imported = new Map<string, string>();
  const namespaces = new Set<string>();
  const local = new Map<string, ts.InterfaceDeclaration | ts.TypeAliasDeclaration>();
  for (const statement of file.statements) {
    if (ts.isInterfaceDeclaration(statement) || ts.isTypeAliasDeclaration(statement)) {
      local.set(statement.name.text, statement);
    }
    if (!ts.isImportDeclaration(statement) || !isLibrary(file, specifierOf(statement))) continue;
    const bindings = statement.importClause?.namedBindings;
    if (!bindings) continue;
    if (ts.isNamespaceImport(bindings)) namespaces.add(bindings.name.text);
    else for (const each of bindings.elements) imported.set(each.name.text, (each.propertyName ?? each.name).text);
  }
  return { imported, namespaces, local };
}

export function specifierOf(statement: ts.ImportDeclaration): string {
  return (statement.moduleSpecifier as ts.StringLiteral).text;
}

/** True for an import from TileScript: by name, or by path within this package. */
export function isLibrary(file: ts.SourceFile, moduleSpecifier: string): boolean {
  if (moduleSpecifier.startsWith(".")) return isTileScript(resolvePath(file.fileName, moduleSpecifier));
  return moduleSpecifier === "tilescript" || moduleSpecifier.startsWith("tilescript/");
}

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

export function resolveFile(file: ts.SourceFile, moduleSpecifier: string, read: ReadFile): ts.SourceFile | undefined {
  if (!moduleSpecifier.startsWith(".")) return undefined;
  const path = resolvePath(file.fileName, moduleSpecifier);
  const stem = path.replace(/\.([cm]?)js(x?)$/, "");
  for (const candidate of [
    ...(/\.[cm]?tsx?$/.test(path) ? [path] : []),
    ...[".ts", ".tsx", ".mts", ".cts"].map((extension) => stem + extension),
    ...(/\.[cm]?jsx?$/.test(path) ? [path] : [`${path}.js`]),
    `${path}/index.ts`,
    `${path}/index.js`,
  ]) {
    const source = read(candidate);
    if (source) return source;
  }
  return undefined;
}
