/** Resolves imports and exports of the author's files lazily, from the names that a kernel uses. */
import { ts } from "./typescript.js";
import { type Files, isLibrary, specifierOf } from "./imports.js";
import { type AbstractValue, libraryExport, holder, PLAIN, Scope } from "./abstract-values.js";
import { type Frame, invocation, type Walk } from "./walk.js";

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
