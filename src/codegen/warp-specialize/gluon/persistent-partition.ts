/** The tiles of the author's grid that one program computes, one after another. */
import type { Argument, Block, OpStatement, Value } from "../../../ir/nodes.js";
import { axisOf } from "../pattern/tile-schedule.js";
import { tileType } from "../../../types/types.js";
import type { Expression } from "../../syntax/py.js";
import * as py from "../../syntax/py-build.js";
import { INTEGER } from "./partition-builder.js";
import { PipelinePartition } from "./pipeline-partition.js";

const PROGRAM = py.call("tl.program_id", py.number("0"));
const PROGRAMS = py.call("tl.num_programs", py.number("0"));
const TRUTH = tileType("int1", []);

export class PersistentPartition extends PipelinePartition {
  /** The tile's number, and the sizes of the grid; undefined where a program computes one tile. */
  #tile: { readonly number: Value; readonly sizes: readonly Argument[] } | undefined;

  /** `for tile in range(program, tiles, programs)`; `only` asks for the program's number where nothing else does. */
  eachTile(grid: Block, only: OpStatement | undefined, body: () => void): void {
    const end = this.#tilesOf(grid);
    const start = this.value(INTEGER, () => PROGRAM);
    const step = this.value(INTEGER, () => PROGRAMS);
    // The author's name of the program's number is that of the tile.
    const index = only && grid.yields.length === 1 ? only.results[0]! : this.fresh(INTEGER);
    const block = this.block(() => this.#inTile(index, grid, body));
    this.append({ kind: "for", index, start, end, step, options: {}, unrolled: false, body: block, at: only?.at });
  }

  /**
   * The same back and forth, so that each program gets as many of the tiles that take long, whatever the number of
   * programs: the last of them begins every second lap. `body` is given the number of the lap.
   */
  eachTileInLaps(grid: Block, body: (lap: Value) => void): void {
    const all = this.#tilesOf(grid);
    const tiles = this.made("tiles", INTEGER, (count) => count!, all);
    const programs = this.value(INTEGER, () => PROGRAMS);
    const [zero, one] = [0, 1].map((value): Argument => ({ kind: "literal", value }));
    const end = this.value(INTEGER, (count, each) => py.call("tl.cdiv", count!, each!), tiles, programs);
    const lap = this.fresh(INTEGER);
    const block = this.block(() => {
      const tile = this.made("tile", INTEGER, tileOfLap, lap);
      const isOne = this.value(TRUTH, (number, count) => py.compare(number!, ["<", count!]), tile, tiles);
      const then = this.block(() => this.#inTile(tile, grid, () => body(lap)));
      const otherwise: Block = { statements: [], yields: [] };
      this.append({ kind: "if", condition: isOne, then, otherwise, results: [], at: undefined });
    });
    this.append({
      kind: "for",
      index: lap,
      start: zero!,
      end,
      step: one!,
      options: {},
      unrolled: false,
      body: block,
      at: undefined,
    });
  }

  /**
   * The program's number on an axis of the grid, the first of which counts fastest, or that number counted from the
   * last one.
   */
  appendProgram(statement: OpStatement, isFromLast = false): void {
    const axis = axisOf(statement) ?? 0;
    if (this.#tile?.number === statement.results[0]) return;
    if (!this.#tile) {
      const asked = (name: string) => py.call(name, py.number(String(axis)));
      const build = () =>
        isFromLast ? fromLast(asked("tl.num_programs"), asked("tl.program_id")) : asked("tl.program_id");
      return this.append({ ...statement, op: this.op("pure", build, 0), operands: [] });
    }
    const { number, sizes } = this.#tile;
    const build = (tile?: Expression, ...given: readonly Expression[]): Expression => {
      const before = given.slice(0, axis);
      const around =
        before.length === 0
          ? tile!
          : py.binary(
              tile!,
              "//",
              before.reduce((x, y) => py.binary(x, "*", y)),
            );
      const own = given[axis] ?? py.number("1");
      const inner = axis === given.length - 1 ? around : py.binary(around, "%", own);
      return isFromLast ? fromLast(own, inner) : inner;
    };
    const op = this.op("pure", build, sizes.length + 1);
    this.append({ ...statement, op, operands: [number, ...sizes], options: {} });
  }

  #tilesOf({ statements, yields }: Block): Value {
    this.append(...statements);
    return this.value(INTEGER, (...sizes) => sizes.reduce((product, size) => py.binary(product, "*", size)), ...yields);
  }

  #inTile(number: Value, { yields }: Block, body: () => void): void {
    this.#tile = { number, sizes: yields };
    body();
    this.#tile = undefined;
  }
}

const fromLast = (count: Expression, number: Expression): Expression =>
  py.binary(py.binary(count, "-", py.number("1")), "-", number);

/** The program's tile of a lap: every second lap, the last program begins. */
function tileOfLap(lap?: Expression): Expression {
  const isBack = py.compare(py.binary(lap!, "%", py.number("2")), ["==", py.number("1")]);
  const place = py.call("tl.where", isBack, fromLast(PROGRAMS, PROGRAM), PROGRAM);
  return py.binary(py.binary(lap!, "*", PROGRAMS), "+", place);
}
