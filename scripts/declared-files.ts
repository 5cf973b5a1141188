/** Files of declarations as tsc writes them, and what a name in one of them stands for. */
import { ts } from "@ts-morph/common";
import { dirname, resolve } from "node:path";

export type ReadFile = (file: string) => string;

export interface Declaration {
  readonly statement: ts.Statement;
  /** The files whose names it sees, the nearest first. */
  readonly scopes: readonly string[];
}

/** What a name stands for. */
export type Binding =
  | { readonly kind: "declared"; readonly file: string; readonly name: string }
  | { readonly kind: "module"; readonly file: string }
  | { readonly kind: "package"; readonly statement: ts.ImportDeclaration };

export interface Exported {
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
  /** Declarations by their names, with what other modules add to them. */
  readonly declared: Map<string, Declaration[]>;
  readonly publicNames: Set<string>;
  readonly imported: Map<string, Alias | ts.ImportDeclaration>;
  readonly exported: Map<string, Alias>;
  /** The files of which everything is exported. */
  readonly stars: { readonly file: string; readonly isType: boolean }[];
  /** What it adds to other packages, or to what is global. */
  readonly additions: Declaration[];
  /** All files that it names. */
  readonly named: ReadonlySet<string>;
}

export class DeclaredFiles {
  readonly #read: ReadFile;
  readonly #files = new Map<string, DeclaredFile>();

  constructor(read: ReadFile) {
    this.#read = read;
  }

  /** Reads the files that these name, however they do, and gives them all. */
  reachable(entry: string): ReadonlySet<string> {
    const found = new Set([entry]);
    for (const file of found) for (const named of this.file(file).named) found.add(named);
    return found;
  }

  file(path: string): DeclaredFile {
    const known = this.#files.get(path);
    if (known) return known;
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

  /** `declare module "…"`: of a file of ours it is more of that file's declarations. */
  #addition(path: string, file: DeclaredFile, statement: ts.ModuleDeclaration): void {
    const to = ts.isStringLiteral(statement.name) ? fileOf(path, statement.name.text) : undefined;
    if (to === undefined) file.additions.push({ statement, scopes: [path] });
    else
      for (const inner of (statement.body as ts.ModuleBlock).statements)
        for (const name of namesOf(inner)) declare(this.file(to), name, { statement: inner, scopes: [to, path] });
  }

  /** What a declaration means by a name; undefined if the name is global. */
  inScope(scopes: readonly string[], name: string): Binding | undefined {
    for (const path of scopes) {
      const file = this.file(path);
      if (file.declared.has(name)) return { kind: "declared", file: path, name };
      const from = file.imported.get(name);
      if (from) return "kind" in from ? { kind: "package", statement: from } : this.#of(path, from);
    }
    return undefined;
  }

  /** What a file exports under a name. */
  export(path: string, name: string): Binding | undefined {
    return this.exports(path).get(name)?.binding;
  }

  /** All that a file exports. */
  exports(path: string): ReadonlyMap<string, Exported> {
    const { publicNames, exported, stars } = this.file(path);
    const found = new Map<string, Exported>();
    for (const name of publicNames) found.set(name, { binding: { kind: "declared", file: path, name }, isType: false });
    for (const [name, alias] of exported) {
      const binding = this.#of(path, alias);
      if (binding) found.set(name, { binding, isType: alias.isType });
    }
    const own = new Set(found.keys());
    for (const star of stars)
      for (const [name, { binding, isType }] of this.exports(star.file))
        if (!own.has(name) && found.get(name)?.isType !== false)
          found.set(name, { binding, isType: isType || star.isType });
    return found;
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
  const from = fileOf(path, (moduleSpecifier as ts.StringLiteral).text);
  const bind = (local: ts.Identifier, name: string): void =>
    void file.imported.set(local.text, from === undefined ? statement : { file: from, name, isType: false });
  if (importClause?.name) bind(importClause.name, "default");
  const bindings = importClause?.namedBindings;
  if (bindings && ts.isNamespaceImport(bindings)) bind(bindings.name, "*");
  else for (const { name, propertyName } of bindings?.elements ?? []) bind(name, (propertyName ?? name).text);
}

function readExport(path: string, file: DeclaredFile, statement: ts.ExportDeclaration): void {
  const { exportClause, moduleSpecifier, isTypeOnly } = statement;
  const from = moduleSpecifier && fileOf(path, (moduleSpecifier as ts.StringLiteral).text);
  if (!exportClause) file.stars.push({ file: from!, isType: isTypeOnly });
  else if (ts.isNamespaceExport(exportClause))
    file.exported.set(exportClause.name.text, { file: from, name: "*", isType: isTypeOnly });
  else
    for (const { name, propertyName, isTypeOnly: isType } of exportClause.elements)
      file.exported.set(name.text, { file: from, name: (propertyName ?? name).text, isType: isType || isTypeOnly });
}

/** The file of ours that a specifier names. */
export const fileOf = (from: string, module: string): string | undefined =>
  module.startsWith(".") ? resolve(dirname(from), module.replace(/\.js$/, ".d.ts")) : undefined;

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
