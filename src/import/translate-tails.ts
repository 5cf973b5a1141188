/**
 * What follows a branch, written once and called in each arm: for names that have another dtype or shape in each, which
 * no variable of the program has.
 */
import { type Arm, branchHeader } from "./if-arms.js";
import type { Context } from "./context.js";
import { childrenOf, defines, liveBefore, writes } from "./liveness.js";
import { translateStatements } from "./translate-statements.js";
import type { Described, If, Statement } from "./tree.js";
import { traced } from "./value.js";

/** A name for a branch of the Python. */
export const branchKey = (statement: If, { tree }: Context["scope"]): string => `${tree.name}:${statement.line}`;

/** Whether what follows must be written for each arm. */
export function followsInEachArm(
  statement: If,
  arms: readonly Arm[],
  names: readonly string[],
  rest: readonly Statement[],
  { scope, kernel }: Context,
): boolean {
  if (!kernel.tails || (!scope.isKernel && hasReturn(rest))) return false;
  const written = writes([...arms.flatMap(({ body }) => body), ...rest]);
  const isGiven = written.some((name) => scope.given.has(name));
  const isApart = kernel.apart.has(branchKey(statement, scope)) || names.some((name) => typesOf(name, rest).size > 1);
  if (isGiven || !isApart) return false;
  const isTotal = arms.at(-1)?.asked === undefined;
  return names.every((name) => scope.variable(name) || (isTotal && arms.every(({ body }) => defines(body, name))));
}

const hasReturn = (body: readonly object[]): boolean =>
  body.some((node) => ("kind" in node && node.kind === "Return") || hasReturn(childrenOf(node)));

/** The dtypes and shapes with which these statements read a name, and whether as None. */
function typesOf(name: string, body: readonly Statement[]): ReadonlySet<string> {
  const found = new Set<string>();
  const visit = (node: object): void => {
    if ("id" in node && node.id === name && "types" in node)
      for (const type of node.types as readonly Described[]) {
        if (type.kind === "constant" && type.of === "NoneType") found.add("None");
        if (type.kind === "tile" || type.kind === "pointer")
          found.add(`${type.kind} ${type.dtype} ${type.shape.join("x")}`);
      }
    childrenOf(node).forEach(visit);
  };
  body.forEach(visit);
  return found;
}

/** Whether a name is only what a call may leave out: `tl.load(x, mask=mask)` takes None too. */
function isOption(name: string, body: readonly object[]): boolean {
  const isRead = (node: object): boolean =>
    ("id" in node && node.id === name) || (!isOptionNamed(name, node) && childrenOf(node).some(isRead));
  return !body.some(isRead);
}

const isPassedAsOption = (name: string, body: readonly object[]): boolean =>
  body.some((node) => isOptionNamed(name, node) || isPassedAsOption(name, childrenOf(node)));

/** `mask=name` */
const isOptionNamed = (name: string, node: object): boolean =>
  "arg" in node &&
  (node.arg === "mask" || node.arg === "other") &&
  "value" in node &&
  typeof node.value === "object" &&
  node.value !== null &&
  "id" in node.value &&
  node.value.id === name;

/** Whether statements read a name as None, or may leave it out. */
export const isReadAsNone = (name: string, body: readonly Statement[]): boolean =>
  typesOf(name, body).has("None") || isPassedAsOption(name, body);

/** Writes the arms, and `rest` as a function of these names; `passed` gives a name's text in an arm. */
export function emitContinuation(
  arms: readonly Arm[],
  names: readonly string[],
  rest: readonly Statement[],
  after: ReadonlySet<string>,
  context: Context,
  passed: (name: string) => string,
): void {
  const { scope } = context;
  const own = scope.fresh("rest");
  const start = scope.lines.length;
  const live = new Set([...liveBefore(rest, after), ...names]);
  const all = arms.at(-1)?.asked === undefined ? arms : [...arms, { asked: undefined, body: [] }];
  for (const [i, { asked, body }] of all.entries()) {
    scope.emit(branchHeader(i, asked, ""));
    scope.block(scope.linked, () => {
      const texts = (): readonly string[] =>
        names.map((name) => (scope.read(name)?.kind === "none" && isOption(name, rest) ? "undefined" : passed(name)));
      if (!translateStatements(body, live, context)) scope.emit(`${own}(${texts().join(", ")});`);
    });
  }
  scope.emit("});");
  // Comments come in the order of the Python file, so the function is written last and then moved in front.
  const end = scope.lines.length;
  scope.block(scope.linked, () => {
    const home = scope.home;
    scope.home = scope.depth;
    const params = names.map((name) => scope.fresh(name));
    scope.emit(`const ${own} = (${params.map((name) => `${name}: any`).join(", ")}): void => {`);
    for (const [i, name] of names.entries()) scope.bind(name, traced(params[i]!));
    translateStatements(rest, after, context);
    scope.emit("};");
    scope.home = home;
  });
  scope.lines.splice(start, 0, ...scope.lines.splice(end));
}
