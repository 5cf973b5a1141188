/**
 * From a position of a stack trace to the call that is there, and from the call to the variable that it is bound to and
 * the comments of its statement.
 *
 * V8 reports a method call, getter or setter at its name, a plain call and `new` at the start. Source maps keep that
 * but for two cases: `f(x).T` may be reported at the closing bracket or the dot before `T` (esbuild has no mapping for
 * the name), and `x["f"](y)` at the bracket. A generator that is resumed by `for … of` is reported at the loop
 * variable.
 */
import { ts } from "./typescript.js";
import type { Location } from "../diagnostics/diagnostic.js";
import type { Site } from "../ir/source.js";

/** The calls and property accesses of a file, by the offset at which V8 reports them. */
export interface SiteIndex {
  readonly file: ts.SourceFile;
  readonly anchors: ReadonlyMap<number, ts.Node>;
  /** Earlier lookups, because an op is traced once for each config. */
  readonly answers: Map<string, Found | undefined>;
}

interface Found {
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
  return { file, anchors, answers: new Map() };
}

/** The site at a position and its node. */
export function findSite(index: SiteIndex, at: Location): Found | undefined {
  const { file, answers } = index;
  const start = file.getLineStarts()[at.line - 1];
  if (start === undefined || at.column < 1 || start + at.column - 1 > file.text.length) return undefined;
  const offset = start + at.column - 1;
  const key = `${offset} ${at.property ?? ""}`;
  if (!answers.has(key)) answers.set(key, describe(file, propertyAfter(nodeAt(index, offset), at.property)));
  return answers.get(key);
}

function describe(file: ts.SourceFile, node: ts.Node | undefined): Found | undefined {
  if (!node) return undefined;
  const statement = statementOf(node);
  const { comments, above } = commentsOf(statement, file);
  let gap = above;
  while (gap > 0 && /\s/.test(file.text[gap - 1]!)) gap--;
  const blankBefore = file.text.slice(gap, above).split("\n").length > 2;
  const site: Site = {
    ...bindingOf(node),
    ...parametersOf(node),
    comments,
    ...(blankBefore && { blankBefore }),
    statement: locate(file, statement.getStart(file)),
  };
  return { node, site };
}

/** An offset as a location. */
export function locate(file: ts.SourceFile, offset: number): Location {
  const { line, character } = file.getLineAndCharacterOfPosition(offset);
  return { file: file.fileName, line: line + 1, column: character + 1 };
}

/** Strips syntax that only changes the type: parentheses, `as`, `!`, `satisfies`. */
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
  // A getter taken apart: at what it is bound to, `{ T: transposed }`.
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

/** Text that may stand between the reported position and a property's name. */
const BEFORE_NAME = /(?:[\s)\]}!]|\/\/[^\n]*|\/\*[^]*?\*\/)*\??\.(?:\s|\/\/[^\n]*|\/\*[^]*?\*\/)*/y;

function nodeAt({ file, anchors }: SiteIndex, offset: number): ts.Node | undefined {
  const exact = anchors.get(offset);
  if (exact) return exact;
  BEFORE_NAME.lastIndex = offset;
  if (BEFORE_NAME.test(file.text)) {
    const after = anchors.get(BEFORE_NAME.lastIndex);
    if (after) return after;
  }
  return innermost(file, offset);
}

/** Where this property of a call's result is read, `f(x).row` or `{ row } = f(x)`, if the call's position stands for it. */
function propertyAfter(node: ts.Node | undefined, property: string | undefined): ts.Node | undefined {
  if (property === undefined) return node;
  for (let each = node; each; each = each.parent) {
    if (ts.isPropertyAccessExpression(each) && each.name.text === property) return each;
    const { parent } = each;
    if (ts.isVariableDeclaration(parent) && parent.initializer === each && ts.isObjectBindingPattern(parent.name))
      return parent.name.elements.find(({ name, propertyName = name }) => propertyName.getText() === property) ?? node;
    const goesOn = isWrapper(parent) || ts.isPropertyAccessExpression(parent) || ts.isCallExpression(parent);
    if (!goesOn || parent.expression !== each) return node;
  }
  return node;
}

function innermost(file: ts.SourceFile, offset: number): ts.Node | undefined {
  let found: ts.Node | undefined;
  const visit = (node: ts.Node): void => {
    if (offset < node.getStart(file) || offset >= node.getEnd()) return;
    // A function between the call and the position means that the position is not the call's own.
    if (ts.isFunctionLike(node)) found = undefined;
    else if (ts.isCallExpression(node) || ts.isPropertyAccessExpression(node) || ts.isNewExpression(node)) found = node;
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

/** What the parameters of a function among a call's arguments are called. */
function parametersOf(node: ts.Node): Pick<Site, "parameters"> {
  const passed = ts.isCallExpression(node) ? node.arguments.map(unwrap).find(isFunctionExpression) : undefined;
  return passed ? { parameters: passed.parameters.flatMap(({ name }) => bound(name)) } : {};
}

function isFunctionExpression(node: ts.Node): node is ts.ArrowFunction | ts.FunctionExpression {
  return ts.isArrowFunction(node) || ts.isFunctionExpression(node);
}

function bound(name: ts.BindingName): readonly string[] {
  if (ts.isIdentifier(name)) return [name.text];
  return name.elements.flatMap((element) => (ts.isBindingElement(element) ? bound(element.name) : []));
}

/** The variables that hold an expression's value, looking through expressions that only pass it on. */
function bindingOf(node: ts.Node): Pick<Site, "name" | "names"> {
  if (ts.isBindingElement(node)) return named(node.name);
  const { parent } = node;
  if (!parent) return {};
  if (isWrapper(parent) || ts.isAwaitExpression(parent)) return bindingOf(parent);
  // `const odd = tl.split(x)[1]`
  if (ts.isElementAccessExpression(parent) && parent.expression === node) return bindingOf(parent);
  if (ts.isConditionalExpression(parent)) return node === parent.condition ? {} : bindingOf(parent);
  if (ts.isVariableDeclaration(parent) || ts.isParameter(parent) || ts.isPropertyDeclaration(parent)) {
    return parent.initializer === node ? named(parent.name) : {};
  }
  if (ts.isPropertyAssignment(parent)) return parent.initializer === node ? property(parent) : {};
  // `const x = tl.when(FLAG, () => f())`
  if (ts.isArrowFunction(parent)) return parent.body === node && isWhen(parent.parent) ? bindingOf(parent.parent) : {};
  if (ts.isForOfStatement(parent)) {
    const { initializer } = parent;
    const declared = ts.isVariableDeclarationList(initializer) ? initializer.declarations[0]?.name : undefined;
    return parent.expression === node && declared ? named(declared) : {};
  }
  if (ts.isArrayLiteralExpression(parent)) {
    const name = bindingOf(parent).names?.[parent.elements.indexOf(node as ts.Expression)];
    return name === undefined ? {} : { name };
  }
  if (ts.isBinaryExpression(parent) && parent.right === node) {
    const { kind } = parent.operatorToken;
    if (kind === ts.SyntaxKind.EqualsToken) return assigned(parent.left);
    const passes = [
      ts.SyntaxKind.QuestionQuestionToken,
      ts.SyntaxKind.BarBarToken,
      ts.SyntaxKind.AmpersandAmpersandToken,
    ];
    return passes.includes(kind) ? bindingOf(parent) : {};
  }
  return {};
}

function isWhen(node: ts.Node): boolean {
  if (!ts.isCallExpression(node)) return false;
  const callee = unwrap(node.expression);
  return ts.isPropertyAccessExpression(callee) && callee.name.text === "when";
}

function named(name: ts.BindingName | ts.PropertyName): Pick<Site, "name" | "names"> {
  if (ts.isIdentifier(name) || ts.isPrivateIdentifier(name)) return { name: name.text.replace(/^#/, "") };
  if (!ts.isArrayBindingPattern(name)) return {};
  return {
    names: name.elements.map((element) => (ts.isBindingElement(element) ? named(element.name).name : undefined)),
  };
}

/** `{ a: f() }`: the property, or what `const { a: b } = { a: f() }` calls it. */
function property(assignment: ts.PropertyAssignment): Pick<Site, "name" | "names"> {
  const key = named(assignment.name).name;
  const declaration = assignment.parent.parent;
  // The name of an option says what the value is for, not what it is.
  if (ts.isCallExpression(declaration)) return {};
  if (!ts.isVariableDeclaration(declaration) || !ts.isObjectBindingPattern(declaration.name))
    return named(assignment.name);
  const element = declaration.name.elements.find(
    (each) => named((each.propertyName as ts.Identifier) ?? each.name).name === key,
  );
  return element ? named(element.name) : {};
}

function assigned(target: ts.Expression): Pick<Site, "name" | "names"> {
  const left = unwrap(target);
  if (ts.isIdentifier(left)) return { name: left.text };
  if (ts.isPropertyAccessExpression(left)) {
    return left.name.text === "value" ? assigned(left.expression) : named(left.name as ts.Identifier);
  }
  if (ts.isArrayLiteralExpression(left)) return { names: left.elements.map((element) => assigned(element).name) };
  return {};
}

/**
 * The enclosing statement; in a function without braces its body, so that the comments above the function stay there.
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

/** The comments that belong to a statement, and where the first of those above it starts. */
function commentsOf(statement: ts.Node, file: ts.SourceFile): { comments: readonly string[]; above: number } {
  const { text } = file;
  const leading: ts.CommentRange[] = [];
  let below = statement.getStart(file);
  for (const range of [...(ts.getLeadingCommentRanges(text, statement.getFullStart()) ?? [])].reverse()) {
    // A blank line separates: what is above it is about the file or the section.
    if ((text.slice(range.end, below).match(/\n/g)?.length ?? 0) > 1) break;
    leading.unshift(range);
    below = range.pos;
  }
  const trailing = ts.getTrailingCommentRanges(text, headEnd(statement, file)) ?? [];
  const comments = [...leading, ...trailing].flatMap((range) => commentLines(text.slice(range.pos, range.end)));
  return { comments, above: below };
}

/** Where the statement's own text ends: behind the brace of a loop, whose body has comments of its own. */
function headEnd(statement: ts.Node, file: ts.SourceFile): number {
  const inner = ts.isLabeledStatement(statement) ? statement.statement : statement;
  const body = ts.isIterationStatement(inner, false)
    ? inner.statement
    : ts.isIfStatement(inner)
      ? inner.thenStatement
      : undefined;
  return body && ts.isBlock(body) ? body.getStart(file) + 1 : statement.getEnd();
}

/** Comments for tools rather than for readers. */
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
