/** The tiles of the author's grid that one program computes in sequence. */
import type { Argument, Block, OpStatement, Value } from "../../../ir/nodes.js";
import { axisOf, type LongestTiles } from "../pattern/tile-schedule.js";
import { tileType } from "../../../types/types.js";
import type { Expression } from "../../syntax/py.js";
import * as py from "../../syntax/py-build.js";
import { SWIZZLE_2D } from "./helpers.js";
import { INTEGER, type PartitionBuilder } from "./partition-builder.js";

const PROGRAM = py.call("tl.program_id", py.number("0"));
const PROGRAMS = py.call("tl.num_programs", py.number("0"));
const BOOL = tileType("int1", []);
/** Tiles of a head that programs compute at the same time, so that they share its keys in the L2 cache. */
const NEIGHBORS = 4;

const TRUE: Argument = { kind: "literal", value: true };

interface Tile {
  readonly index: Value;
  /** The sizes of the grid. */
  readonly sizes: readonly Argument[];
  readonly round: Value | undefined;
  readonly byLength: TileByLength | undefined;
}

/** A tile of a grid in which the tiles at the end of one axis take longest. */
interface TileByLength {
  readonly axis: number;
  /** The distance from the end of the axis. */
  readonly position: Value;
  /** The index in the grid of the other axes. */
  readonly others: Value;
}

export class TileLoop {
  /** Undefined if a program computes one tile. */
  #tile: Tile | undefined;

  constructor(readonly builder: PartitionBuilder) {}

  /** The number of tiles that the program has already computed, in {@link forEachTileInRounds}. */
  get round(): Value | undefined {
    return this.#tile?.round;
  }

  /**
   * Appends `for tile in range(program, tiles, programs)`. `query` is the kernel's single program-id query, if it has
   * just one.
   */
  forEachTile(grid: Block, query: OpStatement | undefined, body: () => void): void {
    const end = this.#tileCount(grid);
    const start = this.builder.value(INTEGER, () => PROGRAM);
    const step = this.builder.value(INTEGER, () => PROGRAMS);
    // The author's variable name of the program id becomes that of the tile.
    const [programId] = query && grid.yields.length === 1 ? query.results : [];
    const index = programId ?? this.builder.freshValue(INTEGER);
    this.builder.appendFor(index, end, () => this.#inTile(index, grid, body), {
      start,
      step,
      location: query?.location,
    });
  }

  /**
   * Appends a loop that assigns tiles in zigzag order: every second round starts with the last program. The longest
   * tiles come first, for all indices of the other axes. Each program then gets as many of the long
   * tiles as the others, whatever the number of programs.
   */
  forEachTileInRounds(grid: Block, longest: LongestTiles | undefined, body: () => void): void {
    const { builder } = this;
    const gridSize = this.#tileCount(grid);
    const tiles = builder.namedValue("tiles", INTEGER, (count) => count, gridSize);
    const programs = builder.value(INTEGER, () => PROGRAMS);
    const end = builder.value(
      INTEGER,
      (count, programCount) => py.call("tl.cdiv", count, programCount),
      tiles,
      programs,
    );
    const round = builder.freshValue(INTEGER);
    builder.appendFor(round, end, () => {
      const tile = builder.namedValue("tile", INTEGER, tileInRound, round);
      const isInGrid = builder.value(BOOL, (tileIndex, count) => py.compare(tileIndex, ["<", count]), tile, tiles);
      builder.appendIf(isInGrid, () => {
        const byLength = longest && this.#byLength(tile, grid.yields, longest);
        this.#inTile(tile, grid, body, { round, byLength });
      });
    });
  }

  #byLength(tile: Value, sizes: readonly Argument[], { axis, branch }: LongestTiles): TileByLength | undefined {
    if (sizes.length === 1) return undefined;
    const { builder } = this;
    const [position, others] = [builder.freshValue(INTEGER), builder.freshValue(INTEGER)];
    const build = (index: Expression, size: Expression, flag: Expression, ...otherSizes: readonly Expression[]) => {
      const count = productOf(otherSizes);
      const neighbors = py.number(String(NEIGHBORS));
      // If all tiles take equally long, all of a head come first.
      const [then, otherwise] = branch?.isThen === false ? [size, neighbors] : [neighbors, size];
      const group = branch ? py.conditional(then, flag, otherwise) : neighbors;
      return py.call(SWIZZLE_2D, py.binary(index, "//", count), py.binary(index, "%", count), size, count, group);
    };
    const operands = [tile, sizeOf(sizes, axis), branch?.condition ?? TRUE, ...sizes.toSpliced(axis, 1)] as const;
    builder.appendUnpacked("position, others", [position, others], build, ...operands);
    return { axis, position, others };
  }

  /**
   * Appends the program id on an axis of the grid, whose first axis varies fastest. With `isFromLast`, the id counts
   * down from the last program.
   */
  appendProgramId(statement: OpStatement, isFromLast = false): void {
    const axis = axisOf(statement) ?? 0;
    if (this.#tile?.index === statement.results[0]) return;
    if (!this.#tile) {
      const query = (name: string) => py.call(name, py.number(String(axis)));
      const build = () =>
        isFromLast ? fromLast(query("tl.num_programs"), query("tl.program_id")) : query("tl.program_id");
      return this.builder.append(this.builder.replaceOp(statement, build));
    }
    const { index, sizes, byLength } = this.#tile;
    if (byLength?.axis === axis)
      return this.builder.append(this.builder.replaceOp(statement, fromLast, sizeOf(sizes, axis), byLength.position));
    const build = (tile: Expression, ...sizeExpressions: readonly Expression[]): Expression => {
      const id = indexIn(tile, sizeExpressions, byLength && byLength.axis < axis ? axis - 1 : axis);
      return isFromLast ? fromLast(sizeExpressions[axis] ?? py.number("1"), id) : id;
    };
    const [tile, axes] = byLength ? [byLength.others, sizes.toSpliced(byLength.axis, 1)] : [index, sizes];
    this.builder.append(this.builder.replaceOp(statement, build, tile, ...axes));
  }

  #tileCount({ statements, yields }: Block): Value {
    const { builder } = this;
    builder.append(...statements);
    return builder.value(INTEGER, (...sizes) => productOf(sizes), ...yields);
  }

  #inTile(
    index: Value,
    { yields }: Block,
    body: () => void,
    order: Pick<Tile, "round" | "byLength"> = { round: undefined, byLength: undefined },
  ): void {
    this.#tile = { index, sizes: yields, ...order };
    body();
    this.#tile = undefined;
  }
}

const productOf = (factors: readonly Expression[]): Expression => factors.reduce((x, y) => py.binary(x, "*", y));

const sizeOf = (sizes: readonly Argument[], axis: number): Argument => sizes[axis] ?? { kind: "literal", value: 1 };

/** The index on an axis of the grid, whose first axis varies fastest. */
function indexIn(tile: Expression, sizes: readonly Expression[], axis: number): Expression {
  const faster = sizes.slice(0, axis);
  const quotient = faster.length === 0 ? tile : py.binary(tile, "//", productOf(faster));
  return axis === sizes.length - 1 ? quotient : py.binary(quotient, "%", sizes[axis] ?? py.number("1"));
}

const fromLast = (count: Expression, index: Expression): Expression =>
  py.binary(py.binary(count, "-", py.number("1")), "-", index);

/** The program's tile in a round. Every second round starts with the last program. */
function tileInRound(round: Expression): Expression {
  const isReversed = py.compare(py.binary(round, "%", py.number("2")), ["==", py.number("1")]);
  const position = py.call("tl.where", isReversed, fromLast(PROGRAMS, PROGRAM), PROGRAM);
  return py.binary(py.binary(round, "*", PROGRAMS), "+", position);
}
