/** References in a declaration: names that it does not bind itself. */
import { ts } from "@ts-morph/common";

export interface Reference {
  readonly start: number;
  readonly end: number;
  readonly name: string;
  /** The module of `import("…").name`. */
  readonly module?: string;
}

export function referencesIn(statement: ts.Statement): readonly Reference[] {
  const references: Reference[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isImportTypeNode(node)) references.push(importTypeReference(node));
    else if (ts.isIdentifier(node) && isReference(node) && !isBound(node, statement))
      references.push({ start: node.getStart(), end: node.end, name: node.text });
    // The module and the names of an import type are not names of the file.
    if (ts.isImportTypeNode(node)) node.typeArguments?.forEach(visit);
    else ts.forEachChild(node, visit);
  };
  visit(statement);
  return references;
}

function importTypeReference(node: ts.ImportTypeNode): Reference {
  let leftmost = node.qualifier;
  while (leftmost && ts.isQualifiedName(leftmost)) leftmost = leftmost.left;
  const { literal } = node.argument as ts.LiteralTypeNode;
  if (!leftmost) throw new Error(`${node.getText()} is a whole module; name a type of it`);
  const start = node.isTypeOf ? node.getText().indexOf("import(") : 0;
  const module = (literal as ts.StringLiteral).text;
  return { start: node.getStart() + start, end: leftmost.end, name: leftmost.text, module };
}

/** True if an identifier is a name of the file, not of a member or of a local binding of the declaration. */
function isReference(node: ts.Identifier): boolean {
  const { parent } = node;
  if (ts.isQualifiedName(parent)) return parent.left === node;
  if (ts.isPropertyAccessExpression(parent)) return parent.expression === node;
  if (ts.isTypePredicateNode(parent)) return parent.parameterName !== node;
  const isNamed = (parent as { readonly name?: ts.Node }).name === node;
  return !isNamed || isDeclaredByStatement(parent);
}

/** True for a declaration of a name of the file. */
const isDeclaredByStatement = (node: ts.Node): boolean =>
  ts.isInterfaceDeclaration(node) ||
  ts.isTypeAliasDeclaration(node) ||
  ts.isClassDeclaration(node) ||
  ts.isFunctionDeclaration(node) ||
  ts.isVariableDeclaration(node);

/** True if a type parameter or a parameter has the name. */
function isBound(node: ts.Identifier, statement: ts.Statement): boolean {
  for (let current: ts.Node = node; current !== statement; current = current.parent)
    if (binds(current.parent, current, node.text)) return true;
  return false;
}

function binds(node: ts.Node, child: ts.Node, name: string): boolean {
  const { typeParameters = [], parameters = [] } = node as Partial<ts.SignatureDeclaration>;
  if ([...typeParameters, ...parameters].some((each) => each.name?.getText() === name)) return true;
  if (ts.isMappedTypeNode(node)) return node.typeParameter.name.text === name;
  return ts.isConditionalTypeNode(node) && child === node.trueType && infers(node.extendsType, name);
}

/** True if a type contains `infer name`. In the condition of another conditional type, it belongs to that one. */
function infers(node: ts.Node, name: string): boolean {
  if (ts.isInferTypeNode(node)) return node.typeParameter.name.text === name;
  return ts.forEachChild(node, (child) => infers(child, name) || undefined) ?? false;
}
