/**
 * Random mistakes in the IR of a kernel: in arithmetic, conditions, bounds, masks, grids, strides, claims, promises and
 * requirements.
 */
import {
  type Argument,
  type Block,
  type FunctionIR,
  type HostBlock,
  isFunction,
  isList,
  isLiteral,
  isValue,
  type KernelIR,
  type Literal,
  type OpStatement,
  type Param,
  type Statement,
  Value,
} from "../../../src/ir/nodes.js";
import type { Location } from "../../../src/diagnostics/diagnostic.js";
import type { Op } from "../../../src/ir/op.js";
import { resultsOf } from "../../../src/ir/walk.js";
import { table } from "../../../src/ops/table.js";
import { isSigned, members } from "../../../src/types/dtype.js";
import { showType, type Type } from "../../../src/types/types.js";
import type { Draw } from "./launches.js";

export interface Mutant {
  readonly ir: KernelIR;
  readonly what: string;
}

const op = (name: string): Op => {
  const found = table.find((each) => each.name === name);
  if (!found) throw new Error(`there is no op ${name}`);
  return found;
};

const ARITHMETIC = ["add", "sub", "mul", "floorDiv", "mod", "minimum", "maximum", "cdiv"];
const COMPARISONS = ["lt", "le", "gt", "ge", "eq", "ne"];
const CONNECTIVES = ["and", "or"];
const GROUPS = [ARITHMETIC, COMPARISONS, CONNECTIVES].map((names) => names.map(op));

const literal = (value: number | boolean): Literal => ({ kind: "literal", value });

/** A kernel with one or two mistakes. Undefined if the draw fits nothing. */
export function mutate(ir: KernelIR, draw: Draw): Mutant | undefined {
  const mutator = new Mutator(ir, draw, FIRST_ID);
  const [first] = mutator.mutants();
  if (!first || draw(4) > 0) return first;
  const [second] = new Mutator(first.ir, draw, 2 * FIRST_ID).mutants();
  return second ? { ir: second.ir, what: `${first.what}; ${second.what}` } : first;
}

/** Above the ids of a kernel's values. */
const FIRST_ID = 1_000_000;

type Change = (statement: Statement, visible: readonly Value[]) => readonly Statement[] | undefined;

class Mutator {
  #what: string | undefined;
  readonly #functions = new Map<FunctionIR, FunctionIR>();

  constructor(
    readonly ir: KernelIR,
    readonly draw: Draw,
    /** The id of the first new value. */
    private nextId: number,
  ) {}

  /** At most one mutant. */
  mutants(): readonly Mutant[] {
    const { ir } = this;
    const change = this.#pick([
      () => this.#inBody(),
      () => this.#inBody(),
      () => this.#inBody(),
      () => this.#inBody(),
      () => this.#inBody(),
      () => this.#inBody(),
      () => ({ ...ir, grid: this.#hostBlock(ir.grid) }),
      () => ({ ...ir, requires: this.#requirements(ir.requires) }),
      () => ({ ...ir, params: this.#params(ir.params) }),
    ]);
    const mutated = change();
    return this.#what === undefined ? [] : [{ ir: mutated, what: this.#what }];
  }

  #pick<T>(values: readonly T[]): T {
    return values[this.draw(values.length)]!;
  }

  #did(what: string): void {
    this.#what = what;
  }

  // ---- the host -----------------------------------------------------------------------------------------------------

  #hostBlock(host: HostBlock, visible = this.#hostValues()): HostBlock {
    const { statements, yields } = host.block;
    const target = this.draw(statements.length + yields.length);
    if (target < statements.length) {
      const changed = this.#change(statements[target]!, visible);
      return changed ? { ...host, block: { statements: statements.toSpliced(target, 1, ...changed), yields } } : host;
    }
    const i = target - statements.length;
    const value = this.#otherArgument(yields[i]!, visible);
    if (value === undefined) return host;
    this.#did(`yield ${i} is ${textOf(value)} for ${textOf(yields[i]!)}`);
    return { ...host, block: { statements, yields: yields.with(i, value) } };
  }

  #hostValues(): readonly Value[] {
    return this.ir.params.flatMap((param) =>
      param.kind === "size" || param.kind === "constexpr" ? [param.value] : [],
    );
  }

  #requirements(host: HostBlock): HostBlock {
    const { statements, yields } = host.block;
    // Ranges and partitions imply others, which have no location.
    const implied = new Set(statements.filter(({ location }) => location === undefined).flatMap(resultsOf));
    const own = yields.flatMap((value, i) => (isValue(value) && implied.has(value) ? [] : [i]));
    if (own.length === 0) return host;
    if (this.draw(2) === 0) return implied.size === 0 ? this.#hostBlock(host) : host;
    const i = this.#pick(own);
    this.#did(`requirement ${i} is left out`);
    return { ...host, block: { statements, yields: yields.toSpliced(i, 1) } };
  }

  #params(params: readonly Param[]): readonly Param[] {
    const i = this.draw(params.length);
    const param = params[i]!;
    const changed = this.#param(param);
    return changed ? params.with(i, changed) : params;
  }

  #param(param: Param): Param | undefined {
    if (param.kind === "tensor" && param.range && this.draw(2) === 0) {
      this.#did(`${param.name} has no range`);
      const { range: _range, partition: _partition, ...rest } = param;
      return rest;
    }
    if (param.kind === "tensor" && param.zeroed) {
      this.#did(`${param.name} is not zeroed`);
      return { ...param, zeroed: false };
    }
    // What the launch computes may not depend on itself.
    const sizes = this.ir.params.flatMap((each) => (each.kind === "size" && !each.derived ? [each.value] : []));
    if (param.kind === "size" && param.derived) return { ...param, derived: this.#hostBlock(param.derived, sizes) };
    if (param.kind === "constexpr" && param.compute)
      return { ...param, compute: this.#hostBlock(param.compute, sizes) };
    if (param.kind === "tensor" && param.range && !param.partition)
      return { ...param, range: this.#hostBlock(param.range, sizes) };
    return undefined;
  }

  // ---- the body -----------------------------------------------------------------------------------------------------

  #inBody(): KernelIR {
    let count = 0;
    this.#rewriteKernel(() => void count++);
    let target = this.draw(Math.max(1, count));
    return this.#rewriteKernel((statement, visible) => (target-- === 0 ? this.#change(statement, visible) : undefined));
  }

  #rewriteKernel(change: (...args: Parameters<Change>) => ReturnType<Change> | void): KernelIR {
    const { ir } = this;
    this.#functions.clear();
    const params = ir.params.flatMap((param) => {
      const strides = param.kind === "tensor" ? param.strides.filter(isValue) : [];
      return param.kind === "tensor" || param.kind === "pointer" ? strides : [param.value, ...strides];
    });
    for (const each of ir.functions)
      this.#functions.set(each, { ...each, body: this.#rewrite(each.body, each.params, change as Change) });
    const body = this.#rewrite(ir.body, params, change as Change);
    return { ...ir, functions: [...this.#functions.values()], body };
  }

  #rewrite({ statements, yields }: Block, outer: readonly Value[], change: Change): Block {
    const visible = [...outer];
    const rewritten = statements.flatMap((statement) => {
      const changed = change(statement, visible) ?? [statement];
      const nested = changed.map((each) => this.#nested(each, visible, change));
      visible.push(...resultsOf(statement));
      return nested;
    });
    return { statements: rewritten, yields: yields.map((each) => this.#argument(each)) };
  }

  #nested(statement: Statement, visible: readonly Value[], change: Change): Statement {
    switch (statement.kind) {
      case "op": {
        const operands = statement.operands.map((each) => each && this.#argument(each));
        return { ...statement, operands };
      }
      case "for":
        return { ...statement, body: this.#rewrite(statement.body, [...visible, statement.index], change) };
      case "while":
        return {
          ...statement,
          condition: this.#rewrite(statement.condition, visible, change),
          body: this.#rewrite(statement.body, visible, change),
        };
      case "if":
        return {
          ...statement,
          then: this.#rewrite(statement.then, visible, change),
          otherwise: this.#rewrite(statement.otherwise, visible, change),
        };
      case "let":
      case "read":
      case "write":
      case "exit":
        return statement;
      default:
        return statement satisfies never;
    }
  }

  /** An argument with the rewritten helper functions. */
  #argument(argument: Argument): Argument {
    if (isList(argument)) return argument.map((each) => this.#argument(each));
    if (!isFunction(argument)) return argument;
    return { kind: "function", function: this.#functions.get(argument.function) ?? argument.function };
  }

  #change(statement: Statement, visible: readonly Value[]): readonly Statement[] | undefined {
    switch (statement.kind) {
      case "op":
        return this.#changeOp(statement, visible);
      case "for": {
        const part = this.#pick(["start", "end", "step"] as const);
        return this.#changeArgument(statement[part], visible, `the loop's ${part}`, (value) => ({
          ...statement,
          [part]: value,
        }));
      }
      case "if":
        if (this.draw(3) > 0 || statement.condition === undefined)
          return this.#changeArgument(statement.condition, visible, "a condition", (condition) => ({
            ...statement,
            condition,
          }));
        if (statement.results.length > 0) return undefined;
        this.#did("arms change places");
        return [{ ...statement, then: statement.otherwise, otherwise: statement.then }];
      case "let":
        return this.#changeArgument(statement.initial, visible, "a first value", (initial) => ({
          ...statement,
          initial,
        }));
      case "write":
        return this.#changeArgument(statement.value, visible, "a state", (value) => ({ ...statement, value }));
      case "while":
      case "read":
      case "exit":
        return undefined;
      default:
        return statement satisfies never;
    }
  }

  #changeArgument(
    argument: Argument,
    visible: readonly Value[],
    place: string,
    withArgument: (argument: Argument) => Statement,
  ): readonly Statement[] | undefined {
    const moved = isValue(argument) && this.draw(2) === 0 ? this.#moved(argument, visible) : undefined;
    if (moved) {
      this.#did(`${place} is ${moved.text}`);
      return [...moved.statements, withArgument(moved.value)];
    }
    const other = this.#otherArgument(argument, visible);
    if (other === undefined) return undefined;
    this.#did(`${place} is ${textOf(other)} for ${textOf(argument)}`);
    return [withArgument(other)];
  }

  #changeOp(statement: OpStatement, visible: readonly Value[]): readonly Statement[] | undefined {
    const kinds = [
      () => this.#otherOp(statement),
      () => this.#otherOp(statement),
      () => this.#otherOperand(statement, visible),
      () => this.#otherOperand(statement, visible),
      () => this.#otherOption(statement, visible),
      () => this.#guarded(statement, visible),
      () => this.#assumed(statement, visible),
    ];
    const start = this.draw(kinds.length);
    for (let i = 0; i < kinds.length; i++) {
      const changed = kinds[(start + i) % kinds.length]!();
      if (changed) return changed;
    }
    return undefined;
  }

  #otherOp(statement: OpStatement): readonly Statement[] | undefined {
    const group = GROUPS.find((each) => each.includes(statement.op));
    const [result] = statement.results;
    if (!group || !result || !isInteger(result.type)) return undefined;
    const operands = statement.operands.filter((each) => each !== undefined);
    if (operands.length !== 2) return undefined;
    const other = this.#pick(group.filter((each) => each !== statement.op));
    const isConstant = result.type.kind === "constexpr";
    if (isConstant ? !other.fold : !other.evaluate) return undefined;
    // On a bool, these ops mean others.
    if (group !== GROUPS[1] && group !== GROUPS[2] && isTruth(result.type)) return undefined;
    this.#did(`${other.name} for ${statement.op.name} in line ${statement.location?.line}`);
    return [{ ...statement, op: other, options: {} }];
  }

  #otherOperand(statement: OpStatement, visible: readonly Value[]): readonly Statement[] | undefined {
    const { op: changed, operands } = statement;
    const isIndexed = changed.effect !== "pure" || changed.lowering?.view !== undefined;
    const isNumeric =
      GROUPS.some((group) => group.includes(changed)) ||
      ["programId", "numPrograms", "inBounds"].includes(changed.name);
    if (!isIndexed && !isNumeric && changed.facts.integer === undefined) {
      if (statement.results[0]?.type.kind !== "pointer") return undefined;
    }
    const i = this.draw(operands.length);
    const operand = operands[i];
    if (operand === undefined) return undefined;
    const place = `operand ${i} of ${changed.name} in line ${statement.location?.line}`;
    const put = (value: Argument): Statement => ({ ...statement, operands: operands.with(i, value) });
    if (!isList(operand)) return this.#changeArgument(operand, visible, place, put);
    const j = this.draw(operand.length);
    const item = operand[j];
    if (item === undefined) return undefined;
    if (operand.length > 1 && this.draw(3) === 0) {
      const k = (j + 1) % operand.length;
      const [a, b] = [operand[j]!, operand[k]!];
      if (!isValue(a) || !isValue(b) || showType(a.type) !== showType(b.type)) return undefined;
      this.#did(`${place}: items ${j} and ${k} change places`);
      return [put(operand.with(j, b).with(k, a))];
    }
    return this.#changeArgument(item, visible, `${place}, item ${j},`, (value) => put(operand.with(j, value)));
  }

  #otherOption(statement: OpStatement, visible: readonly Value[]): readonly Statement[] | undefined {
    const { options, op: changed } = statement;
    const name = this.#pick(["mask", "claimed", "other"]);
    const option = options[name];
    if (option === undefined) return undefined;
    if (name === "mask" && this.draw(2) === 0) {
      this.#did(`${changed.name} in line ${statement.location?.line} has no mask`);
      const { mask: _mask, ...rest } = options;
      return [{ ...statement, options: rest }];
    }
    const put = (value: Argument): Statement => ({ ...statement, options: { ...options, [name]: value } });
    const place = `${name} of ${changed.name} in line ${statement.location?.line}`;
    if (!isList(option)) return this.#changeArgument(option, visible, place, put);
    const i = this.draw(option.length);
    const item = option[i];
    if (item === undefined) return undefined;
    return this.#changeArgument(item, visible, place, (value) => put(option.with(i, value)));
  }

  /** A statement without results under a condition that may wrap. */
  #guarded(statement: OpStatement, visible: readonly Value[]): readonly Statement[] | undefined {
    if (statement.results.length > 0) return undefined;
    const condition = this.#condition(statement, visible);
    if (!condition) return undefined;
    this.#did(`${statement.op.name} in line ${statement.location?.line} runs if ${condition.text}`);
    const empty: Block = { statements: [], yields: [] };
    const guard: Statement = {
      kind: "if",
      condition: condition.value,
      then: { statements: [statement], yields: [] },
      otherwise: empty,
      results: [],
      location: statement.location,
    };
    return [...condition.statements, guard];
  }

  /** A claim in front of a statement. */
  #assumed(statement: OpStatement, visible: readonly Value[]): readonly Statement[] | undefined {
    const condition = this.#condition(statement, visible);
    if (!condition) return undefined;
    this.#did(`line ${statement.location?.line} assumes ${condition.text}`);
    const claim: Statement = {
      kind: "op",
      op: op("assume"),
      operands: [condition.value],
      options: {},
      results: [],
      location: this.#place(statement.location),
    };
    return [...condition.statements, claim, statement];
  }

  /** A comparison of two int32 scalars, one of them plus or times a number. */
  #condition(statement: OpStatement, visible: readonly Value[]) {
    const scalars = visible.filter(
      ({ type }) => type.kind === "tile" && type.shape.length === 0 && type.dtype === "int32",
    );
    if (scalars.length === 0) return undefined;
    const [x, y] = [this.#pick(scalars), this.#pick(scalars)];
    const moved = this.#moved(x, visible, statement);
    if (!moved) return undefined;
    const compare = this.#pick(GROUPS[1]!);
    const bound = this.draw(2) === 0 ? y : literal(this.#number());
    const type: Type = { kind: "tile", dtype: "int1", shape: [] } as Type;
    const value = this.#value(type, x, compare);
    const comparison: Statement = {
      kind: "op",
      op: compare,
      operands: [moved.value, bound],
      options: {},
      results: [value],
      location: this.#place(statement.location),
    };
    const text = `${moved.text} ${compare.name} ${textOf(bound)}`;
    return { statements: [...moved.statements, comparison], value, text };
  }

  /** A value plus, minus or times a number, or another value. */
  #moved(x: Value, visible: readonly Value[], at?: OpStatement) {
    if (x.type.kind !== "tile" || !isSignedInteger(x.type)) return undefined;
    const change = this.#pick(["add", "sub", "mul", "floorDiv", "mod"].map(op));
    const others = visible.filter(({ type }) => showType(type) === showType(x.type));
    const isDivision = change.name === "floorDiv" || change.name === "mod";
    const other = others.length > 0 && this.draw(3) === 0 ? this.#pick(others) : undefined;
    const by: Argument = other ?? literal(isDivision ? 1 + this.draw(5) : this.#number());
    const value = this.#value(x.type, x, change);
    const statement: Statement = {
      kind: "op",
      op: change,
      operands: [x, by],
      options: {},
      results: [value],
      location: this.#place(at?.location ?? x.location),
    };
    return { statements: [statement], value, text: `${change.name}(${textOf(x)}, ${textOf(by)})` };
  }

  /** A place of its own in the line, so that findings of new ops are told apart. */
  #place(location: Location | undefined): Location | undefined {
    return location && { ...location, column: this.nextId };
  }

  #value(type: Type, like: Value, definedBy: Op): Value {
    return new Value(this.nextId++, type, like.scope, like.location, undefined, true, definedBy);
  }

  /** A small number, or one that makes an int32 wrap. */
  #number(): number {
    const { int32End: end } = this.ir.limits;
    return this.#pick([1, -1, 2, 3, end - 1, end - 2, end / 2, end / 4, Math.floor(Math.sqrt(end)), this.draw(end)]);
  }

  /** Another literal, or another value of the same type. */
  #otherArgument(argument: Argument, visible: readonly Value[]): Argument | undefined {
    if (isLiteral(argument)) {
      const { value } = argument;
      if (typeof value === "boolean") return literal(!value);
      if (typeof value !== "number") return undefined;
      if (!Number.isInteger(value)) return literal(0);
      return literal(this.#pick([value + 1, value - 1, value * 2, 0, this.#number()].filter((each) => each !== value)));
    }
    if (!isValue(argument)) return undefined;
    const type = showType(argument.type);
    const isNumber = argument.type.kind === "constexpr" && argument.type.of === "int";
    const others = visible.filter((each) => {
      if (each === argument) return false;
      return isNumber ? each.type.kind === "constexpr" && each.type.of === "int" : showType(each.type) === type;
    });
    return others.length > 0 ? this.#pick(others) : undefined;
  }
}

function isInteger(type: Type): boolean {
  if (type.kind === "constexpr") return type.of === "int" || type.of === "bool";
  return type.kind === "tile" && (type.dtype === "int1" || isSignedInteger(type));
}

const isTruth = (type: Type): boolean =>
  type.kind === "constexpr" ? type.of === "bool" : type.kind === "tile" && type.dtype === "int1";

const isSignedInteger = (type: Type): boolean => type.kind === "tile" && members(type.dtype).every(isSigned);

function textOf(argument: Argument): string {
  if (isLiteral(argument)) return String(argument.value);
  return isValue(argument) ? (argument.parameter ?? `%${argument.id}`) : "…";
}
