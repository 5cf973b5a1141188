/** Functions that the walk does not follow: async callbacks in a body, and references, which record torch. */
import { ts } from "./typescript.js";
import { argumentList } from "../diagnostics/catalog/operand-codes.js";
import { referenceFlag } from "../diagnostics/catalog/reference-codes.js";
import type { AbstractValue } from "./abstract-values.js";
import { unwrap } from "./sites.js";
import type { Walk } from "./walk.js";

/** Reports async functions in a kernel's body: what follows their first await runs after the trace. */
export function checkSynchronous(walk: Walk, body: ts.Node): void {
  ts.forEachChild(body, (node) => {
    const isAsync = ts.isFunctionLike(node) && ts.canHaveModifiers(node) && ts.getModifiers(node)?.some(isAsyncKeyword);
    if (isAsync) walk.reportError(argumentList.promise(), node);
    checkSynchronous(walk, node);
  });
}

const isAsyncKeyword = ({ kind }: ts.Modifier): boolean => kind === ts.SyntaxKind.AsyncKeyword;

/** Reports conditions of JavaScript on optional tensors: a recorded tensor is always given. */
export function checkReference(walk: Walk, reference: AbstractValue, optional: readonly string[]): void {
  if (reference.kind !== "function" || optional.length === 0) return;
  const [inputs] = reference.node.parameters;
  const tensors = inputs ? boundNames(inputs.name, optional) : new Map<string, string>();
  const visit = (node: ts.Node): void => {
    const condition = conditionOf(node);
    const subject = condition && subjectOf(condition);
    const tensor = subject && tensors.get(subject.getText());
    if (condition && tensor !== undefined) walk.reportError(referenceFlag.optional(tensor), condition);
    else ts.forEachChild(node, visit);
  };
  if (reference.node.body) visit(reference.node.body);
}

/** The optional tensors by the text that names them: `bias`, or `inputs.bias`. */
function boundNames(name: ts.BindingName, optional: readonly string[]): ReadonlyMap<string, string> {
  if (ts.isIdentifier(name)) return new Map(optional.map((each) => [`${name.text}.${each}`, each]));
  if (!ts.isObjectBindingPattern(name)) return new Map();
  const entries = name.elements.map(
    (element) => [element.name.getText(), (element.propertyName ?? element.name).getText()] as const,
  );
  return new Map(entries.filter(([, property]) => optional.includes(property)));
}

const LOGICAL = new Set<ts.SyntaxKind>([
  ts.SyntaxKind.AmpersandAmpersandToken,
  ts.SyntaxKind.BarBarToken,
  ts.SyntaxKind.QuestionQuestionToken,
]);

function conditionOf(node: ts.Node): ts.Expression | undefined {
  if (ts.isConditionalExpression(node)) return node.condition;
  if (ts.isIfStatement(node)) return node.expression;
  if (ts.isBinaryExpression(node) && LOGICAL.has(node.operatorToken.kind)) return node.left;
  return undefined;
}

/** The value that a condition asks for: `x` of `x`, `!x`, and `x !== undefined`. */
function subjectOf(condition: ts.Expression): ts.Expression {
  const e = unwrap(condition);
  if (ts.isPrefixUnaryExpression(e)) return subjectOf(e.operand);
  const isComparison = ts.isBinaryExpression(e) && /^[!=]==?$/.test(e.operatorToken.getText());
  return isComparison && /^(?:undefined|null)$/.test(e.right.getText()) ? subjectOf(e.left) : e;
}
