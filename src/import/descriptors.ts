/** Declares descriptor parameters in the spec: sizes, block shape, access. */
import type { FunctionScope } from "./function-scope.js";
import { childrenOf, targetNames } from "./liveness.js";
import { argumentsOf, type Expression, type FunctionTree, helperTree, type KernelTree } from "./tree.js";
import { UnsupportedConstruct } from "./value.js";

/** The parts of the kernel file that a declaration uses. */
export interface DescriptorContext {
  readonly tree: KernelTree;
  readonly scope: FunctionScope;
  addTodo(text: string, line: number): void;
  /** The name of a parameter in the spec, or the value of a fixed parameter. */
  nameOf(python: string): string;
  isDeclared(python: string): boolean;
}

interface Draft {
  readonly python: string;
  readonly local: string;
  /** The text of the dtype. */
  readonly text: string | undefined;
}

/** `descriptor.inout(T, ["aSize0", "aSize1"], ["BLOCK_M", 64])` */
export function descriptorText({ python, local, text }: Draft, context: DescriptorContext): string {
  const { tree, scope } = context;
  const [arg] = argumentsOf(tree, python);
  if (arg?.kind !== "descriptor")
    throw new UnsupportedConstruct(`${python} is a descriptor in some calls only`, "pass one in each call");
  const sizes = arg.block.map((_, axis) => JSON.stringify(scope.fresh(`${local}_size${axis}`)));
  const block = arg.block.map((_, axis) => blockDimText(python, axis, context));
  const options = arg.padding === "nan" ? ', { paddingOption: "nan" }' : "";
  const access = isWritten(python, tree.functions[0], tree, new Set()) ? ".inout" : "";
  return `descriptor${access}(${text}, [${sizes.join(", ")}], [${block.join(", ")}]${options})`;
}

function blockDimText(python: string, axis: number, { tree, addTodo, nameOf, isDeclared }: DescriptorContext): string {
  const candidates = tree.blocks?.[python]?.[axis] ?? [];
  const constants = candidates.filter((each): each is string => typeof each === "string");
  const name = constants.find(isDeclared) ?? constants[0];
  if (constants.length > 1)
    addTodo(
      `the block of ${python} is ${name} along axis ${axis}; ${constants.slice(1).join(", ")} always has its value`,
      1,
    );
  if (name !== undefined) return isDeclared(name) ? JSON.stringify(nameOf(name)) : nameOf(name);
  if (candidates.length > 0) return String(candidates[0]);
  const reason = `the block of ${python} along axis ${axis} is no constant of the kernel, and differs between calls or configs`;
  throw new UnsupportedConstruct(reason, "pass it as a tl.constexpr of its own, and set block_shape from that");
}

/** Methods of descriptors that do not write. */
const READ_METHODS: ReadonlySet<string> = new Set(["load", "gather"]);

/** True if a function, or a helper that it passes the descriptor to, writes through the descriptor with this name. */
function isWritten(name: string, functionTree: FunctionTree, tree: KernelTree, visited: Set<string>): boolean {
  const key = `${functionTree.name} ${functionTree.line} ${name}`;
  if (visited.has(key)) return false;
  visited.add(key);
  const isDescriptor = (node: unknown): boolean =>
    (node as Expression | undefined)?.kind === "Name" && (node as { id: string }).id === name;
  const isWrite = (node: object): boolean => {
    const expression = node as Expression;
    if (expression.kind === "Call") {
      const { func, callee, bound = {} } = expression;
      if (func.kind === "Attribute" && isDescriptor(func.value) && !READ_METHODS.has(func.attr)) return true;
      for (const [parameter, value] of Object.entries(bound)) {
        if (!isDescriptor(value)) continue;
        if (callee?.what === "helper" && isWritten(parameter, helperTree(tree, callee.number), tree, visited))
          return true;
        if (callee?.what === "function" && callee.name !== "tl.load_tensor_descriptor") return true;
      }
    }
    if ("targets" in node && "value" in node && isDescriptor(node.value)) {
      const names = (node.targets as readonly Expression[]).flatMap(targetNames);
      if (names.some((alias) => alias !== name && isWritten(alias, functionTree, tree, visited))) return true;
    }
    return childrenOf(node).some(isWrite);
  };
  return functionTree.body.some(isWrite);
}
