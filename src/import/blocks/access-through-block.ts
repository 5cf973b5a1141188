/** Lowers an access through a block pointer to an index per axis, an address and a mask. */
import { readNames } from "../liveness.js";
import {
  conjunction,
  arangeNode,
  expandToAxis,
  assignmentNode,
  type SourceRange,
  binaryNode,
  comparisonNode,
  constantNode,
  INDEX,
  nameNode,
  indexNode,
} from "../node-builders.js";
import { withArguments } from "../rewrite-tree.js";
import type { Call, TritonType, Expression, Statement } from "../tree.js";
import { constantOf as recordedConstant, elementOf, UnsupportedConstruct } from "../value.js";

/** The components of a block pointer. */
export interface BlockPointer {
  readonly base: Expression;
  readonly shape: readonly Expression[];
  readonly strides: readonly Expression[];
  readonly offsets: readonly Expression[];
  /** The block shape. */
  readonly lengths: readonly Expression[];
  /** True if the function creates the block pointer, false for a parameter. */
  readonly isLocal: boolean;
}

export const partsOf = ({ base, shape, strides, offsets }: BlockPointer): readonly Expression[] => [
  base,
  ...shape,
  ...strides,
  ...offsets,
];
export const lengthsOf = ({ lengths }: BlockPointer): readonly Expression[] => lengths;

/** Generates names for new variables. */
export class IndexNames {
  readonly #usedNames: Set<string>;

  constructor(usedNames: Iterable<string>) {
    this.#usedNames = new Set(usedNames);
  }

  reads(node: object): readonly string[] {
    return [...readNames(node)];
  }

  /** A variable for each component of a block pointer. */
  blockVariables(pointer: string, rank: number, location: SourceRange): BlockPointer {
    const stem = stemOf(pointer);
    const variables = (part: string, types: readonly TritonType[] = INDEX): readonly Expression[] =>
      Array.from({ length: rank }, (_, axis) => nameNode(`${stem}_${part}_${axis}`, types, location));
    return {
      base: nameNode(`${stem}_base`, [], location),
      shape: variables("size"),
      strides: variables("stride"),
      offsets: variables("at"),
      lengths: variables("length"),
      isLocal: false,
    };
  }

  /** The name of an index variable, derived from the pointer's name: `rows` and `cols` for a matrix. */
  index(pointer: string, axis: number, rank: number): string {
    const part = rank === 2 ? ["rows", "cols"][axis]! : rank === 1 ? "offs" : `offs_${axis}`;
    const base = `${stemOf(pointer)}_${part}`;
    let name = base;
    for (let i = 1; this.#usedNames.has(name); i++) name = `${base}_${i}`;
    return name;
  }
}

const stemOf = (pointer: string): string =>
  pointer.replace(/_?(block_ptr|bptr|block_pointer|ptrs?)$/i, "").replace(/^p_(?=\w)/, "") || pointer;

/** Returns the statements that define the indices, and the access without the block pointer. */
export function lowerBlockAccess(
  block: BlockPointer,
  pointer: string,
  call: Call,
  names: IndexNames,
  nonNegative: ReadonlySet<string>,
): { readonly indexStatements: readonly Statement[]; readonly call: Call } {
  const rank = block.shape.length;
  const location = { line: call.line, end: call.line };
  const tileType: readonly TritonType[] = [{ kind: "tile", dtype: "int32", shape: [1] }];
  const axesToCheck = boundaryCheckedAxes(call, rank);
  const indexStatements = block.offsets.map((offset, axis) =>
    assignmentNode(
      names.index(pointer, axis, rank),
      indexNode("Add", offset, arangeNode(block.lengths[axis]!, location)),
    ),
  );
  const variables = block.offsets.map((_, axis) => nameNode(names.index(pointer, axis, rank), tileType, location));
  const expandedIndices = variables.map((index, axis) => expandToAxis(index, axis, rank));
  const axisOffsets = expandedIndices.map((index, axis) => indexNode("Mult", index, block.strides[axis]!));
  const elementType = elementOf(block.base) ?? elementOf(call) ?? "float32";
  const pointerTypes: readonly TritonType[] = [
    { kind: "pointer", dtype: elementType.split(" ")[0]!, shape: Array.from({ length: rank }, () => 1) },
  ];
  const address = axisOffsets.reduce((sum, step) => binaryNode("Add", sum, step, pointerTypes), block.base);
  const mask = conjunction(
    axesToCheck.flatMap((axis) => [
      ...(mayBeNegative(block.offsets[axis]!, nonNegative)
        ? [comparisonNode("GtE", expandedIndices[axis]!, constantNode("int", 0, location))]
        : []),
      comparisonNode("Lt", expandedIndices[axis]!, block.shape[axis]!),
    ]),
    rank,
  );
  const { boundary_check: _, padding_option: padding, pointer: __, mask: ___, ...others } = call.bound!;
  const args = {
    pointer: address,
    ...others,
    ...(mask && { mask }),
    ...(mask && paddingOf(padding, call)),
  };
  const parameters = (call.parameters ?? []).filter((each) => each !== "boundary_check" && each !== "padding_option");
  return {
    indexStatements,
    call: {
      ...withArguments(call, args),
      parameters,
      within: variables.map((index, axis) => ({ index, size: block.shape[axis]! })),
    },
  };
}

/** False for constants and names that are never negative, and for their sums, products, quotients and remainders. */
function mayBeNegative(node: Expression, nonNegative: ReadonlySet<string>): boolean {
  if (node.kind === "Constant") return Number(node.value) < 0;
  if (node.kind === "Name") return !nonNegative.has(node.id);
  if (node.kind === "BinOp" && ["Add", "Mult", "FloorDiv", "Mod"].includes(node.op))
    return mayBeNegative(node.left, nonNegative) || mayBeNegative(node.right, nonNegative);
  return true;
}

function boundaryCheckedAxes({ bound, line }: Call, rank: number): readonly number[] {
  const boundaryCheck = bound?.["boundary_check"];
  if (!boundaryCheck) return [];
  const items = !("kind" in boundaryCheck)
    ? boundaryCheck
    : boundaryCheck.kind === "Tuple" || boundaryCheck.kind === "List"
      ? boundaryCheck.elts
      : boundaryCheck.kind === "Constant"
        ? [boundaryCheck]
        : undefined;
  // A block of rank 1 has only one axis to check.
  if (rank === 1 && items?.length === 1) return [0];
  const axes = items?.map((item) => {
    const constant = recordedConstant(item);
    return constant?.kind === "number" ? Number(constant.value) : item.kind === "Constant" ? Number(item.value) : NaN;
  });
  if (!axes?.every((axis) => Number.isInteger(axis)))
    throw new UnsupportedConstruct(
      "boundary_check that is no list of numbers, the same in all calls; write the axes as numbers",
      { line },
    );
  return [...new Set(axes)].map((axis) => (axis < 0 ? axis + rank : axis)).sort((a, b) => a - b);
}

function paddingOf(
  padding: Expression | readonly Expression[] | undefined,
  { line, end }: Call,
): { readonly other?: Expression } {
  if (!padding) return {};
  const text = "kind" in padding && padding.kind === "Constant" ? padding.value : undefined;
  if (text === "" || text === null) return {};
  if (text === "zero") return { other: constantNode("float", 0, { line, end }) };
  if (text === "nan") return { other: constantNode("float", "nan", { line, end }) };
  throw new UnsupportedConstruct('padding_option that is no text; write "zero" or "nan"', { line });
}
