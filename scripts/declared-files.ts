/** Declaration files as tsc writes them, and the bindings of names in them. */
import { ts } from "@ts-morph/common";
import { dirname, resolve } from "node:path";

export type ReadFile = (file: string) => string;

export interface Declaration {
  readonly statement: ts.Statement;
  /** The files whose names are in scope, the nearest first. */
  readonly scopes: readonly string[];
}

/** The binding of a name. */
export type Binding =
  | { readonly kind: "declared"; readonly file: string; readonly name: string }
  | { readonly kind: "module"; readonly file: string }
  | { readonly kind: "package"; readonly statement: ts.ImportDeclaration };

export interface ExportedBinding {
  readonly binding: Binding;
  readonly isType: boolean;
}

/** An imported or exported name: of another file, or of the file itself. */
interface Alias {
  readonly file: string | undefined;
  /** `*` is the whole module. */
  readonly name: string;
  readonly isType: boolean;
}

export interface DeclaredFile {
  /** Declarations by name, including those that other modules add to them. */
  readonly declared: Map<string, Declaration[]>;
  readonly publicNames: Set<string>;
  readonly imported: Map<string, Alias | ts.ImportDeclaration>;
  readonly exported: Map<string, Alias>;
  /** The files that are exported as a whole. */
  readonly stars: { readonly file: string; readonly isType: boolean }[];
  /** Its additions to other packages, or to the global scope. */
  readonly additions: Declaration[];
  /** All files that it imports. */
  readonly named: ReadonlySet<string>;
}

export class DeclaredFiles {
  readonly #read: ReadFile;
  readonly #files = new Map<string, DeclaredFile>();

  constructor(read: ReadFile) {
    this.#read = read;
  }

  /** Reads the transitive imports of a file, and returns them all. */
  reachable(entry: string): ReadonlySet<string> {
    const reachableFiles = new Set([entry]);
    for (const file of reachableFiles) for (const path of this.file(file).named) reachableFiles.add(path);
    return reachableFiles;
  }

  file(path: string): DeclaredFile {
    const cached = this.#files.get(path);
    if (cached) return cached;
    const { statements } = ts.createSourceFile(path, this.#read(path), ts.ScriptTarget.Latest, true);
    const file: DeclaredFile = {
      declared: new Map(),
      publicNames: new Set(),
      imported: new Map(),
      exported: new Map(),
      stars: [],
      additions: [],
      named: new Set(statements.flatMap((statement) => filesIn(path, statement))),
    };
    this.#files.set(path, file);
    for (const statement of statements) this.#statement(path, file, statement);
    return file;
  }

  #statement(path: string, file: DeclaredFile, statement: ts.Statement): void {
    if (ts.isImportDeclaration(statement)) readImport(path, file, statement);
    else if (ts.isExportDeclaration(statement)) readExport(path, file, statement);
    else if (isAddition(statement)) this.#addition(path, file, statement);
    else
      for (const name of namesOf(statement)) {
        declare(file, name, { statement, scopes: [path] });
        if (isExported(statement)) file.publicNames.add(name);
      }
  }

  /** `declare module "…"`: for one of our files, it extends the declarations of that file. */
  #addition(path: string, file: DeclaredFile, statement: ts.ModuleDeclaration): void {
    const target = ts.isStringLiteral(statement.name) ? fileOf(path, statement.name.text) : undefined;
    if (target === undefined) file.additions.push({ statement, scopes: [path] });
    else
      for (const inner of (statement.body as ts.ModuleBlock).statements)
        for (const name of namesOf(inner))
          declare(this.file(target), name, { statement: inner, scopes: [target, path] });
  }

  /** Resolves a name in scope; undefined if the name is global. */
  inScope(scopes: readonly string[], name: string): Binding | undefined {
    for (const path of scopes) {
      const file = this.file(path);
      if (file.declared.has(name)) return { kind: "declared", file: path, name };
      const alias = file.imported.get(name);
      if (alias) return "kind" in alias ? { kind: "package", statement: alias } : this.#of(path, alias);
    }
    return undefined;
  }

  /** The export of a file under a name. */
  export(path: string, name: string): Binding | undefined {
    return this.exports(path).get(name)?.binding;
  }

  /** All exports of a file. */
  exports(path: string): ReadonlyMap<string, ExportedBinding> {
    const { publicNames, exported: aliases, stars } = this.file(path);
    const exports = new Map<string, ExportedBinding>();
    for (const name of publicNames)
      exports.set(name, { binding: { kind: "declared", file: path, name }, isType: false });
    for (const [name, alias] of aliases) {
      const binding = this.#of(path, alias);
      if (binding) exports.set(name, { binding, isType: alias.isType });
    }
    const ownNames = new Set(exports.keys());
    for (const star of stars)
      for (const [name, { binding, isType }] of this.exports(star.file))
        if (!ownNames.has(name) && exports.get(name)?.isType !== false)
          exports.set(name, { binding, isType: isType || star.isType });
    return exports;
  }

  #of(path: string, { file, name }: Alias): Binding | undefined {
    if (file === undefined) return this.inScope([path], name);
    return name === "*" ? { kind: "module", file } : this.export(file, name);
  }
}

function declare(file: DeclaredFile, name: string, declaration: Declaration): void {
  file.declared.set(name, [...(file.declared.get(name) ?? []), declaration]);
}

function readImport(path: string, file: DeclaredFile, statement: ts.ImportDeclaration): void {
  const { importClause, moduleSpecifier } = statement;
  const importedFile = fileOf(path, (moduleSpecifier as ts.StringLiteral).text);
  const bind = (local: ts.Identifier, name: string): void =>
    void file.imported.set(
      local.text,
      importedFile === undefined ? statement : { file: importedFile, name, isType: false },
    );
  if (importClause?.name) bind(importClause.name, "default");
  const bindings = importClause?.namedBindings;
  if (bindings && ts.isNamespaceImport(bindings)) bind(bindings.name, "*");
  else for (const { name, propertyName } of bindings?.elements ?? []) bind(name, (propertyName ?? name).text);
}

function readExport(path: string, file: DeclaredFile, statement: ts.ExportDeclaration): void {
  const { exportClause, moduleSpecifier, isTypeOnly } = statement;
  const exportedFile = moduleSpecifier && fileOf(path, (moduleSpecifier as ts.StringLiteral).text);
  if (!exportClause) file.stars.push({ file: exportedFile!, isType: isTypeOnly });
  else if (ts.isNamespaceExport(exportClause))
    file.exported.set(exportClause.name.text, { file: exportedFile, name: "*", isType: isTypeOnly });
  else
    for (const { name, propertyName, isTypeOnly: isType } of exportClause.elements)
      file.exported.set(name.text, {
        file: exportedFile,
        name: (propertyName ?? name).text,
        isType: isType || isTypeOnly,
      });
}

/** The file in this package that a specifier names. */
export const fileOf = (fromFile: string, module: string): string | undefined =>
  module.startsWith(".") ? resolve(dirname(fromFile), module.replace(/\.js$/, ".d.ts")) : undefined;

const filesIn = (path: string, statement: ts.Statement): readonly string[] =>
  Array.from(statement.getText().matchAll(/(?:from|import\(|import)\s*"(\.[^"]+)"/g), ([, module]) =>
    fileOf(path, module!)!,
  );

const isExported = (statement: ts.Statement): boolean =>
  ts.canHaveModifiers(statement) &&
  (ts.getModifiers(statement) ?? []).some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);

/** `declare module "…"` and `declare global`. */
const isAddition = (statement: ts.Statement): statement is ts.ModuleDeclaration =>
  ts.isModuleDeclaration(statement) && (ts.isStringLiteral(statement.name) || statement.name.text === "global");

export function namesOf(statement: ts.Statement): readonly string[] {
  if (ts.isVariableStatement(statement))
    return statement.declarationList.declarations.map(({ name }) => name.getText());
  const { name } = statement as { readonly name?: ts.Node };
  return name && ts.isIdentifier(name) ? [name.text] : [];
}
