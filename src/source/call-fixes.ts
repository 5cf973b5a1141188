/** The edits for fixes of calls and property accesses. */
import { ts } from "./typescript.js";
import type { Edit, SourceFix } from "../diagnostics/diagnostic.js";
import { constantValue, isState, toEdit } from "./replacements.js";
import { locate, unwrap } from "./sites.js";
import { property } from "./spec-locations.js";

/** The fix of a call or property access; undefined if its text does not show what to change. */
export function fixCall(node: ts.Node, fix: SourceFix): Edit | undefined {
  switch (fix.kind) {
    case "rename":
      return ts.isCallExpression(node) ? renameOption(node, fix.from, fix.to) : undefined;
    case "value": {
      const state = operandsOf(node).map(unwrap).find(isState);
      return state && toEdit({ node: state, text: `${state.getText()}.value` });
    }
    case "require":
      return ts.isCallExpression(node) ? addRequirement(node.arguments[1], fix) : undefined;
    case "mask": {
      const [claim, ...others] = operandsOf(node).map(unwrap).filter(isView).flatMap(claimsOf);
      const index = claim?.arguments[0];
      return claim && index && others.length === 0 ? toEdit({ node: claim, text: index.getText() }) : undefined;
    }
    case "declare": {
      const spec = ts.isCallExpression(node) ? node.arguments[1] : undefined;
      const declared = property(property(spec, "params"), fix.param);
      const declaration = declared && declarationIn(declared);
      return declaration && setOption(declaration, fix.option, fix.value);
    }
    case "barrier": {
      const statement = statementOf(node);
      return statement && !accessesFirst(node) ? insertBefore(statement, "tl.debugBarrier();") : undefined;
    }
    case "other":
      return ts.isCallExpression(node) ? setOption(node, "other", String(fix.value)) : undefined;
    case "omit": {
      const statement = statementOf(node);
      return statement && ts.isExpressionStatement(statement) && unwrap(statement.expression) === node
        ? removeStatement(statement)
        : undefined;
    }
    default:
      return fix satisfies never;
  }
}

/** The call that declares a param: `tensor(…)` of `tensor(…).optional()`. */
function declarationIn(declared: ts.Expression): ts.CallExpression | undefined {
  if (!ts.isCallExpression(declared)) return undefined;
  const { expression: callee } = declared;
  const inner = ts.isPropertyAccessExpression(callee) ? declarationIn(unwrap(callee.expression)) : undefined;
  return inner ?? declared;
}

/** The call with an option. Its last argument contains the other options. */
function setOption(call: ts.CallExpression, name: string, value: string): Edit | undefined {
  const text = `${name}: ${value}`;
  const options = optionsOf(call);
  const last = call.arguments.at(-1);
  if (!options) return last && toEdit({ node: last, text: `${last.getText()}, { ${text} }` });
  const present = options.properties.find((each) => each.name?.getText() === name);
  if (present) return toEdit({ node: present, text });
  return toEdit({
    node: options,
    text: `{ ${[...options.properties.map((each) => each.getText()), text].join(", ")} }`,
  });
}

/** The statement of a block that contains a node, in the same function. */
function statementOf(node: ts.Node): ts.Statement | undefined {
  for (let each = node; !ts.isFunctionLike(each) && !ts.isSourceFile(each); each = each.parent)
    if (ts.isStatement(each)) return ts.isBlock(each.parent) ? each : undefined;
  return undefined;
}

/** True if arguments of a call access memory before the call does, as in `tl.store(y.at(i), tl.load(…))`. */
const accessesFirst = (node: ts.Node): boolean =>
  ts.forEachChild(node, (child) => {
    const isAccess = ts.isCallExpression(child) && /\b(?:load|store|atomic\w*)$/.test(child.expression.getText());
    return isAccess || accessesFirst(child);
  }) ?? false;

function insertBefore(statement: ts.Statement, text: string): Edit {
  const file = statement.getSourceFile();
  const start = statement.getStart(file);
  const at = locate(file, start);
  const indent = /[ \t]*$/.exec(file.text.slice(0, start))?.[0] ?? "";
  return { at, end: at, text: `${text}\n${indent}` };
}

/** Removes a statement with the line break before it. */
function removeStatement(statement: ts.Statement): Edit {
  const file = statement.getSourceFile();
  const before = /\s*$/.exec(file.text.slice(0, statement.getStart(file)))?.[0] ?? "";
  return {
    at: locate(file, statement.getStart(file) - before.length),
    end: locate(file, statement.getEnd()),
    text: "",
  };
}

/** `x.at(…)` */
const isView = (node: ts.Expression): node is ts.CallExpression => ts.isCallExpression(node) && isNamed(node, "at");

const isNamed = ({ expression }: ts.CallExpression, name: string): boolean =>
  ts.isPropertyAccessExpression(expression) && expression.name.text === name;

/** The calls of `tl.inBounds` around the indices of a view, also in the declarations of constants. */
function claimsOf(view: ts.CallExpression): readonly ts.CallExpression[] {
  return view.arguments.flatMap((argument) => {
    const index = unwrap(argument);
    const value = ts.isIdentifier(index) ? constantValue(index) : index;
    return value && ts.isCallExpression(value) && isNamed(value, "inBounds") ? [value] : [];
  });
}

type Requirement = Extract<SourceFix, { kind: "require" }>;

function addRequirement(spec: ts.Expression | undefined, { names, condition }: Requirement): Edit | undefined {
  const requires = property(spec, "requires");
  if (requires) return extendRequirements(requires, names, condition);
  const literal = spec && unwrap(spec);
  if (!literal || !ts.isObjectLiteralExpression(literal)) return undefined;
  const members = literal.properties;
  const grid = members.find((member) => member.name?.getText() === "grid")?.name;
  if (!grid || members.some((member) => member.name?.getText() === "requires")) return undefined;
  const indent = /[ \t]*$/.exec(grid.getSourceFile().text.slice(0, grid.getStart()))?.[0] ?? "";
  return toEdit({ node: grid, text: `requires: ({ ${names.join(", ")} }) => [${condition}],\n${indent}grid` });
}

/** Extends `({ N }) => [N.ge(1)]`; undefined for any other form. */
function extendRequirements(requires: ts.Expression, names: readonly string[], condition: string): Edit | undefined {
  if (!ts.isArrowFunction(requires) || ts.isBlock(requires.body)) return undefined;
  const [param] = requires.parameters;
  const body = unwrap(requires.body);
  if (!param || !ts.isObjectBindingPattern(param.name) || !ts.isArrayLiteralExpression(body)) return undefined;
  const elements = param.name.elements.map((element) => element.getText());
  const list = [...elements, ...names.filter((name) => !elements.includes(name))].join(", ");
  const conditions = [...body.elements.map((element) => element.getText()), condition].join(", ");
  return toEdit({ node: requires, text: `({ ${list} }) => [${conditions}]` });
}

function optionsOf(call: ts.CallExpression): ts.ObjectLiteralExpression | undefined {
  const last = call.arguments.at(-1);
  const literal = last && unwrap(last);
  return literal && ts.isObjectLiteralExpression(literal) ? literal : undefined;
}

function renameOption(call: ts.CallExpression, from: string, to: string): Edit | undefined {
  const option = optionsOf(call)?.properties.find((each) => each.name?.getText() === from);
  if (!option?.name) return undefined;
  if (ts.isShorthandPropertyAssignment(option)) return toEdit({ node: option, text: `${to}: ${from}` });
  return toEdit({ node: option.name, text: to });
}

/** The receiver of a method or property, the arguments including items of lists and options, and the assigned value. */
function operandsOf(node: ts.Node): readonly ts.Expression[] {
  if (ts.isCallExpression(node)) {
    const callee = unwrap(node.expression);
    const receiver = ts.isPropertyAccessExpression(callee) ? [callee.expression] : [];
    return [...receiver, ...node.arguments.flatMap(itemsOf)];
  }
  if (!ts.isPropertyAccessExpression(node)) return [];
  const { parent } = node;
  const isTarget = ts.isBinaryExpression(parent) && parent.left === node;
  return isTarget ? [parent.right] : [node.expression];
}

function itemsOf(argument: ts.Expression): readonly ts.Expression[] {
  const value = unwrap(argument);
  if (ts.isArrayLiteralExpression(value)) return value.elements;
  if (!ts.isObjectLiteralExpression(value)) return [value];
  return value.properties.flatMap((each) => (ts.isPropertyAssignment(each) ? [each.initializer] : []));
}
