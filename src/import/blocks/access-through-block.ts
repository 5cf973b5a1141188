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
  withArguments,
} from "../node-builders.js";
import { boundArgument, type Call, isSequence, type TritonType, type Expression, type Statement } from "../tree.js";
import { constantOf as recordedConstant, elementOf, UnsupportedConstruct } from "../value.js";

/** The components of a block pointer along an axis. */
export interface BlockAxis {
  /** The size of the tensor. */
  readonly size: Expression;
  readonly stride: Expression;
  readonly offset: Expression;
  /** The size of the block. */
  readonly length: Expression;
}

/** The components of a block pointer. */
export interface BlockPointer {
  readonly base: Expression;
  readonly axes: readonly BlockAxis[];
  /** True if the function creates the block pointer, false for a parameter. */
  readonly isLocal: boolean;
}

/** All components in the order of `tl.make_block_ptr`. */
export const partsOf = ({ base, axes }: BlockPointer): readonly Expression[] => [
  base,
  ...axes.map(({ size }) => size),
  ...axes.map(({ stride }) => stride),
  ...axes.map(({ offset }) => offset),
  ...axes.map(({ length }) => length),
];

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
    const variable = (part: string, axis: number): Expression => nameNode(`${stem}_${part}_${axis}`, INDEX, location);
    const axes = Array.from({ length: rank }, (_, axis) => ({
      size: variable("size", axis),
      stride: variable("stride", axis),
      offset: variable("at", axis),
      length: variable("length", axis),
    }));
    return { base: nameNode(`${stem}_base`, [], location), axes, isLocal: false };
  }

  /** The name of an index variable, derived from the pointer's name: `rows` and `cols` for a matrix. */
  index(pointer: string, axis: number, rank: number): string {
    const base = `${stemOf(pointer)}_${indexStem(axis, rank)}`;
    let name = base;
    for (let i = 1; this.#usedNames.has(name); i++) name = `${base}_${i}`;
    return name;
  }
}

function indexStem(axis: number, rank: number): string {
  if (rank === 1) return "offs";
  if (rank === 2) return axis === 0 ? "rows" : "cols";
  return `offs_${axis}`;
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
  const rank = block.axes.length;
  const location = { line: call.line, end: call.line };
  const tileType: readonly TritonType[] = [{ kind: "tile", dtype: "int32", shape: [1] }];
  const axesToCheck = boundaryCheckedAxes(call, rank);
  const indexedAxes = block.axes.map((blockAxis, axis) => {
    const name = names.index(pointer, axis, rank);
    const index = nameNode(name, tileType, location);
    return { ...blockAxis, axis, name, index, expandedIndex: expandToAxis(index, axis, rank) };
  });
  const indexStatements = indexedAxes.map(({ name, offset, length }) =>
    assignmentNode(name, indexNode("Add", offset, arangeNode(length, location))),
  );
  const [dtype = "float32"] =
    (elementOf(block.base) ?? elementOf(boundArgument(call, "value") ?? call))?.split(" ") ?? [];
  const pointerTypes: readonly TritonType[] = [
    { kind: "pointer", dtype, shape: Array.from({ length: rank }, () => 1) },
  ];
  const address = indexedAxes
    .map(({ expandedIndex, stride }) => indexNode("Mult", expandedIndex, stride))
    .reduce((sum, step) => binaryNode("Add", sum, step, pointerTypes), block.base);
  const checkedAxes = indexedAxes.filter(({ axis }) => axesToCheck.includes(axis));
  const mask = conjunction(
    checkedAxes.flatMap(({ expandedIndex, offset, size }) => [
      ...(mayBeNegative(offset, nonNegative)
        ? [comparisonNode("GtE", expandedIndex, constantNode("int", 0, location))]
        : []),
      comparisonNode("Lt", expandedIndex, size),
    ]),
    rank,
  );
  const { bound = {} } = call;
  const { boundary_check: _, padding_option: padding, pointer: __, mask: ___, ...others } = bound;
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
      within: indexedAxes.map(({ index, size }) => ({ index, size })),
    },
  };
}

/** False for constants and names that are never negative, and for their sums, products, quotients and remainders. */
export function mayBeNegative(node: Expression, nonNegative: ReadonlySet<string>): boolean {
  if (node.kind === "Constant") return Number(node.value) < 0;
  if (node.kind === "Name") return !nonNegative.has(node.id);
  if (node.kind === "BinOp" && ["Add", "Mult", "FloorDiv", "Mod"].includes(node.op))
    return mayBeNegative(node.left, nonNegative) || mayBeNegative(node.right, nonNegative);
  return true;
}

function boundaryCheckedAxes({ bound, line }: Call, rank: number): readonly number[] {
  const boundaryCheck = bound?.["boundary_check"];
  if (!boundaryCheck) return [];
  const items = itemsOf(boundaryCheck);
  // A block of rank 1 has only one axis to check.
  if (rank === 1 && items?.length === 1) return [0];
  const axes = items?.map((item) => {
    const constant = recordedConstant(item);
    if (constant?.kind === "number") return Number(constant.value);
    return item.kind === "Constant" ? Number(item.value) : NaN;
  });
  if (!axes?.every((axis) => Number.isInteger(axis)))
    throw new UnsupportedConstruct(
      "boundary_check that is no list of numbers, the same in all calls",
      "write the axes as numbers",
      { line },
    );
  return [...new Set(axes)].map((axis) => (axis < 0 ? axis + rank : axis)).sort((a, b) => a - b);
}

/** The items of a list, or a constant as its only item. */
function itemsOf(list: Expression | readonly Expression[]): readonly Expression[] | undefined {
  if (!("kind" in list)) return list;
  if (isSequence(list)) return list.elts;
  return list.kind === "Constant" ? [list] : undefined;
}

function paddingOf(
  padding: Expression | readonly Expression[] | undefined,
  { line, end }: Call,
): { readonly other?: Expression } {
  if (!padding) return {};
  const constant = "kind" in padding ? recordedConstant(padding) : undefined;
  const constantText = constant?.kind === "string" ? constant.value : undefined;
  const text = "kind" in padding && padding.kind === "Constant" ? padding.value : constantText;
  if (text === "" || text === null) return {};
  if (text === "zero") return { other: constantNode("float", 0, { line, end }) };
  if (text === "nan") return { other: constantNode("float", "nan", { line, end }) };
  throw new UnsupportedConstruct("padding_option that is no text", 'write "zero" or "nan"', { line });
}
