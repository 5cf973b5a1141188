/**
 * Lowers block pointers, which newer Triton versions removed, to addresses and masks. Each offset that the kernel
 * advances becomes a variable, and each access computes an index and a bounds check per axis.
 */
import { assignedNames, targetNames } from "../liveness.js";
import {
  assignmentNode,
  INDEX,
  indexNode,
  replaceNodes,
  memoizeByPosition,
  type SourceRange,
  withArguments,
} from "../node-builders.js";
import {
  boundArgument,
  type Call,
  isSequence,
  type Expression,
  type FunctionTree,
  helperTree,
  type KernelTree,
  type Name,
  type Statement,
} from "../tree.js";
import { UnsupportedConstruct, withFileLines } from "../value.js";
import {
  type BlockAxis,
  lowerBlockAccess,
  type BlockPointer,
  IndexNames,
  mayBeNegative,
  partsOf,
} from "./access-through-block.js";

const MAKE = "tl.make_block_ptr";
const ADVANCE = "tl.advance";

export const hasBlockPointers = ({ functions }: Pick<KernelTree, "functions">): boolean =>
  JSON.stringify(functions).includes(`"name":"${MAKE}"`);

/** @throws UnsupportedConstruct for a block pointer that is used outside of accesses and `tl.advance`. */
export function lowerBlockPointers(tree: KernelTree): KernelTree {
  if (!hasBlockPointers(tree)) return tree;
  const [kernel, ...helpers] = tree.functions;
  const memoized: KernelTree = { ...tree, functions: [memoizeByPosition(kernel), ...helpers.map(memoizeByPosition)] };
  const blockParams = new Map<number, ReadonlyMap<string, number>>();
  const lowered = new Map<number, FunctionTree>();
  const lower = (functionTree: FunctionTree, number: number): FunctionTree => {
    const lowering = new BlockPointerLowering(functionTree, blockParams.get(number) ?? new Map(), (callee, ranks) => {
      if (ranks.size === 0 && lowered.has(callee)) return;
      blockParams.set(callee, ranks);
      if (!lowered.has(callee)) lowered.set(callee, lower(helperTree(memoized, callee), callee));
    });
    return withFileLines(functionTree, () => lowering.lower());
  };
  const loweredKernel = lower(memoized.functions[0], 0);
  const [, ...memoizedHelpers] = memoized.functions;
  return { ...tree, functions: [loweredKernel, ...memoizedHelpers.map((each, i) => lowered.get(i + 1) ?? each)] };
}

const calleeName = (node: Expression): string | undefined =>
  node.kind === "Call" && node.callee?.what === "function" ? node.callee.name : undefined;

class BlockPointerLowering {
  #blocks: ReadonlyMap<string, BlockPointer> = new Map();
  /** The number of assignments to each name. */
  readonly #writeCounts = new Map<string, number>();
  readonly #names: IndexNames;
  readonly #makeCounts = new Map<string, number>();
  /** Names that are never negative: program ids, loop indices that start at 0, constexprs, and what follows from them. */
  readonly #nonNegative = new Set<string>();

  constructor(
    private readonly tree: FunctionTree,
    /** Parameters that are block pointers, with their ranks. */
    private readonly blockRanks: ReadonlyMap<string, number>,
    private readonly onHelperCall: (callee: number, ranks: ReadonlyMap<string, number>) => void,
  ) {
    const params = tree.params.map(({ name }) => name);
    for (const name of params) this.#countWrite(name);
    this.#countWrites(tree.body);
    for (const { name, constexpr } of tree.params) if (constexpr) this.#nonNegative.add(name);
    this.#findNonNegative(tree.body);
    this.#names = new IndexNames([...params, ...this.#writeCounts.keys()]);
  }

  lower(): FunctionTree {
    const params = this.tree.params.flatMap((param) => {
      const rank = this.blockRanks.get(param.name);
      if (rank === undefined) return [param];
      const block = this.#names.blockVariables(param.name, rank, { line: 1, end: 1 });
      this.#setBlock(param.name, block);
      return partsOf(block).map((part) => ({ name: textOf(part), constexpr: false }));
    });
    // Accesses share the nodes of a block pointer's variables. Copies may belong to different live ranges.
    const body = replaceNodes(this.#lowerBody(this.tree.body), () => undefined);
    return { ...this.tree, params, body };
  }

  #countWrite(name: string): void {
    this.#writeCounts.set(name, (this.#writeCounts.get(name) ?? 0) + 1);
  }

  #countWrites(body: readonly Statement[]): void {
    for (const statement of body) {
      if (statement.kind === "Assign") {
        statement.targets.flatMap(targetNames).forEach((name) => this.#countWrite(name));
        const [target] = statement.targets;
        if (target?.kind !== "Name") continue;
        const callee = calleeName(statement.value);
        const isMade = callee === MAKE || (statement.value.kind === "Name" && this.#makeCounts.has(statement.value.id));
        if (isMade) this.#makeCounts.set(target.id, (this.#makeCounts.get(target.id) ?? 0) + 1);
      } else if (statement.kind === "For" || statement.kind === "AugAssign" || statement.kind === "AnnAssign")
        targetNames(statement.target).forEach((name) => this.#countWrite(name));
      if ("body" in statement) this.#countWrites(statement.body);
      if ("orelse" in statement) this.#countWrites(statement.orelse);
    }
  }

  #findNonNegative(body: readonly Statement[]): void {
    // A name with several assignments may also have other values.
    const add = (name: string): void => {
      if (this.#writeCounts.get(name) === 1) this.#nonNegative.add(name);
    };
    for (const statement of body) {
      if (statement.kind === "Assign") {
        for (const [name, value] of assignedNames(statement) ?? [])
          if (calleeName(value) === "tl.program_id" || !mayBeNegative(value, this.#nonNegative)) add(name);
      } else if (statement.kind === "For") {
        const { target, iter } = statement;
        const [first] = iter.kind === "Call" && iter.args.length > 1 ? iter.args : [];
        if (target.kind === "Name" && (!first || isZero(first))) add(target.id);
      }
      if ("body" in statement) this.#findNonNegative(statement.body);
      if ("orelse" in statement) this.#findNonNegative(statement.orelse);
    }
  }

  #setBlock(name: string, block: BlockPointer): void {
    this.#blocks = new Map([...this.#blocks, [name, block]]);
  }

  #lowerBody(body: readonly Statement[]): readonly Statement[] {
    return body.flatMap((statement) => this.#lowerStatement(statement));
  }

  #lowerStatement(statement: Statement): readonly Statement[] {
    const prologue: Statement[] = [];
    switch (statement.kind) {
      case "Assign": {
        const [target] = statement.targets;
        const callee = calleeName(statement.value);
        if (target?.kind === "Name" && callee === MAKE) return this.#lowerMake(target.id, statement.value as Call);
        if (target?.kind === "Name" && callee === ADVANCE)
          return this.#lowerAdvance(target.id, statement.value as Call);
        if (target?.kind === "Name" && statement.value.kind === "Name" && this.#blocks.has(statement.value.id))
          return this.#lowerAlias(target.id, statement.value);
        break;
      }
      case "If": {
        const outerBlocks = this.#blocks;
        const body = this.#lowerBody(statement.body);
        const bodyBlocks = this.#blocks;
        this.#blocks = outerBlocks;
        const orelse = this.#lowerBody(statement.orelse);
        // A pointer that both arms create has the same variables in each.
        this.#blocks = new Map([...bodyBlocks, ...this.#blocks]);
        const test = this.#lowerAccesses(statement.test, prologue);
        return [...prologue, { ...statement, test, body, orelse }];
      }
      case "For": {
        const iter = this.#lowerAccesses(statement.iter, prologue);
        return [...prologue, { ...statement, iter, body: this.#lowerBody(statement.body) }];
      }
      case "While":
        return [{ ...statement, test: this.#lowerAccesses(statement.test), body: this.#lowerBody(statement.body) }];
      case "AnnAssign":
      case "Assert":
      case "AugAssign":
      case "Unsupported":
      case "Expr":
      case "Pass":
      case "Return":
        break;
      default:
        statement satisfies never;
    }
    const lowered = this.#lowerAccesses(statement, prologue);
    return [...prologue, lowered];
  }

  /** `p = tl.make_block_ptr(…)` */
  #lowerMake(name: string, call: Call): readonly Statement[] {
    const { bound = {} } = call;
    const list = (part: string): readonly Expression[] => itemsOf(bound[part], part, call);
    const [shape, strides, offsets, lengths] = [list("shape"), list("strides"), list("offsets"), list("block_shape")];
    const base = boundArgument(call, "base");
    if (!base) return refuse("a block pointer without a base", call.line);
    const axes = shape.map((size, axis): BlockAxis => {
      const [stride, offset, length] = [strides[axis], offsets[axis], lengths[axis]];
      if (!stride || !offset || !length)
        return refuse(
          "a block pointer whose shape, strides, offsets and block_shape have different lengths",
          call.line,
        );
      return { size, stride, offset, length };
    });
    return this.#define(name, { base, axes }, call);
  }

  /** `p = q`: a block pointer with the present components of another one. */
  #lowerAlias(name: string, source: Name): readonly Statement[] {
    const block = this.#blocks.get(source.id);
    // The components of a pointer that several statements make change with each of them.
    if (!block || (this.#makeCounts.get(source.id) ?? 0) > 1)
      return refuse(`${name}, another name of a block pointer`, source.line);
    return this.#define(name, block, source, source.id);
  }

  /** Binds a block pointer. Components that change later become variables. */
  #define(
    name: string,
    { base, axes }: Pick<BlockPointer, "base" | "axes">,
    location: SourceRange,
    source = name,
  ): readonly Statement[] {
    const variables = this.#names.blockVariables(name, axes.length, location);
    const prologue: Statement[] = [];
    const isShared = (this.#makeCounts.get(name) ?? 0) > 1;
    const materialize = (value: Expression, variable: Expression, isAdvanced = false): Expression => {
      if (!isAdvanced && !isShared && this.#isInvariant(value)) return value;
      prologue.push(assignmentNode(textOf(variable), this.#lowerAccesses(value, prologue)));
      return {
        ...variable,
        types: value.types.some(({ kind }) => kind === "constant") ? INDEX : value.types,
      } as Expression;
    };
    const variableAxes = variables.axes.map((variable, i) => ({
      variable,
      isAdvanced: this.#isAdvanced(name, i) || this.#isAdvanced(source, i),
      parts: { ...variable, ...axes[i] },
    }));
    const blockBase = materialize(base, variables.base);
    for (const part of ["size", "stride", "offset"] as const)
      for (const { variable, isAdvanced, parts } of variableAxes)
        parts[part] = materialize(parts[part], variable[part], part === "offset" && isAdvanced);
    this.#setBlock(name, { base: blockBase, axes: variableAxes.map(({ parts }): BlockAxis => parts), isLocal: true });
    return prologue;
  }

  /** True if all names of an expression are assigned at most once. */
  #isInvariant(node: Expression): boolean {
    return this.#names.reads(node).every((name) => (this.#writeCounts.get(name) ?? 0) <= 1);
  }

  /** True if the function advances a pointer along this axis. */
  #isAdvanced(name: string, axis: number): boolean {
    const visit = (body: readonly Statement[]): boolean =>
      body.some((statement) => {
        if (statement.kind === "Assign" && calleeName(statement.value) === ADVANCE) {
          const call = statement.value as Call;
          const base = boundArgument(call, "base");
          const increment = itemsOf(call.bound?.["offsets"], "offsets", call)[axis];
          return base?.kind === "Name" && base.id === name && increment !== undefined && !isZero(increment);
        }
        return (
          ("body" in statement && visit(statement.body)) || ("orelse" in statement && visit(statement.orelse)) || false
        );
      });
    return visit(this.tree.body);
  }

  /** `p = tl.advance(p, (0, BLOCK))` */
  #lowerAdvance(name: string, call: Call): readonly Statement[] {
    const base = boundArgument(call, "base");
    if (base?.kind !== "Name" || base.id !== name)
      return refuse("tl.advance that makes another block pointer than it moves", call.line);
    const block = this.#blocks.get(name) ?? refuse("tl.advance of something other than a block pointer", call.line);
    const prologue: Statement[] = [];
    return itemsOf(call.bound?.["offsets"], "offsets", call).flatMap((increment, axis): readonly Statement[] => {
      if (isZero(increment)) return [];
      const offset = block.axes[axis]?.offset;
      if (offset?.kind !== "Name") return refuse("tl.advance of more axes than the block pointer has", call.line);
      const assignment = assignmentNode(offset.id, indexNode("Add", offset, this.#lowerAccesses(increment, prologue)));
      return [...prologue.splice(0), assignment];
    });
  }

  /** Lowers the accesses in a node. `prologue` receives the statements that define their indices. */
  #lowerAccesses<T extends object>(node: T, prologue?: Statement[]): T {
    const lowered = replaceNodes(node, (child) => {
      if (!("kind" in child)) return undefined;
      const expression = child as Expression;
      if (expression.kind === "Attribute") return this.#elementTypeOf(expression);
      if (expression.kind !== "Call") return undefined;
      const { callee } = expression;
      const functionName = callee?.what === "function" ? callee.name : undefined;
      if (functionName === MAKE || functionName === ADVANCE)
        return refuse("a block pointer that is no variable of its own", expression.line);
      if (callee?.what === "helper") return this.#lowerHelperCall(expression, callee.number);
      const pointer = boundArgument(expression, "pointer");
      const target = pointer && this.#blockOf(pointer);
      if (!target) return undefined;
      if (!prologue) return refuse("an access through a block pointer in the condition of a loop", expression.line);
      const access = lowerBlockAccess(target.block, target.name, expression, this.#names, this.#nonNegative);
      prologue.push(...access.indexStatements);
      return access.call;
    });
    const escaped = this.#names.reads(lowered).find((name) => this.#blocks.get(name)?.isLocal === true);
    const line = "line" in node && typeof node.line === "number" ? node.line : this.tree.line;
    return escaped === undefined
      ? lowered
      : refuse(`${escaped}, a block pointer, outside of tl.load, tl.store and tl.advance`, line);
  }

  /** The block pointer of an access, and its name: `p`, or `tl.advance(p, (0, BLOCK))`. */
  #blockOf(pointer: Expression): { readonly name: string; readonly block: BlockPointer } | undefined {
    if (pointer.kind === "Call" && calleeName(pointer) === ADVANCE) {
      const base = boundArgument(pointer, "base");
      const target = base && this.#blockOf(base);
      const increments = itemsOf(pointer.bound?.["offsets"], "offsets", pointer);
      if (target?.block.axes.length !== increments.length) return undefined;
      const axes = target.block.axes.map((axis, i): BlockAxis => {
        const increment = increments[i];
        return increment && !isZero(increment) ? { ...axis, offset: indexNode("Add", axis.offset, increment) } : axis;
      });
      return { name: target.name, block: { ...target.block, axes } };
    }
    const block = pointer.kind === "Name" ? this.#blocks.get(pointer.id) : undefined;
    return block && pointer.kind === "Name" ? { name: pointer.id, block } : undefined;
  }

  /** Replaces the pointer in `p.dtype.element_ty` by its base. */
  #elementTypeOf(node: Extract<Expression, { kind: "Attribute" }>): Expression | undefined {
    const inner = node.value;
    if (inner.kind !== "Attribute" || inner.value.kind !== "Name") return undefined;
    const block = this.#blocks.get(inner.value.id);
    if (!block) return undefined;
    let base = block.base;
    while (base.kind === "BinOp") base = base.left;
    return { ...node, value: { ...inner, value: base } };
  }

  /** Passes the components of a block pointer to a helper function. */
  #lowerHelperCall(node: Call, callee: number): Call | undefined {
    const { bound = {}, parameters = [] } = node;
    const blocks = new Map(
      Object.entries(bound).flatMap(([parameter, argument]) => {
        const block = "kind" in argument && argument.kind === "Name" ? this.#blocks.get(argument.id) : undefined;
        return block ? [[parameter, block] as const] : [];
      }),
    );
    this.onHelperCall(callee, new Map([...blocks].map(([name, { axes }]) => [name, axes.length])));
    if (blocks.size === 0) return undefined;
    const names = new IndexNames([]);
    const loweredArgs = parameters.flatMap((parameter): readonly (readonly [string, Expression | undefined])[] => {
      const block = blocks.get(parameter);
      if (!block) return [[parameter, boundArgument(node, parameter)]];
      const variables = names.blockVariables(parameter, block.axes.length, node);
      const values = partsOf(block);
      return partsOf(variables).map((part, i) => [textOf(part), values[i]] as const);
    });
    const args = Object.fromEntries(loweredArgs.flatMap(([name, value]) => (value ? [[name, value] as const] : [])));
    return { ...withArguments(node, args), parameters: loweredArgs.map(([name]) => name) };
  }
}

const textOf = (node: Expression): string => (node.kind === "Name" ? node.id : "");
const isZero = (node: Expression): boolean => node.kind === "Constant" && node.value === 0;

function itemsOf(
  list: Expression | readonly Expression[] | undefined,
  part: string,
  call: Call,
): readonly Expression[] {
  if (list && !("kind" in list)) return list;
  if (isSequence(list)) return list.elts;
  return refuse(`${part} of a block pointer that is no list in the text`, call.line);
}

function refuse(reason: string, line: number): never {
  const remedy =
    "write the address and a mask for each axis of boundary_check in its place, x_ptr + rows[:, None] * stride + cols[None, :]";
  throw new UnsupportedConstruct(reason, remedy, { line });
}
