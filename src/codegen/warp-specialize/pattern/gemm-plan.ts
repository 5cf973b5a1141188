/** A product's warp-specialized form, with the statements of the lowered program that each part needs. */
import type {
  Argument,
  Block,
  IfStatement,
  KernelIR,
  OpStatement,
  ReadStatement,
  Statement,
} from "../../../ir/nodes.js";
import { placesOf } from "./block-access.js";
import { type GemmPattern, matchGemm } from "./gemm-pattern.js";
import { checkLanguage } from "./gluon-language.js";
import { checkDTypes, checkLaunchSpecializable, loopOf } from "./launch-constraints.js";
import { flattenStatements, backwardSlice } from "./backward-slice.js";
import { type PipelineConfig, ringConfigs } from "./pipeline-configs.js";
import { checkRows } from "./rows.js";
import { storedValue } from "./tensor-blocks.js";
import { checkTiles } from "./tiles.js";
import { notSpecializable } from "./not-specializable.js";

export interface SpecializedGemm extends Statements {
  readonly kind: "gemm";
  readonly configs: readonly PipelineConfig[];
}

/** A branch gives values. */
export type Computing = OpStatement | ReadStatement | IfStatement;

interface Statements {
  readonly form: GemmPattern;
  /** Lowered, in program order: what stands before the loop over tiles, in it before the sum, in the sum's loop, behind. */
  readonly first: readonly OpStatement[];
  readonly tile: readonly Computing[];
  readonly turn: readonly OpStatement[];
  readonly epilogue: readonly Computing[];
  /** The lowered statements of `form.stores`. */
  readonly stores: ReadonlyMap<Statement, number>;
}

/** @throws Unsuited */
export function specializedGemm(ir: KernelIR, lowered: KernelIR): SpecializedGemm {
  const form = matchGemm(ir);
  if (!form.tiles) checkTiles(ir);
  checkLaunchSpecializable(ir, [form.turns]);
  const configs = ringConfigs(ir, form);
  const tiles = form.tiles && loopOf(lowered, form.tiles);
  const turns = loopOf(lowered, form.turns);
  const tile: Block = tiles ? tiles.body : lowered.body;
  const place = tile.statements.indexOf(turns);
  const epilogue = computingOf(tile.statements.slice(place + 1));
  const written = tile.statements.filter((each) => each.kind === "op" && each.op.effect === "write");
  const parts = {
    first: tiles ? opsOf(lowered.body.statements.slice(0, lowered.body.statements.indexOf(tiles))) : [],
    tile: computingOf(tile.statements.slice(0, place)),
    turn: opsOf(turns.body.statements),
    epilogue,
    stores: new Map(written.map((statement, i) => [statement, i])),
  };
  const statements = { form, ...parts };
  checkEpilogue(statements);
  checkPlaces(statements);
  return { kind: "gemm", ...statements, configs };
}

const computingOf = (statements: readonly Statement[]): readonly Computing[] =>
  statements.filter((each) => each.kind === "op" || each.kind === "read" || each.kind === "if");

const opsOf = (statements: readonly Statement[]): readonly OpStatement[] =>
  statements.filter((statement) => statement.kind === "op");

/** The statements that say where the blocks lie that are multiplied, and how often the loops turn. */
export function producerStatements({ form, first, tile, turn }: Statements): readonly Computing[] {
  const places = form.operands.flatMap(({ block }) => placesOf(block));
  return backwardSlice([...boundsOf(form), ...places], [...first, ...tile, ...turn]);
}

/** The statements that follow from the sum, up to where its blocks lie that are written. */
export function consumerStatements({ form, first, tile, epilogue, stores }: Statements): readonly Computing[] {
  const values = [...stores.keys()].map((statement) => storedValue(statement as OpStatement)!);
  const places = form.stores.flatMap(placesOf);
  const roots = [...boundsOf(form), form.accumulator.initial, ...values, ...places];
  return backwardSlice(roots, [...first, ...tile, ...epilogue]);
}

const boundsOf = ({ tiles, turns }: GemmPattern): readonly Argument[] =>
  [...(tiles ? [tiles] : []), turns].flatMap(({ start, end, step }) => [start, end, step]);

/** Every part computes by itself where blocks lie and how many turns there are. */
function checkPlaces(statements: Statements): void {
  for (const statement of flattenStatements(producerStatements(statements)))
    if (statement.kind === "op" && statement.op.effect === "pure") checkLanguage(statement);
    else if (statement.kind !== "if") notSpecializable("where its blocks lie depends on what it loads", statement.at);
}

/** Each group of warps computes its own rows, so no row may depend on another. */
function checkEpilogue(statements: Statements): void {
  const { form } = statements;
  const [rows, columns] = form.shape;
  const at = form.product.at;
  if (rows === columns)
    notSpecializable(`rows and columns of its product are both ${rows}; give each a constexpr of its own`, at);
  if (typeof rows === "number") notSpecializable("the number of rows is no constexpr", at);
  const needed = flattenStatements(consumerStatements(statements));
  for (const statement of needed)
    if (statement.kind === "read" && statement.variable !== form.accumulator.variable)
      notSpecializable("it uses other state than the sum", statement.at);
  const isPadded = form.operands.every(({ block }) => block.axes.every(({ wraps }) => wraps === undefined));
  const ops = needed.filter((statement) => statement.kind === "op");
  checkRows(ops, rows as string, isPadded);
  ops.forEach(checkLanguage);
  checkDTypes([...form.operands.map(({ block }) => block.tensor), ...form.stores.map(({ tensor }) => tensor)], ops);
  for (const { op, at: place, options } of ops)
    if (op.effect === "read" && Object.keys(options).some((name) => name !== "mask" && name !== "other"))
      notSpecializable("it loads with options around its product", place);
}
