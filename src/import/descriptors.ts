/** Tensor descriptors that a kernel takes, as the spec declares them: sizes, block, access. */
import type { FunctionScope } from "./function-scope.js";
import { childrenOf, targetNames } from "./liveness.js";
import type { Expression, FunctionTree, KernelTree } from "./tree.js";
import { UnsupportedConstruct } from "./value.js";

/** What a declaration needs of the file that is written. */
export interface DescriptorFile {
  readonly tree: KernelTree;
  readonly scope: FunctionScope;
  todo(text: string, line: number): void;
  /** What the spec calls a parameter; the value of one that is fixed. */
  nameOf(python: string): string;
  isDeclared(python: string): boolean;
}

interface Draft {
  readonly python: string;
  readonly local: string;
  /** Its dtype. */
  readonly text: string | undefined;
}

/** `descriptor.inout(T, ["aSize0", "aSize1"], ["BLOCK_M", 64])` */
export function descriptorText({ python, local, text }: Draft, file: DescriptorFile): string {
  const { tree, scope } = file;
  const given = tree.signatures[0]![python]!;
  if (given.kind !== "descriptor") throw new UnsupportedConstruct(`${python} is a descriptor in some calls only`);
  const sizes = given.block.map((_, axis) => JSON.stringify(scope.fresh(`${local}_size${axis}`)));
  const block = given.block.map((_, axis) => blockDim(python, axis, file));
  const options = given.padding === "nan" ? ', { paddingOption: "nan" }' : "";
  const access = isWritten(python, tree.functions[0]!, tree, new Set()) ? ".inout" : "";
  return `descriptor${access}(${text}, [${sizes.join(", ")}], [${block.join(", ")}]${options})`;
}

function blockDim(python: string, axis: number, { tree, todo, nameOf, isDeclared }: DescriptorFile): string {
  const known = tree.blocks?.[python]?.[axis] ?? [];
  const constants = known.filter((each): each is string => typeof each === "string");
  const name = constants.find(isDeclared) ?? constants[0];
  if (constants.length > 1)
    todo(
      `the block of ${python} is ${name} along axis ${axis}; ${constants.slice(1).join(", ")} always has its value`,
      1,
    );
  if (name !== undefined) return isDeclared(name) ? JSON.stringify(nameOf(name)) : nameOf(name);
  if (known.length > 0) return String(known[0]);
  const what = `the block of ${python} along axis ${axis} is no constant of the kernel, and differs between calls or configs`;
  throw new UnsupportedConstruct(`${what}; pass it as a tl.constexpr of its own, and set block_shape from that`);
}

/** Methods of descriptors that leave memory as it is. */
const READING: ReadonlySet<string> = new Set(["load", "gather"]);

/** Whether a function, or one that it hands the descriptor to, writes through what it knows by this name. */
function isWritten(name: string, of: FunctionTree, tree: KernelTree, seen: Set<string>): boolean {
  const key = `${of.name} ${of.line} ${name}`;
  if (seen.has(key)) return false;
  seen.add(key);
  const isIt = (node: unknown): boolean =>
    (node as Expression | undefined)?.kind === "Name" && (node as { id: string }).id === name;
  const isIn = (node: object): boolean => {
    const each = node as Expression;
    if (each.kind === "Call") {
      const { func, callee, bound = {} } = each;
      if (func.kind === "Attribute" && isIt(func.value) && !READING.has(func.attr)) return true;
      for (const [parameter, value] of Object.entries(bound)) {
        if (!isIt(value)) continue;
        if (callee?.what === "helper" && isWritten(parameter, tree.functions[callee.number]!, tree, seen)) return true;
        if (callee?.what === "function" && callee.name !== "tl.load_tensor_descriptor") return true;
      }
    }
    if ("targets" in node && "value" in node && isIt(node.value)) {
      const names = (node.targets as readonly Expression[]).flatMap(targetNames);
      if (names.some((other) => other !== name && isWritten(other, of, tree, seen))) return true;
    }
    return childrenOf(node).some(isIn);
  };
  return of.body.some(isIn);
}
