/** Imports and exports of the author's files, followed as far as a kernel uses them. */
import { ts } from "./typescript.js";
import { type Files, isLibrary, specifier } from "./imports.js";
import { type Frame, invocation, Scope, type Walk } from "./regions.js";
import { type AbstractValue, exported, holder, PLAIN } from "./abstract-values.js";

/** Walks files. An imported file is read when one of its names is looked up. */
export class AuthorModules {
  private readonly scopes = new Map<ts.SourceFile, Scope>();

  constructor(
    private readonly files: Files,
    private readonly walk: Walk,
  ) {}

  walkFile(path: string): void {
    const file = this.files.read(path);
    if (file) this.walk.statements(file.statements, this.frameOf(file));
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
      scope.declareLazy(name.text, () => walk.annotated(type, walk.evaluate(initializer, this.frameOf(file))));
    }
  }

  private declareImport(statement: ts.ImportDeclaration, file: ts.SourceFile, scope: Scope): void {
    const clause = statement.importClause;
    const from = specifier(statement);
    const bindings = clause?.namedBindings;
    if (!clause || clause.isTypeOnly) return;
    const library = isLibrary(file, from);
    if (clause.name && !library) scope.declareLazy(clause.name.text, () => this.importOf(file, from, "default"));
    if (bindings && ts.isNamespaceImport(bindings)) {
      scope.declareLazy(bindings.name.text, () => (library ? { kind: "module" } : this.namespaceOf(file, from)));
    }
    for (const each of bindings && ts.isNamedImports(bindings) ? bindings.elements : []) {
      const name = (each.propertyName ?? each.name).text;
      scope.declareLazy(each.name.text, () => (library ? exported(name) : this.importOf(file, from, name)));
    }
  }

  private importOf(file: ts.SourceFile, from: string, name: string): AbstractValue {
    const target = this.files.moduleFile(file, from);
    const load = (): AbstractValue | undefined => target && this.exportOf(target.file, name, new Set());
    return target && !target.isForeign ? (load() ?? PLAIN) : { kind: "imported", name, from, load };
  }

  private exportOf(file: ts.SourceFile, name: string, seen: Set<ts.SourceFile>): AbstractValue | undefined {
    if (seen.has(file)) return undefined;
    seen.add(file);
    for (const statement of file.statements) {
      const found = this.exportIn(statement, file, name, seen);
      if (found) return found;
    }
    return name === "default" ? undefined : this.scopeOf(file).lookup(name)?.value;
  }

  /** What `export default …` or `export … from "…"` exports by this name. */
  private exportIn(
    statement: ts.Statement,
    file: ts.SourceFile,
    name: string,
    seen: Set<ts.SourceFile>,
  ): AbstractValue | undefined {
    if (ts.isExportAssignment(statement) && name === "default")
      return this.walk.evaluate(statement.expression, this.frameOf(file));
    if (ts.isFunctionDeclaration(statement) && name === "default" && isDefault(statement))
      return this.walk.functionValue(statement, this.frameOf(file));
    if (!ts.isExportDeclaration(statement)) return undefined;
    const from = statement.moduleSpecifier && (statement.moduleSpecifier as ts.StringLiteral).text;
    const clause = statement.exportClause;
    const named =
      clause && ts.isNamedExports(clause) ? clause.elements.find((each) => each.name.text === name) : undefined;
    const original = named ? (named.propertyName ?? named.name).text : name;
    if (!from) return named && (this.scopeOf(file).lookup(original)?.value ?? PLAIN);
    if (clause && !named) return undefined;
    if (isLibrary(file, from)) return exported(original);
    const target = this.files.moduleFile(file, from)?.file;
    return target && this.exportOf(target, original, seen);
  }

  private namespaceOf(file: ts.SourceFile, from: string): AbstractValue {
    const found = this.files.moduleFile(file, from);
    const load = (): AbstractValue | undefined => found && this.exportsOf(found.file);
    return found && !found.isForeign ? this.exportsOf(found.file) : { kind: "imported", name: "*", from, load };
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
