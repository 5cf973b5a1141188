/** Resolves imports and exports of the author's files lazily, from the names that a kernel uses. */
import { ts } from "./typescript.js";
import { type AbstractValue, libraryExport, holder, PLAIN, Scope } from "./abstract-values.js";
import { type Frame, invocation, type Walk } from "./walk.js";
import { isTileScript } from "../diagnostics/callsite.js";

// Imports of a file: those from TileScript, the types that they declare, and the files that relative ones resolve to.
// Paths are absolute, with forward slashes, on disk or on a web page.

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

function specifierOf(statement: ts.ImportDeclaration): string {
  return (statement.moduleSpecifier as ts.StringLiteral).text;
}

/** True for an import from TileScript: by name, or by path within this package. */
function isLibrary(file: ts.SourceFile, moduleSpecifier: string): boolean {
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

/** Walks files. An imported file is read at the first lookup of one of its names. */
export class AuthorModules {
  private readonly scopes = new Map<ts.SourceFile, Scope>();

  constructor(
    private readonly files: Files,
    private readonly walk: Walk,
  ) {}

  walkFile(path: string): void {
    const file = this.files.read(path);
    if (file) this.walk.walkStatements(file.statements, this.frameOf(file));
  }

  private frameOf(file: ts.SourceFile): Frame {
    return { scope: this.scopeOf(file), region: undefined, call: invocation() };
  }

  private scopeOf(file: ts.SourceFile): Scope {
    let scope = this.scopes.get(file);
    if (scope) return scope;
    this.scopes.set(file, (scope = new Scope()));
    for (const statement of file.statements) this.declare(statement, file, scope);
    return scope;
  }

  private declare(statement: ts.Statement, file: ts.SourceFile, scope: Scope): void {
    const { walk } = this;
    if (ts.isImportDeclaration(statement)) return this.declareImport(statement, file, scope);
    if (ts.isFunctionDeclaration(statement) && statement.name) {
      scope.declareLazy(statement.name.text, () => walk.functionValue(statement, this.frameOf(file)));
    }
    if (!ts.isVariableStatement(statement)) return;
    for (const { name, initializer, type } of statement.declarationList.declarations) {
      if (!ts.isIdentifier(name) || !initializer) continue;
      scope.declareLazy(name.text, () => walk.applyAnnotation(type, walk.evaluate(initializer, this.frameOf(file))));
    }
  }

  private declareImport(statement: ts.ImportDeclaration, file: ts.SourceFile, scope: Scope): void {
    const clause = statement.importClause;
    const moduleSpecifier = specifierOf(statement);
    const bindings = clause?.namedBindings;
    if (!clause || clause.isTypeOnly) return;
    const library = isLibrary(file, moduleSpecifier);
    if (clause.name && !library)
      scope.declareLazy(clause.name.text, () => this.importOf(file, moduleSpecifier, "default"));
    if (bindings && ts.isNamespaceImport(bindings)) {
      scope.declareLazy(bindings.name.text, () =>
        library ? { kind: "module" } : this.namespaceOf(file, moduleSpecifier),
      );
    }
    for (const element of bindings && ts.isNamedImports(bindings) ? bindings.elements : []) {
      const name = (element.propertyName ?? element.name).text;
      scope.declareLazy(element.name.text, () =>
        library ? libraryExport(name) : this.importOf(file, moduleSpecifier, name),
      );
    }
  }

  private importOf(file: ts.SourceFile, moduleSpecifier: string, name: string): AbstractValue {
    const target = this.files.moduleFile(file, moduleSpecifier);
    const load = (): AbstractValue | undefined => target && this.exportOf(target.file, name, new Set());
    return target && !target.isForeign ? (load() ?? PLAIN) : { kind: "imported", name, from: moduleSpecifier, load };
  }

  private exportOf(file: ts.SourceFile, name: string, visited: Set<ts.SourceFile>): AbstractValue | undefined {
    if (visited.has(file)) return undefined;
    visited.add(file);
    for (const statement of file.statements) {
      const value = this.exportIn(statement, file, name, visited);
      if (value) return value;
    }
    return name === "default" ? undefined : this.scopeOf(file).lookup(name)?.value;
  }

  /** The value that `export default …` or `export … from "…"` exports under this name. */
  private exportIn(
    statement: ts.Statement,
    file: ts.SourceFile,
    name: string,
    visited: Set<ts.SourceFile>,
  ): AbstractValue | undefined {
    if (ts.isExportAssignment(statement) && name === "default")
      return this.walk.evaluate(statement.expression, this.frameOf(file));
    if (ts.isFunctionDeclaration(statement) && name === "default" && isDefault(statement))
      return this.walk.functionValue(statement, this.frameOf(file));
    return ts.isExportDeclaration(statement) ? this.reexportIn(statement, file, name, visited) : undefined;
  }

  private reexportIn(
    statement: ts.ExportDeclaration,
    file: ts.SourceFile,
    name: string,
    visited: Set<ts.SourceFile>,
  ): AbstractValue | undefined {
    const moduleSpecifier = statement.moduleSpecifier && (statement.moduleSpecifier as ts.StringLiteral).text;
    const clause = statement.exportClause;
    const exportSpecifier =
      clause && ts.isNamedExports(clause) ? clause.elements.find((each) => each.name.text === name) : undefined;
    const original = exportSpecifier ? (exportSpecifier.propertyName ?? exportSpecifier.name).text : name;
    if (!moduleSpecifier) return exportSpecifier && (this.scopeOf(file).lookup(original)?.value ?? PLAIN);
    if (clause && !exportSpecifier) return undefined;
    if (isLibrary(file, moduleSpecifier)) return libraryExport(original);
    const target = this.files.moduleFile(file, moduleSpecifier)?.file;
    return target && this.exportOf(target, original, visited);
  }

  private namespaceOf(file: ts.SourceFile, moduleSpecifier: string): AbstractValue {
    const target = this.files.moduleFile(file, moduleSpecifier);
    const load = (): AbstractValue | undefined => target && this.exportsOf(target.file);
    return target && !target.isForeign
      ? this.exportsOf(target.file)
      : { kind: "imported", name: "*", from: moduleSpecifier, load };
  }

  private exportsOf(target: ts.SourceFile): AbstractValue {
    const names = target.statements.flatMap((statement) => {
      if (ts.isFunctionDeclaration(statement)) return statement.name ? [statement.name.text] : [];
      if (!ts.isVariableStatement(statement)) return [];
      return statement.declarationList.declarations.flatMap(({ name }) => (ts.isIdentifier(name) ? [name.text] : []));
    });
    return holder(new Map(names.map((name) => [name, this.exportOf(target, name, new Set()) ?? PLAIN])));
  }
}

function isDefault(statement: ts.FunctionDeclaration): boolean {
  return statement.modifiers?.some((modifier) => modifier.kind === ts.SyntaxKind.DefaultKeyword) ?? false;
}
