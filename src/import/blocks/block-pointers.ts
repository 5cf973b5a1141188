/**
 * Block pointers, which Triton has no more, as addresses and masks: a variable for each offset that the kernel moves,
 * and at each access an index and a bound for each axis. From there an access is one as any other.
 */
import { targetNames } from "../liveness.js";
import { assigned, INDEX, ofIndices } from "../node-builders.js";
import { replaceNodes, memoizeByPosition, withArguments } from "../rewrite-tree.js";
import type { Call, Expression, FunctionTree, KernelTree, Statement } from "../tree.js";
import { UnsupportedConstruct } from "../value.js";
import { accessThrough, type Block, IndexNames, lengthsOf, partsOf } from "./access-through-block.js";

const MAKE = "tl.make_block_ptr";
const ADVANCE = "tl.advance";

export const hasBlockPointers = ({ functions }: Pick<KernelTree, "functions">): boolean =>
  JSON.stringify(functions).includes(`"name":"${MAKE}"`);

/** @throws NotImported for a block pointer that is used otherwise than for accesses. */
export function withoutBlockPointers(tree: KernelTree): KernelTree {
  if (!hasBlockPointers(tree)) return tree;
  const functions = tree.functions.map(memoizeByPosition);
  const taken = new Map<number, ReadonlyMap<string, number>>();
  const done = new Map<number, FunctionTree>();
  const visit = (number: number): void => {
    const writer = new BlockWriter(functions[number]!, taken.get(number) ?? new Map(), (callee, ranks) => {
      if (ranks.size === 0 && done.has(callee)) return;
      taken.set(callee, ranks);
      if (!done.has(callee)) visit(callee);
    });
    try {
      done.set(number, writer.write());
    } catch (error) {
      const tree = functions[number]!;
      if (error instanceof UnsupportedConstruct && error.line !== undefined && error.inside === undefined) {
        error.line += tree.line - 1;
        error.inside = tree.name;
      }
      throw error;
    }
  };
  visit(0);
  return { ...tree, functions: functions.map((each, i) => done.get(i) ?? each) };
}

const calleeName = (node: Expression): string | undefined =>
  node.kind === "Call" && node.callee?.what === "function" ? node.callee.name : undefined;

class BlockWriter {
  #blocks: ReadonlyMap<string, Block> = new Map();
  /** How often the text writes each name. */
  readonly #writes = new Map<string, number>();
  readonly #names: IndexNames;
  readonly #makes = new Map<string, number>();
  /** Names that are never negative: programs, turns, sizes. */
  readonly #counts = new Set<string>();

  constructor(
    private readonly tree: FunctionTree,
    /** The parameters that calls give block pointers, with their ranks. */
    private readonly given: ReadonlyMap<string, number>,
    private readonly reached: (callee: number, ranks: ReadonlyMap<string, number>) => void,
  ) {
    const params = tree.params.map(({ name }) => name);
    for (const name of params) this.#count(name);
    this.#countIn(tree.body);
    // A name that is written again may be something else.
    for (const name of this.#counts) if ((this.#writes.get(name) ?? 0) > 1) this.#counts.delete(name);
    for (const { name, constexpr } of tree.params) if (constexpr) this.#counts.add(name);
    this.#names = new IndexNames([...params, ...this.#writes.keys()]);
  }

  write(): FunctionTree {
    const params = this.tree.params.flatMap((param) => {
      const rank = this.given.get(param.name);
      if (rank === undefined) return [param];
      const block = this.#names.block(param.name, rank, { line: 1, end: 1 });
      this.#set(param.name, block);
      return [...partsOf(block), ...lengthsOf(block)].map((part) => ({ name: textOf(part), constexpr: false }));
    });
    return { ...this.tree, params, body: this.#body(this.tree.body) };
  }

  #count(name: string): void {
    this.#writes.set(name, (this.#writes.get(name) ?? 0) + 1);
  }

  #countIn(body: readonly Statement[]): void {
    for (const statement of body) {
      if (statement.kind === "Assign") {
        statement.targets.flatMap(targetNames).forEach((name) => this.#count(name));
        const [target] = statement.targets;
        if (target?.kind !== "Name") continue;
        const callee = calleeName(statement.value);
        if (callee === MAKE) this.#makes.set(target.id, (this.#makes.get(target.id) ?? 0) + 1);
        if (callee === "tl.program_id") this.#counts.add(target.id);
      } else if (statement.kind === "For") {
        targetNames(statement.target).forEach((name) => this.#count(name));
        const { target, iter } = statement;
        const [first] = iter.kind === "Call" && iter.args.length > 1 ? iter.args : [];
        if (target.kind === "Name" && (!first || isZero(first))) this.#counts.add(target.id);
      } else if (statement.kind === "AugAssign" || statement.kind === "AnnAssign")
        targetNames(statement.target).forEach((name) => this.#count(name));
      if ("body" in statement) this.#countIn(statement.body);
      if ("orelse" in statement) this.#countIn(statement.orelse);
    }
  }

  #set(name: string, block: Block): void {
    this.#blocks = new Map([...this.#blocks, [name, block]]);
  }

  #body(body: readonly Statement[]): readonly Statement[] {
    return body.flatMap((statement) => this.#statement(statement));
  }

  #statement(statement: Statement): readonly Statement[] {
    const before: Statement[] = [];
    switch (statement.kind) {
      case "Assign": {
        const [target] = statement.targets;
        const callee = calleeName(statement.value);
        if (target?.kind === "Name" && callee === MAKE) return this.#made(target.id, statement.value as Call);
        if (target?.kind === "Name" && callee === ADVANCE) return this.#advanced(target.id, statement.value as Call);
        if (target?.kind === "Name" && statement.value.kind === "Name" && this.#blocks.has(statement.value.id)) {
          return refuse(`${target.id}, another name of a block pointer`, statement.line);
        }
        break;
      }
      case "If": {
        const known = this.#blocks;
        const arms = [statement.body, statement.orelse].map((arm) => {
          this.#blocks = known;
          const made = this.#body(arm);
          return { made, blocks: this.#blocks };
        });
        // A pointer that several arms make has the same variables in each of them.
        this.#blocks = new Map(arms.flatMap(({ blocks }) => [...blocks]));
        const test = this.#accesses(statement.test, before);
        return [...before, { ...statement, test, body: arms[0]!.made, orelse: arms[1]!.made }];
      }
      case "For": {
        const iter = this.#accesses(statement.iter, before);
        return [...before, { ...statement, iter, body: this.#body(statement.body) }];
      }
      case "While":
        return [{ ...statement, test: this.#accesses(statement.test), body: this.#body(statement.body) }];
      default:
    }
    const made = this.#accesses(statement, before);
    return [...before, made];
  }

  /** `p = tl.make_block_ptr(…)`: what the kernel changes later gets a variable. */
  #made(name: string, call: Call): readonly Statement[] {
    const { bound = {} } = call;
    const lists = ["shape", "strides", "offsets", "block_shape"].map((part) => itemsOf(bound[part], part, call));
    const [shape, strides, offsets, lengths] = lists as [Expression[], Expression[], Expression[], Expression[]];
    const { base } = bound;
    if (!base || !("kind" in base)) return refuse("a block pointer without a base", call.line);
    const block = this.#names.block(name, shape.length, call);
    const before: Statement[] = [];
    const isShared = (this.#makes.get(name) ?? 0) > 1;
    const held = (value: Expression, variable: Expression, isMoved = false): Expression => {
      if (!isMoved && !isShared && this.#stays(value)) return value;
      before.push(assigned(textOf(variable), this.#accesses(value, before)));
      return {
        ...variable,
        types: value.types.some(({ kind }) => kind === "constant") ? INDEX : value.types,
      } as Expression;
    };
    const made: Block = {
      base: held(base, block.base),
      shape: shape.map((each, i) => held(each, block.shape[i]!)),
      strides: strides.map((each, i) => held(each, block.strides[i]!)),
      offsets: offsets.map((each, i) => held(each, block.offsets[i]!, this.#isMoved(name, i))),
      lengths,
      isMade: true,
    };
    this.#set(name, made);
    return before;
  }

  /** Whether an expression has the same value wherever it is used behind its place. */
  #stays(node: Expression): boolean {
    return this.#names.reads(node).every((name) => (this.#writes.get(name) ?? 0) <= 1);
  }

  /** Whether the function advances a pointer along this axis. */
  #isMoved(name: string, axis: number): boolean {
    const visit = (body: readonly Statement[]): boolean =>
      body.some((statement) => {
        if (statement.kind === "Assign" && calleeName(statement.value) === ADVANCE) {
          const call = statement.value as Call;
          const from = call.bound?.["base"];
          const by = itemsOf(call.bound?.["offsets"], "offsets", call)[axis];
          return from && "kind" in from && from.kind === "Name" && from.id === name && by !== undefined && !isZero(by);
        }
        return (
          ("body" in statement && visit(statement.body)) || ("orelse" in statement && visit(statement.orelse)) || false
        );
      });
    return visit(this.tree.body);
  }

  /** `p = tl.advance(p, (0, BLOCK))` */
  #advanced(name: string, call: Call): readonly Statement[] {
    const from = call.bound?.["base"];
    if (!from || !("kind" in from) || from.kind !== "Name" || from.id !== name)
      return refuse("tl.advance that makes another block pointer than it moves", call.line);
    const block = this.#blocks.get(name) ?? refuse("tl.advance of what is no block pointer here", call.line);
    const before: Statement[] = [];
    return itemsOf(call.bound?.["offsets"], "offsets", call).flatMap((by, axis): readonly Statement[] => {
      if (isZero(by)) return [];
      const offset = block.offsets[axis];
      if (offset?.kind !== "Name") return refuse("tl.advance of more axes than the block pointer has", call.line);
      const moved = assigned(offset.id, ofIndices("Add", offset, this.#accesses(by, before)));
      return [...before.splice(0), moved];
    });
  }

  /** A node with its accesses through block pointers written out; their indices are made before it. */
  #accesses<T extends object>(node: T, before?: Statement[]): T {
    const made = replaceNodes(node, (each) => {
      if (!("kind" in each)) return undefined;
      const expression = each as Expression;
      if (expression.kind === "Attribute") return this.#dtype(expression);
      if (expression.kind !== "Call") return undefined;
      const { bound = {}, callee } = expression;
      const own = callee?.what === "function" ? callee.name : undefined;
      if (own === MAKE || own === ADVANCE)
        return refuse("a block pointer that is no variable of its own", expression.line);
      if (callee?.what === "helper") return this.#passed(expression, callee.number);
      const pointer = bound["pointer"];
      if (!pointer || !("kind" in pointer) || pointer.kind !== "Name") return undefined;
      const block = this.#blocks.get(pointer.id);
      if (!block) return undefined;
      if (!before) return refuse("an access through a block pointer in the condition of a loop", expression.line);
      const access = accessThrough(block, pointer.id, expression, this.#names, this.#counts);
      before.push(...access.indices);
      return access.call;
    });
    const [other] = this.#names.reads(made).filter((name) => this.#blocks.has(name) && this.#blocks.get(name)!.isMade);
    const line = "line" in node && typeof node.line === "number" ? node.line : this.tree.line;
    return other === undefined
      ? made
      : refuse(`${other}, a block pointer, outside of tl.load, tl.store and tl.advance`, line);
  }

  /** `p.dtype.element_ty` is what the base has. */
  #dtype(node: Extract<Expression, { kind: "Attribute" }>): Expression | undefined {
    const inner = node.value;
    if (inner.kind !== "Attribute" || inner.value.kind !== "Name") return undefined;
    const block = this.#blocks.get(inner.value.id);
    if (!block) return undefined;
    let base = block.base;
    while (base.kind === "BinOp") base = base.left;
    return { ...node, value: { ...inner, value: base } };
  }

  /** A helper function gets the parts of a block pointer. */
  #passed(node: Call, callee: number): Call | undefined {
    const { bound = {}, parameters = [] } = node;
    const blocks = new Map(
      Object.entries(bound).flatMap(([parameter, given]) => {
        const block = "kind" in given && given.kind === "Name" ? this.#blocks.get(given.id) : undefined;
        return block ? [[parameter, block] as const] : [];
      }),
    );
    this.reached(callee, new Map([...blocks].map(([name, { shape }]) => [name, shape.length])));
    if (blocks.size === 0) return undefined;
    const names = new IndexNames([]);
    const parts = parameters.flatMap((parameter): readonly (readonly [string, Expression | undefined])[] => {
      const block = blocks.get(parameter);
      const given = bound[parameter];
      if (!block) return [[parameter, given && "kind" in given ? given : undefined]];
      const own = names.block(parameter, block.shape.length, node);
      const values = [...partsOf(block), ...lengthsOf(block)];
      return [...partsOf(own), ...lengthsOf(own)].map((part, i) => [textOf(part), values[i]] as const);
    });
    const made = Object.fromEntries(parts.flatMap(([name, value]) => (value ? [[name, value] as const] : [])));
    return { ...withArguments(node, made), parameters: parts.map(([name]) => name) };
  }
}

const textOf = (node: Expression): string => (node.kind === "Name" ? node.id : "");
const isZero = (node: Expression): boolean => node.kind === "Constant" && node.value === 0;

function itemsOf(given: Expression | readonly Expression[] | undefined, part: string, call: Call): Expression[] {
  if (given && !("kind" in given)) return [...given];
  if (given && (given.kind === "Tuple" || given.kind === "List")) return [...given.elts];
  return refuse(`${part} of a block pointer that is no list in the text`, call.line);
}

function refuse(what: string, line: number): never {
  const remedy =
    "write the address and a mask for each axis of boundary_check in its place, x_ptr + rows[:, None] * stride + cols[None, :]";
  throw new UnsupportedConstruct(`${what}; ${remedy}`, { line });
}
