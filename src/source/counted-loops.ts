/**
 * Recognizes counted JavaScript loops, `for (let k = 0; k < K; k += BLOCK)`, and formats the equivalent `tl.range`
 * loop.
 */
import { ts } from "./typescript.js";

const K = ts.SyntaxKind;

export interface CountedLoop {
  /** The bounds and the step. */
  readonly numbers: readonly ts.Expression[];
  /** `for (const k of tl.range(0, K, BLOCK))` */
  readonly head: string;
}

/** The parts of a loop that counts one variable up to a bound; undefined for any other loop. */
export function countedLoop({ initializer, condition, incrementor }: ts.ForStatement): CountedLoop | undefined {
  if (!initializer || !ts.isVariableDeclarationList(initializer) || initializer.declarations.length !== 1)
    return undefined;
  const [{ name, initializer: start }] = initializer.declarations as unknown as [ts.VariableDeclaration];
  if (!ts.isIdentifier(name) || !start || !condition || !ts.isBinaryExpression(condition)) return undefined;
  const isName = (node: ts.Expression): boolean => ts.isIdentifier(node) && node.text === name.text;
  const { operatorToken, left: lhs, right: bound } = condition;
  const isInclusive = operatorToken.kind === K.LessThanEqualsToken;
  if (!isName(lhs) || !(isInclusive || operatorToken.kind === K.LessThanToken)) return undefined;
  const step = stepOf(incrementor, isName);
  if (step === "other") return undefined;
  // `K / BLOCK` iterations: one per block.
  const blocks = ts.isBinaryExpression(bound) && bound.operatorToken.kind === K.SlashToken ? bound : undefined;
  const text = blocks ? `tl.cdiv(${blocks.left.getText()}, ${blocks.right.getText()})` : bound.getText();
  const end = isInclusive ? `${text}.add(1)` : text;
  const bounds = [start.getText(), end, ...(step ? [step.getText()] : [])];
  const ends = blocks ? [blocks.left, blocks.right] : [bound];
  return {
    numbers: [start, ...ends, ...(step ? [step] : [])],
    head: `for (const ${name.text} of tl.range(${bounds.join(", ")}))`,
  };
}

/** The step of an incrementor; undefined for 1, or "other" if the incrementor is not a sum. */
function stepOf(
  node: ts.Expression | undefined,
  isName: (node: ts.Expression) => boolean,
): ts.Expression | undefined | "other" {
  if (!node) return "other";
  if (ts.isPostfixUnaryExpression(node) || ts.isPrefixUnaryExpression(node))
    return node.operator === K.PlusPlusToken && isName(node.operand) ? undefined : "other";
  if (!ts.isBinaryExpression(node) || !isName(node.left)) return "other";
  if (node.operatorToken.kind === K.PlusEqualsToken) return node.right;
  const { right } = node;
  const isSum = ts.isBinaryExpression(right) && right.operatorToken.kind === K.PlusToken && isName(right.left);
  return node.operatorToken.kind === K.EqualsToken && isSum ? right.right : "other";
}
