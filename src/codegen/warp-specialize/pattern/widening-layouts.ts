/**
 * The layouts of tiles that the widener computes from a packed block. Gluon combines only tiles of one layout. Other tiles,
 * such as loaded scales, get the layout of a tile that they are combined with, so they have one layout only.
 */
import {
  isFunction,
  isLiteral,
  isList,
  isValue,
  type OpStatement,
  type Statement,
  type Value,
} from "../../../ir/nodes.js";
import { argumentsOf, callBindings, definitions, valuesIn } from "../../../ir/walk.js";
import { permute, reshape } from "../../../ops/axes.js";
import { opOf } from "../../../ops/define.js";
import { join } from "../../../ops/join.js";
import type { Dim } from "../../../types/shape.js";
import { showType } from "../../../types/types.js";
import { notSpecializable } from "./not-specializable.js";
import { isLanewise } from "./rows.js";

type Definitions = ReadonlyMap<Value, Statement>;

export const rankOf = (value: Value | undefined): number => shapeOf(value).length;

const shapeOf = (value: Value | undefined): readonly Dim[] => {
  const { type } = value ?? {};
  return type && "shape" in type ? type.shape : [];
};

/** The layout of a tile that is computed from the block, and the axis of the block's columns in it. */
interface BlockLanes {
  /** The layout as moves from that of the block. Equal layouts have one text. */
  readonly layout: string;
  readonly columnAxis: number;
}

/** A tile that is computed from other numbers. */
class LooseTile {
  #layout: string | undefined;

  constructor(
    readonly sources: readonly (readonly [LooseTile, axis?: number])[],
    readonly statement: Statement,
  ) {}

  /** @throws {@link NotSpecializable} if it already has another layout. */
  assignLayout(layout: string): void {
    if (this.#layout === layout) return;
    if (this.#layout !== undefined)
      notSpecializable(
        "it combines numbers with the block both before and after tl.join, tl.permute or tl.reshape",
        this.statement.location,
      );
    this.#layout = layout;
    for (const [source, axis] of this.sources)
      source.assignLayout(axis === undefined ? layout : `slice ${axis} of ${layout}`);
  }
}

/** Undefined for a scalar. */
type Lanes = BlockLanes | LooseTile | undefined;

const isOfBlock = (lanes: Lanes): lanes is BlockLanes => lanes !== undefined && !(lanes instanceof LooseTile);

export class WideningLayouts {
  readonly #lanes = new Map<Value, Lanes>();

  constructor(
    readonly load: OpStatement,
    readonly columns: Dim,
    readonly definitionsOf: Definitions,
    parameters: readonly (readonly [Value, Lanes])[] = [],
    /** Tiles that are computed from no other one, by op and type. */
    readonly created = new Map<string, LooseTile>(),
  ) {
    for (const [value, lanes] of parameters) this.#lanes.set(value, lanes);
  }

  /**
   * @returns Undefined if the value is not computed from the block.
   * @throws {@link NotSpecializable} if Gluon has no layout for a tile, or if columns of the block are mixed.
   */
  lanesOf(value: Value): BlockLanes | undefined {
    const lanes = this.#lanesOf(value);
    return isOfBlock(lanes) ? lanes : undefined;
  }

  #lanesOf(value: Value): Lanes {
    if (this.#lanes.has(value)) return this.#lanes.get(value);
    const definition = this.definitionsOf.get(value);
    const lanes = definition?.kind === "op" ? this.#lanesOfResult(definition, value) : undefined;
    this.#lanes.set(value, lanes);
    return lanes;
  }

  #lanesOfResult(statement: OpStatement, result: Value): Lanes {
    if (statement === this.load) return { layout: "loaded", columnAxis: 1 };
    if (statement.op.spelling.form === "apply") return this.#lanesOfCall(statement, result);
    const operands = argumentsOf(statement).flatMap(valuesIn);
    const lanes = operands.map((each) => this.#lanesOf(each));
    const loose = lanes.filter((each) => each instanceof LooseTile);
    const [first, ...others] = lanes.filter(isOfBlock);
    if (first) {
      if (others.some(({ layout }) => layout !== first.layout))
        notSpecializable("it combines tiles of two layouts, which it computes from one block", statement.location);
      return this.#lanesOfMove(statement, first, loose, result);
    }
    if (loose.length > 0 && !isLoosable(statement, result))
      notSpecializable(`tl.${statement.op.name} has no layout before it meets the block`, statement.location);
    return rankOf(result) > 0 ? this.#looseTile(statement, operands) : undefined;
  }

  /** The emitter computes equal tiles once, so an arange has one layout. */
  #looseTile(statement: OpStatement, operands: readonly Value[]): LooseTile {
    const sources = this.#sources(statement, operands);
    const { op, results } = statement;
    const tile = new LooseTile(sources, statement);
    if (sources.length > 0) return tile;
    const [type] = results.map((each) => showType(each.type));
    const key = `${op.name} ${type}`;
    const equal = this.created.get(key) ?? tile;
    this.created.set(key, equal);
    return equal;
  }

  #lanesOfCall(statement: OpStatement, result: Value): Lanes {
    const [callee] = statement.operands;
    if (callee === undefined || !isFunction(callee)) return undefined;
    const { body } = callee.function;
    const bindings = callBindings(statement).map(
      ([param, argument]) => [param, isValue(argument) ? this.#lanesOf(argument) : undefined] as const,
    );
    const inner = new WideningLayouts(this.load, this.columns, definitions(body), bindings, this.created);
    const yielded = body.yields[statement.results.indexOf(result)];
    return yielded !== undefined && isValue(yielded) ? inner.#lanesOf(yielded) : undefined;
  }

  #lanesOfMove(statement: OpStatement, lanes: BlockLanes, loose: readonly LooseTile[], result: Value): BlockLanes {
    const { op, operands, options, location } = statement;
    const { layout, columnAxis } = lanes;
    const ranks = argumentsOf(statement).flatMap(valuesIn).map(rankOf);
    if (isLanewise(op) && ranks.every((rank) => rank === 0 || rank === rankOf(result))) {
      for (const each of loose) each.assignLayout(layout);
      return lanes;
    }
    if (op === opOf(join) && loose.length === 0) return { layout: `join of ${layout}`, columnAxis };
    const [, shape] = operands;
    if (op === opOf(permute) && shape !== undefined && isList(shape)) {
      const order = shape.map((each) => (isLiteral(each) ? Number(each.value) : 0));
      return { layout: `${order.join()} of ${layout}`, columnAxis: order.indexOf(columnAxis) };
    }
    if (op === opOf(reshape) && Object.keys(options).length === 0) {
      const dims = shapeOf(result);
      const isLast = columnAxis === rankOf(valuesIn(operands[0] ?? [])[0]) - 1 && dims.at(-1) === this.columns;
      const isFirst = columnAxis === 0 && dims[0] === this.columns;
      if (isLast || isFirst)
        return { layout: `${dims.join(" x ")} of ${layout}`, columnAxis: isLast ? dims.length - 1 : 0 };
    }
    return notSpecializable(`tl.${op.name} may mix the columns of the block that it widens`, location);
  }

  #sources({ op, operands }: OpStatement, values: readonly Value[]): LooseTile["sources"] {
    const tiles = values.map((each) => this.#lanesOf(each)).filter((each) => each instanceof LooseTile);
    if (op.spelling.form !== "expand") return tiles.map((each) => [each]);
    const [, axis] = operands;
    const literal = axis !== undefined && isList(axis) ? axis[0] : axis;
    return tiles.map((each) => [each, literal !== undefined && isLiteral(literal) ? Number(literal.value) : 0]);
  }
}

/** True for an op whose operands have the layout of its result, or a slice of it. */
function isLoosable({ op }: OpStatement, result: Value): boolean {
  const keepsLayout = isLanewise(op) || op.spelling.form === "expand" || isAccess(op);
  return keepsLayout && rankOf(result) > 0;
}

const isAccess = ({ effect, lowering }: OpStatement["op"]): boolean =>
  effect === "read" || lowering?.view !== undefined;
