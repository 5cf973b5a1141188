/**
 * Maps a position in a stack trace to its call, and the call to the variable that it is bound to and the comments of
 * its statement.
 *
 * V8 reports a method call, getter or setter at its name, and a plain call or `new` at its start. Source maps preserve
 * these positions with two exceptions. `f(x).T` may be reported at the closing bracket or the dot before `T`, because
 * esbuild has no mapping for the name. `x["f"](y)` may be reported at the bracket. A generator that `for … of` resumes
 * is reported at the loop variable.
 */
import { ts } from "./typescript.js";
import type { Location } from "../diagnostics/diagnostic.js";
import type { Site } from "../ir/source-index.js";

/** The calls and property accesses of a file, by the offset at which V8 reports them. */
export interface SiteIndex {
  readonly file: ts.SourceFile;
  readonly anchors: ReadonlyMap<number, ts.Node>;
  /** A cache of lookups, because an op is traced once per config. */
  readonly cache: Map<string, SiteMatch | undefined>;
}

interface SiteMatch {
  readonly site: Site;
  readonly node: ts.Node;
}

export function siteIndex(file: ts.SourceFile): SiteIndex {
  const anchors = new Map<number, ts.Node>();
  const visit = (node: ts.Node): void => {
    for (const offset of anchorsOf(node, file)) anchors.set(offset, anchorTarget(node));
    ts.forEachChild(node, visit);
  };
  visit(file);
  return { file, anchors, cache: new Map() };
}

/** The site at a position and its node. */
export function findSite(index: SiteIndex, location: Location): SiteMatch | undefined {
  const { file, cache } = index;
  const start = file.getLineStarts()[location.line - 1];
  if (start === undefined || location.column < 1 || start + location.column - 1 > file.text.length) return undefined;
  const offset = start + location.column - 1;
  const key = `${offset} ${location.property ?? ""}`;
  if (!cache.has(key)) cache.set(key, createSite(file, propertyNode(nodeAt(index, offset), location.property)));
  return cache.get(key);
}

function createSite(file: ts.SourceFile, node: ts.Node | undefined): SiteMatch | undefined {
  if (!node) return undefined;
  const statement = statementOf(node);
  const { comments, start } = commentsOf(statement, file);
  const textAbove = file.text.slice(0, start);
  const hasBlankLineAbove = textAbove.slice(textAbove.trimEnd().length).split("\n").length > 2;
  const site: Site = {
    ...bindingOf(node),
    ...parametersOf(node),
    comments,
    ...(hasBlankLineAbove && { hasBlankLineAbove }),
    statement: locate(file, statement.getStart(file)),
  };
  return { node, site };
}

/** Converts an offset to a location. */
export function locate(file: ts.SourceFile, offset: number): Location {
  const { line, character } = file.getLineAndCharacterOfPosition(offset);
  return { file: file.fileName, line: line + 1, column: character + 1 };
}

/** Removes syntax that affects only the type: parentheses, `as`, `!`, `satisfies`. */
export function unwrap(node: ts.Expression): ts.Expression {
  return isWrapper(node) ? unwrap(node.expression) : node;
}

function isWrapper(
  node: ts.Node,
): node is
  ts.ParenthesizedExpression | ts.AsExpression | ts.NonNullExpression | ts.SatisfiesExpression | ts.TypeAssertion {
  return (
    ts.isParenthesizedExpression(node) ||
    ts.isAsExpression(node) ||
    ts.isNonNullExpression(node) ||
    ts.isSatisfiesExpression(node) ||
    ts.isTypeAssertionExpression(node)
  );
}

function anchorsOf(node: ts.Node, file: ts.SourceFile): readonly number[] {
  if (ts.isCallExpression(node)) {
    const callee = unwrap(node.expression);
    if (ts.isPropertyAccessExpression(callee)) return [callee.name.getStart(file)];
    // `x["f"](y)`: at the closing bracket or the opening parenthesis.
    if (ts.isElementAccessExpression(callee)) return [callee.getEnd() - 1, callee.getEnd()];
    return [callee.getStart(file)];
  }
  if (ts.isTaggedTemplateExpression(node)) {
    const tag = unwrap(node.tag);
    const name = ts.isPropertyAccessExpression(tag) ? tag.name : tag;
    return [name.getStart(file), node.template.getStart(file)];
  }
  if (ts.isNewExpression(node)) return [node.getStart(file)];
  if (ts.isPropertyAccessExpression(node)) return isCallee(node) ? [] : [node.name.getStart(file)];
  // A destructured getter: at its binding, `{ T: transposed }`.
  if (ts.isBindingElement(node) && ts.isObjectBindingPattern(node.parent))
    return [node.getStart(file), node.name.getStart(file)];
  if (ts.isForOfStatement(node) && ts.isVariableDeclarationList(node.initializer)) {
    return node.initializer.declarations.map((declaration) => declaration.name.getStart(file));
  }
  return [];
}

function anchorTarget(node: ts.Node): ts.Node {
  return ts.isForOfStatement(node) ? unwrap(node.expression) : node;
}

function isCallee(node: ts.Expression): boolean {
  const { parent } = node;
  if (isWrapper(parent)) return isCallee(parent);
  return (
    (ts.isCallExpression(parent) && parent.expression === node) ||
    (ts.isTaggedTemplateExpression(parent) && parent.tag === node)
  );
}

/** The text that may separate the reported position from a property's name. */
const BEFORE_NAME = /(?:[\s)\]}!]|\/\/[^\n]*|\/\*[^]*?\*\/)*\??\.(?:\s|\/\/[^\n]*|\/\*[^]*?\*\/)*/y;

function nodeAt({ file, anchors }: SiteIndex, offset: number): ts.Node | undefined {
  const exact = anchors.get(offset);
  if (exact) return exact;
  BEFORE_NAME.lastIndex = offset;
  if (BEFORE_NAME.test(file.text)) {
    const anchor = anchors.get(BEFORE_NAME.lastIndex);
    if (anchor) return anchor;
  }
  return innermostCall(file, offset);
}

/**
 * The node that reads this property of a call's result, `f(x).row` or `{ row } = f(x)`, if V8 reported the call
 * instead, or of an argument, `f(x.row)`, if Firefox did. Otherwise the node itself.
 */
function propertyNode(node: ts.Node | undefined, property: string | undefined): ts.Node | undefined {
  if (property === undefined) return node;
  for (let ancestor = node; ancestor; ancestor = ancestor.parent) {
    if (ts.isPropertyAccessExpression(ancestor) && ancestor.name.text === property) return ancestor;
    const { parent } = ancestor;
    if (ts.isVariableDeclaration(parent) && parent.initializer === ancestor && ts.isObjectBindingPattern(parent.name))
      return parent.name.elements.find(({ name, propertyName = name }) => propertyName.getText() === property) ?? node;
    const isChained = isWrapper(parent) || ts.isPropertyAccessExpression(parent) || ts.isCallExpression(parent);
    if (!isChained || parent.expression !== ancestor) break;
  }
  return node && (propertyRead(node, property) ?? node);
}

/** The first read of this property in an expression, except in functions. */
function propertyRead(node: ts.Node, property: string): ts.Node | undefined {
  if (ts.isPropertyAccessExpression(node) && node.name.text === property && !isCallee(node)) return node;
  return ts.isFunctionLike(node) ? undefined : ts.forEachChild(node, (child) => propertyRead(child, property));
}

function innermostCall(file: ts.SourceFile, offset: number): ts.Node | undefined {
  let call: ts.Node | undefined;
  const visit = (node: ts.Node): void => {
    if (offset < node.getStart(file) || offset >= node.getEnd()) return;
    // A function between the call and the position shows that the position belongs to another call.
    if (ts.isFunctionLike(node)) call = undefined;
    else if (ts.isCallExpression(node) || ts.isPropertyAccessExpression(node) || ts.isNewExpression(node)) call = node;
    ts.forEachChild(node, visit);
  };
  visit(file);
  return call;
}

/** The parameter names of a function argument. */
function parametersOf(node: ts.Node): Pick<Site, "parameters"> {
  const callback = ts.isCallExpression(node) ? node.arguments.map(unwrap).find(isFunctionExpression) : undefined;
  return callback ? { parameters: callback.parameters.flatMap(({ name }) => boundNames(name)) } : {};
}

function isFunctionExpression(node: ts.Node): node is ts.ArrowFunction | ts.FunctionExpression {
  return ts.isArrowFunction(node) || ts.isFunctionExpression(node);
}

function boundNames(name: ts.BindingName): readonly string[] {
  if (ts.isIdentifier(name)) return [name.text];
  return name.elements.flatMap((element) => (ts.isBindingElement(element) ? boundNames(element.name) : []));
}

/** The variables that are bound to an expression's value, through expressions that only forward it. */
function bindingOf(node: ts.Node): Pick<Site, "name" | "names"> {
  if (ts.isBindingElement(node)) return nameOf(node.name);
  const { parent } = node;
  if (!parent) return {};
  if (isForwarded(node, parent)) return bindingOf(parent);
  // `const x = tl.when(FLAG, () => f())`
  if (ts.isArrowFunction(parent)) return parent.body === node && isWhen(parent.parent) ? bindingOf(parent.parent) : {};
  return assignmentOf(node, parent);
}

/** True if an expression's value may be that of `parent`, or contain it: `const odd = tl.split(x)[1]`. */
function isForwarded(node: ts.Node, parent: ts.Node): boolean {
  if (isWrapper(parent) || ts.isAwaitExpression(parent)) return true;
  if (ts.isElementAccessExpression(parent)) return parent.expression === node;
  if (ts.isConditionalExpression(parent)) return parent.condition !== node;
  return ts.isBinaryExpression(parent) && parent.right === node && isLogical(parent.operatorToken.kind);
}

/** The variables to which `parent` assigns the node's value. */
function assignmentOf(node: ts.Node, parent: ts.Node): Pick<Site, "name" | "names"> {
  if (ts.isVariableDeclaration(parent) || ts.isParameter(parent) || ts.isPropertyDeclaration(parent))
    return parent.initializer === node ? nameOf(parent.name) : {};
  if (ts.isPropertyAssignment(parent)) return parent.initializer === node ? propertyName(parent) : {};
  if (ts.isForOfStatement(parent)) {
    const { initializer } = parent;
    const target = ts.isVariableDeclarationList(initializer) ? initializer.declarations[0]?.name : undefined;
    return parent.expression === node && target ? nameOf(target) : {};
  }
  if (ts.isArrayLiteralExpression(parent)) {
    const name = bindingOf(parent).names?.[parent.elements.findIndex((element) => element === node)];
    return name === undefined ? {} : { name };
  }
  const isAssignment = ts.isBinaryExpression(parent) && parent.operatorToken.kind === ts.SyntaxKind.EqualsToken;
  return isAssignment && parent.right === node ? assignedName(parent.left) : {};
}

/** True for `&&`, `||` and `??`. */
export function isLogical(kind: ts.SyntaxKind): boolean {
  const { AmpersandAmpersandToken, BarBarToken, QuestionQuestionToken } = ts.SyntaxKind;
  return kind === AmpersandAmpersandToken || kind === BarBarToken || kind === QuestionQuestionToken;
}

function isWhen(node: ts.Node): boolean {
  if (!ts.isCallExpression(node)) return false;
  const callee = unwrap(node.expression);
  return ts.isPropertyAccessExpression(callee) && callee.name.text === "when";
}

function nameOf(name: ts.BindingName | ts.PropertyName): Pick<Site, "name" | "names"> {
  if (ts.isIdentifier(name) || ts.isPrivateIdentifier(name)) return { name: name.text.replace(/^#/, "") };
  if (!ts.isArrayBindingPattern(name)) return {};
  return {
    names: name.elements.map((element) => (ts.isBindingElement(element) ? nameOf(element.name).name : undefined)),
  };
}

/** `{ a: f() }`: the property's name, or the variable in `const { a: b } = { a: f() }`. */
function propertyName(assignment: ts.PropertyAssignment): Pick<Site, "name" | "names"> {
  const key = nameOf(assignment.name).name;
  const declaration = assignment.parent.parent;
  // The name of an option describes the use of the value, not the value.
  if (ts.isCallExpression(declaration)) return {};
  if (!ts.isVariableDeclaration(declaration) || !ts.isObjectBindingPattern(declaration.name))
    return nameOf(assignment.name);
  const element = declaration.name.elements.find(
    (each) => nameOf((each.propertyName as ts.Identifier) ?? each.name).name === key,
  );
  return element ? nameOf(element.name) : {};
}

function assignedName(target: ts.Expression): Pick<Site, "name" | "names"> {
  const lhs = unwrap(target);
  if (ts.isIdentifier(lhs)) return { name: lhs.text };
  if (ts.isPropertyAccessExpression(lhs)) {
    return lhs.name.text === "value" ? assignedName(lhs.expression) : nameOf(lhs.name as ts.Identifier);
  }
  if (ts.isArrayLiteralExpression(lhs)) return { names: lhs.elements.map((element) => assignedName(element).name) };
  return {};
}

/**
 * The enclosing statement. In a function without braces it is the body, because the comments above belong to the
 * function.
 */
function statementOf(node: ts.Node): ts.Node {
  let statement = node;
  while (!isStatement(statement) && statement.parent && !ts.isSourceFile(statement.parent)) {
    const { parent } = statement;
    if (ts.isArrowFunction(parent) && parent.body === statement) return statement;
    statement = parent;
  }
  return ts.isLabeledStatement(statement.parent) ? statement.parent : statement;
}

function isStatement(node: ts.Node): boolean {
  const inRange = node.kind >= ts.SyntaxKind.FirstStatement && node.kind <= ts.SyntaxKind.LastStatement;
  return inRange || ts.isPropertyDeclaration(node) || ts.isFunctionDeclaration(node) || ts.isClassDeclaration(node);
}

/** The comments of a statement, and the start of the first comment above it. */
function commentsOf(statement: ts.Node, file: ts.SourceFile): { comments: readonly string[]; start: number } {
  const { text } = file;
  const leading: ts.CommentRange[] = [];
  let commentStart = statement.getStart(file);
  for (const range of [...(ts.getLeadingCommentRanges(text, statement.getFullStart()) ?? [])].reverse()) {
    // Comments above a blank line belong to the file or the section.
    if ((text.slice(range.end, commentStart).match(/\n/g)?.length ?? 0) > 1) break;
    leading.unshift(range);
    commentStart = range.pos;
  }
  const trailing = ts.getTrailingCommentRanges(text, headEnd(statement, file)) ?? [];
  const comments = [...leading, ...trailing].flatMap((range) => commentLines(text.slice(range.pos, range.end)));
  return { comments, start: commentStart };
}

/**
 * The end of the statement's head. For a loop or branch it is the opening brace, because the body has separate
 * comments.
 */
function headEnd(statement: ts.Node, file: ts.SourceFile): number {
  const inner = ts.isLabeledStatement(statement) ? statement.statement : statement;
  const body = bodyOf(inner);
  return body && ts.isBlock(body) ? body.getStart(file) + 1 : statement.getEnd();
}

function bodyOf(statement: ts.Node): ts.Statement | undefined {
  if (ts.isIfStatement(statement)) return statement.thenStatement;
  return ts.isIterationStatement(statement, false) ? statement.statement : undefined;
}

/** Comments for tools, such as linters. */
const DIRECTIVE =
  /^(?:@ts-|eslint\b|oxlint\b|prettier-ignore|biome-ignore|istanbul |c8 |v8 |#?(?:end)?region\b|\/ *<|@jsx|[#@]__|# source)/;

function commentLines(comment: string): readonly string[] {
  const body = comment.startsWith("//")
    ? [comment.slice(2)]
    : comment
        .replace(/^\/\*+/, "")
        .replace(/\*+\/$/, "")
        .split(/\r?\n/)
        .map((line) => line.replace(/^\s*\*(?!\*)/, ""));
  const lines = body.map((line) => line.trim()).filter((line) => !DIRECTIVE.test(line));
  while (lines[0] === "") lines.shift();
  while (lines.at(-1) === "") lines.pop();
  return lines;
}
