/** The tiles of the author's grid that one program computes in sequence. */
import type { Argument, Block, OpStatement, Value } from "../../../ir/nodes.js";
import { axisOf } from "../pattern/tile-schedule.js";
import { tileType } from "../../../types/types.js";
import type { Expression } from "../../syntax/py.js";
import * as py from "../../syntax/py-build.js";
import { INTEGER, type PartitionBuilder } from "./partition-builder.js";

const PROGRAM = py.call("tl.program_id", py.number("0"));
const PROGRAMS = py.call("tl.num_programs", py.number("0"));
const BOOL = tileType("int1", []);

export class TileLoop {
  /** The tile's index and the sizes of the grid. Undefined if a program computes one tile. */
  #tile: { readonly index: Value; readonly sizes: readonly Argument[]; readonly round: Value | undefined } | undefined;

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
   * Appends a loop that assigns tiles in zigzag order: every second round starts with the last program. Each program
   * then gets as many of the long tiles as the others, whatever the number of programs.
   */
  forEachTileInRounds(grid: Block, body: () => void): void {
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
      builder.appendIf(isInGrid, () => this.#inTile(tile, grid, body, round));
    });
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
    const { index, sizes } = this.#tile;
    const build = (tile: Expression, ...sizeExpressions: readonly Expression[]): Expression => {
      const faster = sizeExpressions.slice(0, axis);
      const quotient = faster.length === 0 ? tile : py.binary(tile, "//", productOf(faster));
      const size = sizeExpressions[axis] ?? py.number("1");
      const id = axis === sizeExpressions.length - 1 ? quotient : py.binary(quotient, "%", size);
      return isFromLast ? fromLast(size, id) : id;
    };
    this.builder.append(this.builder.replaceOp(statement, build, index, ...sizes));
  }

  #tileCount({ statements, yields }: Block): Value {
    const { builder } = this;
    builder.append(...statements);
    return builder.value(INTEGER, (...sizes) => productOf(sizes), ...yields);
  }

  #inTile(index: Value, { yields }: Block, body: () => void, round?: Value): void {
    this.#tile = { index, sizes: yields, round };
    body();
    this.#tile = undefined;
  }
}

const productOf = (factors: readonly Expression[]): Expression => factors.reduce((x, y) => py.binary(x, "*", y));

const fromLast = (count: Expression, index: Expression): Expression =>
  py.binary(py.binary(count, "-", py.number("1")), "-", index);

/** The program's tile in a round. Every second round starts with the last program. */
function tileInRound(round: Expression): Expression {
  const isReversed = py.compare(py.binary(round, "%", py.number("2")), ["==", py.number("1")]);
  const position = py.call("tl.where", isReversed, fromLast(PROGRAMS, PROGRAM), PROGRAM);
  return py.binary(py.binary(round, "*", PROGRAMS), "+", position);
}
