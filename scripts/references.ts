/** The names in a declaration that it does not bind itself. */
import { ts } from "@ts-morph/common";

export interface Reference {
  readonly start: number;
  readonly end: number;
  readonly name: string;
  /** The module of `import("…").name`. */
  readonly module?: string;
}

export function referencesIn(statement: ts.Statement): readonly Reference[] {
  const found: Reference[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isImportTypeNode(node)) found.push(ofImportType(node));
    else if (ts.isIdentifier(node) && isReference(node) && !isBound(node, statement))
      found.push({ start: node.getStart(), end: node.end, name: node.text });
    // The module and the names of an import type are no names of the file.
    if (ts.isImportTypeNode(node)) node.typeArguments?.forEach(visit);
    else ts.forEachChild(node, visit);
  };
  visit(statement);
  return found;
}

function ofImportType(node: ts.ImportTypeNode): Reference {
  let first = node.qualifier;
  while (first && ts.isQualifiedName(first)) first = first.left;
  const { literal } = node.argument as ts.LiteralTypeNode;
  if (!first) throw new Error(`${node.getText()} is a whole module; name a type of it`);
  const start = node.isTypeOf ? node.getText().indexOf("import(") : 0;
  const module = (literal as ts.StringLiteral).text;
  return { start: node.getStart() + start, end: first.end, name: first.text, module };
}

/** Whether an identifier is a name of the file's, not that of a member or of what the declaration itself binds. */
function isReference(node: ts.Identifier): boolean {
  const { parent } = node;
  if (ts.isQualifiedName(parent)) return parent.left === node;
  if (ts.isPropertyAccessExpression(parent)) return parent.expression === node;
  if (ts.isTypePredicateNode(parent)) return parent.parameterName !== node;
  const isNamed = (parent as { readonly name?: ts.Node }).name === node;
  return !isNamed || isDeclaredByStatement(parent);
}

/** A declaration of the file's own names. */
const isDeclaredByStatement = (node: ts.Node): boolean =>
  ts.isInterfaceDeclaration(node) ||
  ts.isTypeAliasDeclaration(node) ||
  ts.isClassDeclaration(node) ||
  ts.isFunctionDeclaration(node) ||
  ts.isVariableDeclaration(node);

/** Whether a parameter, of types or of a call, has the name. */
function isBound(node: ts.Identifier, statement: ts.Statement): boolean {
  for (let at: ts.Node = node; at !== statement; at = at.parent) if (binds(at.parent, at, node.text)) return true;
  return false;
}

function binds(node: ts.Node, child: ts.Node, name: string): boolean {
  const { typeParameters = [], parameters = [] } = node as Partial<ts.SignatureDeclaration>;
  if ([...typeParameters, ...parameters].some((each) => each.name?.getText() === name)) return true;
  if (ts.isMappedTypeNode(node)) return node.typeParameter.name.text === name;
  return ts.isConditionalTypeNode(node) && child === node.trueType && infers(node.extendsType, name);
}

/** Whether `infer name` stands in a type; in another conditional type's condition it is that one's. */
function infers(node: ts.Node, name: string): boolean {
  if (ts.isInferTypeNode(node)) return node.typeParameter.name.text === name;
  return ts.forEachChild(node, (child) => infers(child, name) || undefined) ?? false;
}
