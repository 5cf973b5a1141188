/**
 * The rules of ruff's defaults that a kernel breaks for a reason: its statements are those that the author wrote, and
 * Triton compiles what PyTorch code would write otherwise.
 */
import { eachNode } from "./nodes-in.js";
import * as py from "./py-build.js";
import type { Block, Expression, FunctionDef, If, Statement, Unary } from "./py.js";

/** Each rule with its reason, and whether a node breaks it. */
const EXCEPTIONS: readonly {
  readonly rule: string;
  readonly why: string;
  readonly isBroken: (node: Expression | Statement) => boolean;
}[] = [
  {
    rule: "PLR0124",
    why: "NaN alone differs from itself",
    isBroken: (node) => node.kind === "compare" && node.rest.length === 1 && isSame(node.first, node.rest[0]!.operand),
  },
  {
    rule: "PLW0127",
    why: "a branch keeps what a variable holds",
    isBroken: (node) => node.kind === "assign" && node.targets.some((target) => isSame(target, node.value)),
  },
  {
    rule: "SIM102",
    why: "Triton decides one condition after the other",
    isBroken: (node) => isIf(node) && nests(node),
  },
  { rule: "SIM113", why: "Triton has no enumerate", isBroken: (node) => node.kind === "function" && counts(node) },
  { rule: "SIM114", why: "branches are those of the author", isBroken: (node) => isIf(node) && repeats(node) },
  {
    rule: "SIM208",
    why: "conditions are those of the author",
    isBroken: (node) => isNot(node) && isNot(node.operand),
  },
];

/** The comment that tells ruff which rules a module breaks; nothing if it breaks none. */
export function lintExceptions(statements: Block): Block {
  const found = new Set<string>();
  eachNode(statements, (node) => {
    for (const { rule, isBroken } of EXCEPTIONS) if (isBroken(node)) found.add(rule);
  });
  const broken = EXCEPTIONS.filter(({ rule }) => found.has(rule));
  if (broken.length === 0) return [];
  const reasons = broken.map(({ rule, why }) => `${rule}: ${why}`).join("; ");
  return [py.comment(`${reasons}.\nruff: noqa: ${broken.map(({ rule }) => rule).join(", ")}`), py.blank];
}

function isSame(left: Expression, right: Expression | undefined): boolean {
  return left.kind === "name" && right?.kind === "name" && left.id === right.id;
}

const isIf = (node: Expression | Statement): node is If => node.kind === "if";
const isNot = (node: Expression | Statement): node is Unary => node.kind === "unary" && node.operator === "not";

/** Whether nothing but another condition stands in the last branch. */
function nests({ branches, otherwise }: If): boolean {
  const body = branches.at(-1)!.body;
  const [only] = body;
  return !otherwise && body.length === 1 && only?.kind === "if" && only.branches.length === 1 && !only.otherwise;
}

/** Whether a loop counts its turns in a name that is 0 before, which nothing else uses. */
function counts({ body }: FunctionDef): boolean {
  const loops = body.filter((statement) => statement.kind === "for");
  return loops.some((loop) =>
    loop.body.some((step) => {
      if (step.kind !== "augmentedAssign" || step.operator !== "+" || step.target.kind !== "name") return false;
      const { id } = step.target;
      const uses = (tree: unknown): number => {
        let found = 0;
        eachNode(tree, (node) => (found += node.kind === "name" && node.id === id ? 1 : 0));
        return found;
      };
      const isOne = step.value.kind === "number" && step.value.text === "1";
      return isOne && uses(body) - uses(loop) === 1 && body.some((before) => isZero(before, id));
    }),
  );
}

function isZero(statement: Statement, id: string): boolean {
  if (statement.kind !== "assign" || statement.value?.kind !== "number") return false;
  return statement.value.text === "0" && statement.targets.some((target) => target.kind === "name" && target.id === id);
}

/** Whether two branches in a row do the same. */
function repeats({ branches }: If): boolean {
  const texts = branches.map(({ body }) =>
    JSON.stringify(body, (key, value: unknown) => (key === "origin" ? "" : value)),
  );
  return texts.some((text, i) => text === texts[i + 1]);
}
