/** Imports: which are from TileScript, which types they bring, and which file a relative one names. */
import { ts } from "./typescript.js";
import { isTileScript } from "../diagnostics/callsite.js";
import { pathBeside } from "./paths.js";

export type Read = (path: string) => ts.SourceFile | undefined;

export interface ModuleFile {
  readonly file: ts.SourceFile;
  /** Whether it is from a package that has nothing to do with TileScript: it is read only if it gets traced values. */
  readonly isForeign: boolean;
}

/** The author's files, parsed. */
export interface Files {
  readonly read: Read;
  /** The file with the source of an import; undefined if there is none to read. */
  moduleFile(from: ts.SourceFile, specifier: string): ModuleFile | undefined;
}

/** A file's imported and declared types. */
export interface Types {
  /** Local name to the name in TileScript. */
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
    if (!ts.isImportDeclaration(statement) || !isLibrary(file, specifier(statement))) continue;
    const bindings = statement.importClause?.namedBindings;
    if (!bindings) continue;
    if (ts.isNamespaceImport(bindings)) namespaces.add(bindings.name.text);
    else for (const each of bindings.elements) imported.set(each.name.text, (each.propertyName ?? each.name).text);
  }
  return { imported, namespaces, local };
}

export function specifier(statement: ts.ImportDeclaration): string {
  return (statement.moduleSpecifier as ts.StringLiteral).text;
}

/** Whether an import is from TileScript: by name, or by path within this package. */
export function isLibrary(file: ts.SourceFile, from: string): boolean {
  if (from.startsWith(".")) return isTileScript(pathBeside(file.fileName, from));
  return from === "tilescript" || from.startsWith("tilescript/");
}

export function resolveFile(file: ts.SourceFile, from: string, read: Read): ts.SourceFile | undefined {
  if (!from.startsWith(".")) return undefined;
  const path = pathBeside(file.fileName, from);
  const stem = path.replace(/\.([cm]?)js(x?)$/, "");
  for (const candidate of [
    ...(/\.[cm]?tsx?$/.test(path) ? [path] : []),
    ...[".ts", ".tsx", ".mts", ".cts"].map((extension) => stem + extension),
    ...(/\.[cm]?jsx?$/.test(path) ? [path] : [`${path}.js`]),
    `${path}/index.ts`,
    `${path}/index.js`,
  ]) {
    const found = read(candidate);
    if (found) return found;
  }
  return undefined;
}
