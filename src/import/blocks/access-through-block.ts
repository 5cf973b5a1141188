/** An access through a block pointer as an index for each axis, an address and a mask. */
import { reads } from "../liveness.js";
import {
  allOf,
  arange,
  expandToAxis,
  assigned,
  type At,
  binary,
  compared,
  constantOf,
  INDEX,
  nameOf,
  ofIndices,
} from "../node-builders.js";
import { withArguments } from "../rewrite-tree.js";
import type { Call, Described, Expression, Statement } from "../tree.js";
import { constantOf as metConstant, elementOf, UnsupportedConstruct } from "../value.js";

/** A block pointer, each part as the expression that has it. */
export interface Block {
  readonly base: Expression;
  readonly shape: readonly Expression[];
  readonly strides: readonly Expression[];
  readonly offsets: readonly Expression[];
  /** Of the block along each axis. */
  readonly lengths: readonly Expression[];
  /** The kernel makes it; else a call passes it. */
  readonly isMade: boolean;
}

export const partsOf = ({ base, shape, strides, offsets }: Block): readonly Expression[] => [
  base,
  ...shape,
  ...strides,
  ...offsets,
];
export const lengthsOf = ({ lengths }: Block): readonly Expression[] => lengths;

/** Names of variables that the Python does not have. */
export class IndexNames {
  readonly #taken: Set<string>;

  constructor(taken: Iterable<string>) {
    this.#taken = new Set(taken);
  }

  reads(node: object): readonly string[] {
    return [...reads(node)];
  }

  /** A variable for each part of a block pointer. */
  block(pointer: string, rank: number, at: At): Block {
    const stem = stemOf(pointer);
    const each = (part: string, types: readonly Described[] = INDEX): readonly Expression[] =>
      Array.from({ length: rank }, (_, axis) => nameOf(`${stem}_${part}_${axis}`, types, at));
    return {
      base: nameOf(`${stem}_base`, [], at),
      shape: each("size"),
      strides: each("stride"),
      offsets: each("at"),
      lengths: each("length"),
      isMade: false,
    };
  }

  /** `rows` and `cols` of a matrix, by the pointer's name. */
  index(pointer: string, axis: number, rank: number): string {
    const part = rank === 2 ? ["rows", "cols"][axis]! : rank === 1 ? "offs" : `offs_${axis}`;
    const wanted = `${stemOf(pointer)}_${part}`;
    let name = wanted;
    for (let i = 1; this.#taken.has(name); i++) name = `${wanted}_${i}`;
    return name;
  }
}

const stemOf = (pointer: string): string =>
  pointer.replace(/_?(block_ptr|bptr|block_pointer|ptrs?)$/i, "").replace(/^p_(?=\w)/, "") || pointer;

/** The statements that make its indices, and the access without the block pointer. */
export function accessThrough(
  block: Block,
  pointer: string,
  call: Call,
  names: IndexNames,
  counts: ReadonlySet<string>,
): { readonly indices: readonly Statement[]; readonly call: Call } {
  const rank = block.shape.length;
  const at = { line: call.line, end: call.line };
  const tile: readonly Described[] = [{ kind: "tile", dtype: "int32", shape: [1] }];
  const checked = checkedAxes(call, rank);
  const indices = block.offsets.map((offset, axis) =>
    assigned(names.index(pointer, axis, rank), ofIndices("Add", offset, arange(block.lengths[axis]!, at))),
  );
  const variables = block.offsets.map((_, axis) => nameOf(names.index(pointer, axis, rank), tile, at));
  const wide = variables.map((index, axis) => expandToAxis(index, axis, rank));
  const steps = wide.map((index, axis) => ofIndices("Mult", index, block.strides[axis]!));
  const element = elementOf(block.base) ?? elementOf(call) ?? "float32";
  const pointers: readonly Described[] = [
    { kind: "pointer", dtype: element.split(" ")[0]!, shape: Array.from({ length: rank }, () => 1) },
  ];
  const address = steps.reduce((sum, step) => binary("Add", sum, step, pointers), block.base);
  const mask = allOf(
    checked.flatMap((axis) => [
      ...(mayBeNegative(block.offsets[axis]!, counts) ? [compared("GtE", wide[axis]!, constantOf("int", 0, at))] : []),
      compared("Lt", wide[axis]!, block.shape[axis]!),
    ]),
    rank,
  );
  const { boundary_check: _, padding_option: padding, pointer: __, mask: ___, ...others } = call.bound!;
  const bound = {
    pointer: address,
    ...others,
    ...(mask && { mask }),
    ...(mask && paddingOf(padding, call)),
  };
  const parameters = (call.parameters ?? []).filter((each) => each !== "boundary_check" && each !== "padding_option");
  return {
    indices,
    call: {
      ...withArguments(call, bound),
      parameters,
      within: variables.map((index, axis) => ({ index, size: block.shape[axis]! })),
    },
  };
}

/** Sums and products of what counts programs, turns and elements are not negative. */
function mayBeNegative(node: Expression, counts: ReadonlySet<string>): boolean {
  if (node.kind === "Constant") return Number(node.value) < 0;
  if (node.kind === "Name") return !counts.has(node.id);
  if (node.kind === "BinOp" && ["Add", "Mult", "FloorDiv", "Mod"].includes(node.op))
    return mayBeNegative(node.left, counts) || mayBeNegative(node.right, counts);
  return true;
}

function checkedAxes({ bound, line }: Call, rank: number): readonly number[] {
  const given = bound?.["boundary_check"];
  if (!given) return [];
  const items = !("kind" in given)
    ? given
    : given.kind === "Tuple" || given.kind === "List"
      ? given.elts
      : given.kind === "Constant"
        ? [given]
        : undefined;
  // There is one axis alone to check.
  if (rank === 1 && items?.length === 1) return [0];
  const axes = items?.map((item) => {
    const known = metConstant(item);
    return known?.kind === "number" ? Number(known.value) : item.kind === "Constant" ? Number(item.value) : NaN;
  });
  if (!axes?.every((axis) => Number.isInteger(axis)))
    throw new UnsupportedConstruct(
      "boundary_check that is no list of numbers, the same in all calls; write the axes as numbers",
      { line },
    );
  return [...new Set(axes)].map((axis) => (axis < 0 ? axis + rank : axis)).sort((a, b) => a - b);
}

function paddingOf(
  given: Expression | readonly Expression[] | undefined,
  { line, end }: Call,
): { readonly other?: Expression } {
  if (!given) return {};
  const text = "kind" in given && given.kind === "Constant" ? given.value : undefined;
  if (text === "" || text === null) return {};
  if (text === "zero") return { other: constantOf("float", 0, { line, end }) };
  if (text === "nan") return { other: constantOf("float", "nan", { line, end }) };
  throw new UnsupportedConstruct('padding_option that is no text; write "zero" or "nan"', { line });
}
