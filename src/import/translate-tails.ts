/**
 * Emits the continuation of a branch as a function that each arm calls. This supports names whose dtype or shape
 * differs between the arms, which a variable cannot represent.
 */
import { type Arm, branchHeader, withElse } from "./if-arms.js";
import type { Context } from "./context.js";
import { childrenOf, defines, liveBefore, targetNames, writtenNames } from "./liveness.js";
import type { TritonType, If, Statement } from "./tree.js";
import { traced } from "./value.js";

/** Identifies a branch of the Python file. */
export const branchKey = (statement: If, { tree }: Context["scope"]): string => `${tree.name}:${statement.line}`;

/** True if the following statements must be traced separately for each arm. */
export function needsContinuation(
  statement: If,
  arms: readonly Arm[],
  names: readonly string[],
  following: readonly Statement[],
  { scope, kernel }: Context,
): boolean {
  if (!kernel.canDuplicateTails || (!scope.isKernel && hasReturn(following))) return false;
  const assignedNames = writtenNames([...arms.flatMap(({ body }) => body), ...following]);
  const isExported = assignedNames.some((name) => scope.exportedNames.has(name));
  const hasDivergentTypes =
    kernel.divergentBranches.has(branchKey(statement, scope)) ||
    names.some((name) => typesOf(name, following).size > 1) ||
    // Triton may have compiled one arm only.
    arms.some(({ body }) => body.some((each) => isAssignmentOfNone(each, names)));
  if (isExported || !hasDivergentTypes) return false;
  const isTotal = arms.at(-1)?.condition === undefined;
  return names.every((name) => scope.variable(name) || (isTotal && arms.every(({ body }) => defines(body, name))));
}

const isAssignmentOfNone = (statement: Statement, names: readonly string[]): boolean =>
  statement.kind === "Assign" &&
  statement.value.kind === "Constant" &&
  statement.value.of === "NoneType" &&
  statement.targets.flatMap(targetNames).some((name) => names.includes(name));

const hasReturn = (body: readonly object[]): boolean =>
  body.some((node) => ("kind" in node && node.kind === "Return") || hasReturn(childrenOf(node)));

/** The types with which these statements read a name: dtypes and shapes, or None. */
function typesOf(name: string, body: readonly Statement[]): ReadonlySet<string> {
  const types = new Set<string>();
  const visit = (node: object): void => {
    if ("id" in node && node.id === name && "types" in node)
      for (const type of node.types as readonly TritonType[]) {
        if (type.kind === "constant" && type.of === "NoneType") types.add("None");
        if (type.kind === "tile" || type.kind === "pointer")
          types.add(`${type.kind} ${type.dtype} ${type.shape.join("x")}`);
      }
    childrenOf(node).forEach(visit);
  };
  body.forEach(visit);
  return types;
}

/** True if a name is read only as an optional argument that accepts None, as in `tl.load(x, mask=mask)`. */
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

/** True if statements read a name as None or pass it as an optional argument. */
export const isReadAsNone = (name: string, body: readonly Statement[]): boolean =>
  typesOf(name, body).has("None") || isPassedAsOption(name, body);

/** Emits the arms, and `following` as a function of these names. `argumentText` returns a name's text in an arm. */
export function emitContinuation(
  arms: readonly Arm[],
  names: readonly string[],
  following: readonly Statement[],
  liveAfter: ReadonlySet<string>,
  context: Context,
  argumentText: (name: string) => string,
): void {
  const { scope } = context;
  const continuation = scope.fresh("rest");
  const start = scope.lines.length;
  const live = new Set([...liveBefore(following, liveAfter), ...names]);
  for (const [i, { condition, body }] of withElse(arms).entries()) {
    scope.emit(branchHeader(i, condition, ""));
    scope.block(scope.carriedNames, () => {
      const texts = (): readonly string[] =>
        names.map((name) =>
          scope.read(name)?.kind === "none" && isOption(name, following) ? "undefined" : argumentText(name),
        );
      if (!context.translate.statements(body, live, context)) scope.emit(`${continuation}(${texts().join(", ")});`);
    });
  }
  scope.emit("});");
  // Comments are emitted in the order of the Python file, so the function is emitted last and then moved to the front.
  const end = scope.lines.length;
  scope.block(scope.carriedNames, () => {
    const outerDepth = scope.bodyDepth;
    scope.bodyDepth = scope.depth;
    const params = names.map((name) => ({ name, text: scope.fresh(name) }));
    scope.emit(`const ${continuation} = (${params.map(({ text }) => `${text}: any`).join(", ")}): void => {`);
    for (const { name, text } of params) scope.bind(name, traced(text));
    context.translate.statements(following, liveAfter, context);
    scope.emit("};");
    scope.bodyDepth = outerDepth;
  });
  scope.lines.splice(start, 0, ...scope.lines.splice(end));
}
