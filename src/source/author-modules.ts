/** Imports and exports of the author's files, followed as far as a kernel uses them. */
import { ts } from "ts-morph";
import { isLibrary, type Read, resolveFile, specifier } from "./imports.js";
import { type Frame, invocation, Scope, type Walk } from "./regions.js";
import { type Abstract, exported, holder, PLAIN } from "./known-values.js";

/** Gives a function that walks a file; files that it imports are read when a name of theirs is looked up. */
export function createModules(read: Read, walk: Walk): (path: string) => void {
  const scopes = new Map<ts.SourceFile, Scope>();
  const frameOf = (file: ts.SourceFile): Frame => ({ scope: scopeOf(file), region: undefined, call: invocation() });

  function scopeOf(file: ts.SourceFile): Scope {
    let scope = scopes.get(file);
    if (scope) return scope;
    scopes.set(file, (scope = new Scope()));
    for (const statement of file.statements) declare(statement, file, scope);
    return scope;
  }

  function declare(statement: ts.Statement, file: ts.SourceFile, scope: Scope): void {
    if (ts.isImportDeclaration(statement)) return declareImport(statement, file, scope);
    if (ts.isFunctionDeclaration(statement) && statement.name) {
      scope.declareLazy(statement.name.text, () => walk.functionValue(statement, frameOf(file)));
    }
    if (!ts.isVariableStatement(statement)) return;
    for (const { name, initializer, type } of statement.declarationList.declarations) {
      if (!ts.isIdentifier(name) || !initializer) continue;
      scope.declareLazy(name.text, () => walk.annotated(type, walk.evaluate(initializer, frameOf(file))));
    }
  }

  function declareImport(statement: ts.ImportDeclaration, file: ts.SourceFile, scope: Scope): void {
    const clause = statement.importClause;
    const from = specifier(statement);
    const bindings = clause?.namedBindings;
    if (!clause || clause.isTypeOnly) return;
    const library = isLibrary(file, from);
    if (clause.name && !library) scope.declareLazy(clause.name.text, () => importOf(file, from, "default"));
    if (bindings && ts.isNamespaceImport(bindings)) {
      scope.declareLazy(bindings.name.text, () => (library ? { kind: "module" } : namespaceOf(file, from)));
    }
    for (const each of bindings && ts.isNamedImports(bindings) ? bindings.elements : []) {
      const name = (each.propertyName ?? each.name).text;
      scope.declareLazy(each.name.text, () => (library ? exported(name) : importOf(file, from, name)));
    }
  }

  function importOf(file: ts.SourceFile, from: string, name: string): Abstract {
    const target = resolveFile(file, from, read);
    return (target && exportOf(target, name, new Set())) ?? PLAIN;
  }

  function exportOf(file: ts.SourceFile, name: string, seen: Set<ts.SourceFile>): Abstract | undefined {
    if (seen.has(file)) return undefined;
    seen.add(file);
    for (const statement of file.statements) {
      if (ts.isExportAssignment(statement) && name === "default")
        return walk.evaluate(statement.expression, frameOf(file));
      if (ts.isFunctionDeclaration(statement) && name === "default" && isDefault(statement)) {
        return walk.functionValue(statement, frameOf(file));
      }
      if (!ts.isExportDeclaration(statement)) continue;
      const from = statement.moduleSpecifier && (statement.moduleSpecifier as ts.StringLiteral).text;
      const clause = statement.exportClause;
      const named =
        clause && ts.isNamedExports(clause) ? clause.elements.find((each) => each.name.text === name) : undefined;
      const original = named ? (named.propertyName ?? named.name).text : name;
      if (!from && named) return scopeOf(file).lookup(original)?.value;
      if (!from || (clause && !named)) continue;
      if (isLibrary(file, from)) return exported(original);
      const target = resolveFile(file, from, read);
      const found = target && exportOf(target, original, seen);
      if (found) return found;
    }
    return name === "default" ? undefined : scopeOf(file).lookup(name)?.value;
  }

  function namespaceOf(file: ts.SourceFile, from: string): Abstract {
    const target = resolveFile(file, from, read);
    if (!target) return PLAIN;
    const names = target.statements.flatMap((statement) => {
      if (ts.isFunctionDeclaration(statement)) return statement.name ? [statement.name.text] : [];
      if (!ts.isVariableStatement(statement)) return [];
      return statement.declarationList.declarations.flatMap(({ name }) => (ts.isIdentifier(name) ? [name.text] : []));
    });
    return holder(new Map(names.map((name) => [name, exportOf(target, name, new Set()) ?? PLAIN])));
  }

  return (path) => {
    const file = read(path);
    if (file) walk.statements(file.statements, frameOf(file));
  };
}

function isDefault(statement: ts.FunctionDeclaration): boolean {
  return statement.modifiers?.some((modifier) => modifier.kind === ts.SyntaxKind.DefaultKeyword) ?? false;
}
