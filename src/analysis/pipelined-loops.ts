/**
 * The loops that Triton's pipeliner rewrites, and the loads that it moves to earlier iterations. A loop with `numStages`
 * is pipelined for all of its loads. Any other loop is pipelined, with the stages of the config, for the loads that
 * feed a product.
 */
import {
  type Argument,
  type Block,
  type ForStatement,
  isFunction,
  isLiteral,
  type KernelIR,
  operandOf,
  type OpStatement,
  type Statement,
  type Value,
  type Variable,
} from "../ir/nodes.js";
import { accessedMemory } from "./descriptor-tensors.js";
import { argumentsOf, blocksOf, callBindings, valuesIn, walkAll, typeOfArgument } from "../ir/walk.js";

export interface PipelinedLoop {
  readonly loop: ForStatement;
  /** The loads that Triton may execute in an earlier iteration than the author's code does. */
  readonly moved: ReadonlySet<OpStatement>;
  /** The loads that Triton executes as many iterations earlier as there are other stages. */
  readonly fullyMoved: ReadonlySet<OpStatement>;
  /** The stores and atomics. */
  readonly writes: ReadonlySet<OpStatement>;
  /** The writes that every iteration executes. */
  readonly unconditional: ReadonlySet<OpStatement>;
}

/** The pipelined loops in which a moved load and a write may access the same memory. */
export function pipelinedLoops(ir: KernelIR): readonly PipelinedLoop[] {
  const loops = pipelinedBodies(ir).flatMap((body): readonly PipelinedLoop[] => {
    if (body.writes.size === 0) return [];
    const moved = body.movedLoads();
    return moved.size > 0 ? [{ loop: body.loop, moved, ...body.order(moved) }] : [];
  });
  if (loops.length === 0 || assignsPointers(ir)) return loops;
  const memory = accessedMemory(ir);
  return loops.filter(({ moved, writes }) =>
    [...moved].some((load) => [...writes].some((write) => mayMeet(load, write))),
  );

  function mayMeet(load: OpStatement, write: OpStatement): boolean {
    const [read, written] = [memory.get(load), memory.get(write)];
    if (!read || !written) return true;
    return [...read].some(
      (x) => written.has(x) || (x.kind === "pointer" && [...written].some(({ kind }) => kind === "pointer")),
    );
  }
}

/** A loaded operand of a product that is also used without a product. */
export interface SharedOperand {
  readonly loop: ForStatement;
  readonly load: OpStatement;
  readonly product: OpStatement;
  /** The first other op. Undefined if only the next iteration uses the tile. */
  readonly user: OpStatement | undefined;
}

export const sharedOperands = (ir: KernelIR): readonly SharedOperand[] =>
  pipelinedBodies(ir).flatMap((body) => body.sharedOperands());

function pipelinedBodies(ir: KernelIR): readonly LoopBody[] {
  const bodies: LoopBody[] = [];
  walkAll(ir, (statement) => {
    if (statement.kind === "for" && !statement.unrolled) bodies.push(new LoopBody(statement));
  });
  return bodies.filter(({ isPipelined, loads }) => isPipelined && loads.size > 0);
}

/** True if a variable holds an address, which may then belong to several arguments. */
function assignsPointers(ir: KernelIR): boolean {
  let isAssigned = false;
  walkAll(ir, (statement) => {
    if (statement.kind === "write" && "access" in statement.variable.type) isAssigned = true;
  });
  return isAssigned;
}

/** An op of a loop's body, a branch or a call, and the ones whose results it uses. */
interface Node {
  readonly statement: OpStatement | undefined;
  readonly inputs: Set<Node>;
  /** True inside a branch that the GPU decides, or inside a loop of the body. */
  readonly isNested: boolean;
}

/** The dataflow of one iteration, with helper functions inlined and branches on constexprs joined. */
class LoopBody {
  isPipelined = true;
  readonly loads = new Set<Node>();
  readonly writes = new Set<OpStatement>();
  readonly #unconditional = new Set<OpStatement>();
  readonly #nodes: Node[] = [];
  readonly #values = new Map<Value, Node>();
  /** The variables that this iteration has assigned so far. */
  #state = new Map<Variable, Node>();
  readonly #declared = new Set<Variable>();
  #calls = 0;
  readonly loop: ForStatement;

  constructor(loop: ForStatement) {
    this.loop = loop;
    this.#block(loop.body, false);
  }

  get #isFlattened(): boolean {
    const flatten = this.loop.options["flatten"];
    return isLiteral(flatten) && flatten.value === true;
  }

  /** The loads that the pipeliner moves, with those that their addresses and masks depend on. */
  movedLoads(): ReadonlySet<OpStatement> {
    const hasStages = this.loop.options["numStages"] !== undefined;
    const isRoot = (node: Node): boolean =>
      !node.isNested && (hasStages ? this.loads.has(node) : node.statement?.op.facts.contracts === true);
    const isLoad = (node: Node): boolean => this.loads.has(node);
    const direct = [...reachable(this.#nodes.filter(isRoot))].filter((node) => isLoad(node) && !node.isNested);
    // A load in a branch moves only with an address that depends on it.
    const indirect = [...reachable(direct.flatMap(({ inputs }) => [...inputs]))].filter(isLoad);
    return new Set([...direct, ...indirect].flatMap(({ statement }) => statement ?? []));
  }

  sharedOperands(): readonly SharedOperand[] {
    const movedLoads = this.movedLoads();
    const carried = [...this.#state].flatMap(([variable, node]) => (this.#declared.has(variable) ? [] : node));
    return this.#nodes.flatMap(({ statement: product, isNested }) => {
      if (product?.op.facts.contracts !== true || isNested) return [];
      return ["a", "b"].flatMap((name) => {
        const operand = operandOf(product, name);
        const loaded = operand === undefined ? [] : valuesIn(operand).flatMap((value) => this.#values.get(value) ?? []);
        const forms = transposed(loaded);
        const load = [...forms].find((form) => this.loads.has(form))?.statement;
        if (load === undefined || !movedLoads.has(load)) return [];
        const uses = (node: Node): boolean => operandNodes(node).some((input) => forms.has(input));
        const user = this.#nodes.find((node) => isOtherUse(node) && !forms.has(node) && uses(node))?.statement;
        const isCarried = carried.some((node) => forms.has(node) || uses(node));
        return user !== undefined || isCarried ? [{ loop: this.loop, load, product, user }] : [];
      });
    });
  }

  order(moved: ReadonlySet<OpStatement>): Pick<PipelinedLoop, "fullyMoved" | "writes" | "unconditional"> {
    const loads = [...this.loads].filter(({ statement }) => statement && moved.has(statement));
    const isIndirect = loads.some((load) => [...reachable([...load.inputs])].some((node) => this.loads.has(node)));
    const used = new Set(
      this.#nodes.flatMap((node) => (node.statement && !this.loads.has(node) ? operandNodes(node) : [])),
    );
    const isFullyMoved = (load: Node): boolean => !isIndirect && !load.isNested && !this.#isFlattened && used.has(load);
    return {
      fullyMoved: new Set(loads.filter(isFullyMoved).flatMap(({ statement }) => statement ?? [])),
      writes: this.writes,
      unconditional: this.#unconditional,
    };
  }

  #block({ statements }: Block, isNested: boolean): void {
    for (const statement of statements) this.#statement(statement, isNested);
  }

  #statement(statement: Statement, isNested: boolean): void {
    switch (statement.kind) {
      case "op":
        return this.#op(statement, isNested);
      case "let":
        this.#declared.add(statement.variable);
        this.#state.set(statement.variable, this.#node([statement.initial], isNested));
        return;
      case "write":
        this.#state.set(statement.variable, this.#node([statement.value], isNested));
        return;
      case "read": {
        // Otherwise an earlier iteration assigned it.
        const assigned = this.#state.get(statement.variable);
        if (assigned) this.#values.set(statement.result, assigned);
        return;
      }
      case "for":
      case "while":
        return this.#innerLoop(statement, isNested);
      case "if": {
        const isConstexpr = typeOfArgument(statement.condition).kind === "constexpr";
        return this.#branch(statement, isNested || !isConstexpr);
      }
      case "exit":
        return;
      default:
        return statement satisfies never;
    }
  }

  #op(statement: OpStatement, isNested: boolean): void {
    const { op, operands } = statement;
    const [callee] = operands;
    if (op.spelling.form === "apply" && isFunction(callee)) {
      const { body, noinline } = callee.function;
      for (const [param, argument] of callBindings(statement))
        this.#values.set(param, this.#node([argument], isNested));
      if (this.#calls++ >= MAX_CALLS) return;
      // Loads in a function that is called stay in it.
      this.#block(body, isNested || noinline);
      statement.results.forEach((result, i) => {
        const value = body.yields[i];
        if (value !== undefined) this.#values.set(result, this.#node([value], isNested));
      });
      return;
    }
    if (op.facts.preventsPipelining) this.isPipelined = false;
    const node = this.#node(argumentsOf(statement), isNested, statement);
    for (const result of statement.results) this.#values.set(result, node);
    if (!op.proof.memoryOperands) return;
    if (op.effect === "read") this.loads.add(node);
    else {
      this.writes.add(statement);
      if (!isNested) this.#unconditional.add(statement);
    }
  }

  /** Triton pipelines no loop with an inner one, unless it unrolls the inner loop or flattens both. */
  #innerLoop(statement: Extract<Statement, { kind: "for" | "while" }>, isNested: boolean): void {
    if (statement.kind === "for" && statement.unrolled) {
      // Each copy of the body reads the variables that the one before assigned.
      for (let copy = 0; copy < 2; copy++) this.#block(statement.body, isNested);
      return;
    }
    if (!isNested && !this.#isFlattened) this.isPipelined = false;
    for (const block of blocksOf(statement)) this.#block(block, isNested);
  }

  #branch(statement: Extract<Statement, { kind: "if" }>, isNested: boolean): void {
    const before = this.#state;
    const first = this.#nodes.length;
    const states = [statement.then, statement.otherwise].map((block) => {
      this.#state = new Map(before);
      this.#block(block, isNested);
      return this.#state;
    });
    const branch = this.#node([statement.condition], isNested);
    // The pipeliner moves a branch as a whole.
    if (isNested) for (const node of this.#nodes.slice(first)) if (node !== branch) branch.inputs.add(node);
    this.#state = new Map(before);
    for (const variable of new Set(states.flatMap((state) => [...state.keys()]))) {
      const assigned = states.map((state) => state.get(variable));
      if (assigned.every((node) => node === before.get(variable))) continue;
      this.#state.set(variable, this.#join([branch, ...assigned.filter((node) => node !== undefined)], isNested));
    }
    statement.results.forEach((result, i) => {
      const yielded = [statement.then, statement.otherwise].flatMap(({ yields }) => yields[i] ?? []);
      this.#values.set(result, this.#join([branch, this.#node(yielded, isNested)], isNested));
    });
  }

  #node(args: readonly Argument[], isNested: boolean, statement?: OpStatement): Node {
    // Triton moves no load for the accumulator of a product.
    const accumulator = statement?.op.facts.contracts ? operandOf(statement, "acc") : undefined;
    const values = args.filter((argument) => argument !== accumulator).flatMap(valuesIn);
    const inputs = new Set(values.flatMap((value) => this.#values.get(value) ?? []));
    const node = { statement, inputs, isNested };
    this.#nodes.push(node);
    return node;
  }

  #join(inputs: readonly Node[], isNested: boolean): Node {
    const node = { statement: undefined, inputs: new Set(inputs), isNested };
    this.#nodes.push(node);
    return node;
  }
}

/** Functions that call one another twice multiply the number of calls. The proof stops there too. */
const MAX_CALLS = 2_000;

/** The ops whose results a node uses, through calls, branches and variables. */
function operandNodes({ inputs }: Node): readonly Node[] {
  const found = new Set(inputs);
  for (const node of found) if (!node.statement) for (const input of node.inputs) found.add(input);
  return [...found].filter(({ statement }) => statement);
}

/** These nodes, and what they transpose: Triton transposes a buffer in place. */
function transposed(nodes: readonly Node[]): ReadonlySet<Node> {
  const found = new Set(nodes);
  for (const node of found)
    if (node.statement === undefined || node.statement.op.name === "trans")
      for (const input of node.inputs) found.add(input);
  return found;
}

/** True if an op reads a loaded tile into registers, which neither a transposition nor a product does. */
const isOtherUse = ({ statement }: Node): boolean =>
  statement !== undefined && statement.op.facts.contracts !== true && statement.op.name !== "trans";

function reachable(roots: readonly Node[]): ReadonlySet<Node> {
  const found = new Set(roots);
  for (const node of found) for (const input of node.inputs) found.add(input);
  return found;
}
