/** Symbolic accesses: for each lane, the index of an element of a tensor, and whether the lane is active. */
import { atAxis } from "../../types/dims.js";
import type { BoundsChecks, ViewAxis } from "../../analysis/in-bounds.js";
import {
  type Argument,
  isList,
  isValue,
  type OpStatement,
  type PointerParam,
  type TensorParam,
  operandOf,
} from "../../ir/nodes.js";
import type { MemoryOperands } from "../../ir/op.js";
import { zip } from "../algebra/zip.js";
import {
  andTerm,
  asTruth,
  atLeast,
  below,
  iteTerm,
  number,
  product,
  sum,
  symbol,
  symbolsIn,
  type Term,
} from "../../symbolic/term.js";
import {
  type Environment,
  at,
  broadcastLane,
  broadcastShape,
  namesOf,
  type PointerTile,
  type SymbolicDescriptor,
  type SymbolicView,
  type TermTile,
  tile,
} from "./symbolic-environment.js";
import { strideName } from "./launch.js";
import { inputElement } from "./input-elements.js";
export type ViewMasks = (axis: ViewAxis) => BoundsChecks;

/** One axis of a tensor, as an access indexes it. */
export interface AccessedAxis {
  readonly index: Term;
  readonly size: Term;
  /** The bounds that the emitted code checks, so that they hold for every active lane. */
  readonly masks: BoundsChecks;
  /** True if the author declares the index in bounds with `tl.inBounds`. */
  readonly claimed: boolean;
}

export interface Access {
  readonly statement: OpStatement;
  readonly memoryOperands: MemoryOperands;
  readonly accessKind: "load" | "store" | "atomic";
  /** Undefined if the argument that the address belongs to is not known. */
  readonly tensor: TensorParam | PointerParam | undefined;
  readonly axes: readonly AccessedAxis[];
  /** True if the lane is active. */
  readonly mask: Term;
  readonly path: readonly Term[];
  /** Programs and iterations, outer ones first. */
  readonly scope: readonly string[];
  readonly lanes: readonly string[];
  readonly shape: readonly Term[];
  /** The lane that `axes` and `mask` are functions of, one index for each axis. */
  readonly lane: readonly Term[];
  /** The lanes that the written value may depend on. */
  readonly valueLanes: readonly string[];
  /**
   * True if the access may be skipped although its path condition is true, because a loop around it has an unknown
   * number of iterations.
   */
  readonly mayBeSkipped: boolean;
  /** The reason why the access cannot be modeled. */
  readonly missing?: string;
  /** True if the offset assumes the strides of a dense tensor, although the caller chooses the strides. */
  readonly unstrided?: boolean;
  /** The author's reason, from `tl.trusted`. */
  readonly trusted?: string;
}

const EFFECTS = { read: "load", write: "store", atomic: "atomic", pure: "load" } as const;

/** The address of an access: the axes of a lane, its shape, and the bounds that the address itself masks. */
interface Address {
  readonly tensor: TensorParam | PointerParam | undefined;
  readonly shape: readonly Term[];
  readonly axes: (lane: readonly Term[]) => readonly AccessedAxis[];
  readonly missing?: string;
  readonly unstrided?: boolean;
  readonly trusted?: string | undefined;
}

/** True if one of these accesses may write a tensor. */
export const mayWrite = (accesses: readonly Access[], tensor: Access["tensor"]): boolean =>
  accesses.some((access) => access.accessKind !== "load" && (access.tensor === tensor || access.tensor === undefined));

export function recordSymbolicAccess(
  environment: Environment,
  statement: OpStatement,
  memoryOperands: MemoryOperands,
  mayBeSkipped: boolean,
): Access {
  const { op, options } = statement;
  const address = addressOf(environment, statement, memoryOperands);
  const explicit = options["mask"] === undefined ? undefined : environment.value(options["mask"]);
  const isUnknown = explicit !== undefined && explicit.kind !== "terms";
  const maskTile = explicit?.kind === "terms" ? explicit : undefined;
  const shape = broadcastShape(address.shape, maskTile?.shape ?? []);
  const maskAt = (lane: readonly Term[]): Term =>
    andTerm(
      inBoundsCondition(address.axes(lane.slice(lane.length - address.shape.length))),
      ...(maskTile ? [asTruth(at(maskTile, lane))] : []),
      ...(isUnknown ? [environment.unknownTruth(`mask ${environment.nameOf(statement)}`)] : []),
    );
  const lane = environment.lanes(`lane ${environment.nameOf(statement)}${environment.calls}`, shape);
  setResults(environment, statement, address, maskAt);
  return {
    statement,
    memoryOperands,
    accessKind: EFFECTS[op.effect],
    tensor: address.tensor,
    axes: address.axes(lane.slice(lane.length - address.shape.length)),
    mask: maskAt(lane),
    path: environment.path,
    scope: environment.scope.map(({ name }) => name),
    shape,
    lane,
    lanes: namesOf(lane),
    valueLanes:
      address.missing !== undefined ? [] : lanesOfValue(environment, operandOf(statement, memoryOperands.value), lane),
    mayBeSkipped,
    ...(address.missing !== undefined && { missing: address.missing, unstrided: address.unstrided === true }),
    ...(address.trusted !== undefined && { trusted: address.trusted }),
  };
}

/** The condition that the lanes are inside the bounds that the address masks. */
export function inBoundsCondition(axes: readonly AccessedAxis[]): Term {
  return andTerm(
    ...axes.flatMap(({ index, size, masks }) => [
      ...(masks.lower ? [atLeast(index, number(0))] : []),
      ...(masks.upper ? [below(index, size)] : []),
    ]),
  );
}

/** The lanes that a written value may depend on: none along an axis that it is broadcast to. */
function lanesOfValue(environment: Environment, value: Argument | undefined, lane: readonly Term[]): readonly string[] {
  const terms = environment.terms(value);
  if (terms) return [...symbolsIn(at(terms, lane))];
  if (!isValue(value) || value.type.kind !== "tile") return [];
  const shape = environment.shape(value.type);
  return [...symbolsIn(...broadcastLane(shape, lane))];
}

function addressOf(environment: Environment, statement: OpStatement, memoryOperands: MemoryOperands): Address {
  const pointer = environment.value(operandOf(statement, memoryOperands.address));
  if (pointer.kind === "view")
    return {
      tensor: pointer.param,
      shape: pointer.shape,
      axes: (lane) => axesOf(environment, pointer.param, pointer.index(lane), pointer.masks),
      trusted: pointer.trusted,
    };
  if (pointer.kind === "descriptor") return addressOfBlock(environment, statement, memoryOperands, pointer);
  if (pointer.kind === "pointer") return addressOfPointer(environment, pointer);
  return unmodeledAddress("the address is loaded or computed, and no proof follows it");
}

const unmodeledAddress = (missing: string, tensor?: TensorParam): Address => ({
  tensor,
  shape: [],
  axes: () => [],
  missing,
});

function axesOf(
  environment: Environment,
  param: TensorParam,
  index: readonly Term[],
  masks: SymbolicView["masks"],
): readonly AccessedAxis[] {
  const dims = environment.launch.tensorDims(param);
  return zip(zip(dims, index), masks).map(([[size, axisIndex], { lower, upper, claimed }]) => ({
    index: axisIndex,
    size,
    masks: { lower, upper },
    claimed,
  }));
}

const masksOfAll = ({ dims }: TensorParam, isMasked: boolean): SymbolicView["masks"] =>
  dims.map(() => ({ lower: isMasked, upper: isMasked, claimed: false }));

/** The address of a descriptor's block. Lanes outside the tensor are masked. */
function addressOfBlock(
  environment: Environment,
  statement: OpStatement,
  { offsets, rows, column }: MemoryOperands,
  { param, order, block }: SymbolicDescriptor,
): Address {
  const createAddress = (shape: readonly Term[], starts: readonly TermTile[], isGathered: boolean): Address => ({
    tensor: param,
    shape,
    axes: (lane) => {
      const index: Term[] = [];
      zip(starts, order).forEach(([start, axis], i) => {
        const laneIndex = atAxis(lane, i);
        index[axis] = isGathered && i === 0 ? start.at([laneIndex]) : sum(start.at([]), laneIndex);
      });
      return axesOf(environment, param, index, masksOfAll(param, true));
    },
  });
  if (rows !== undefined) {
    const [first, second] = [rows, column].map((name) => environment.terms(operandOf(statement, name)));
    if (!first || !second)
      return unmodeledAddress("the rows of a descriptor come from values that proofs do not follow", param);
    return createAddress([atAxis(first.shape, 0), atAxis(block, block.length - 1)], [first, second], true);
  }
  const offsetArguments = operandOf(statement, offsets);
  const starts = isList(offsetArguments) ? offsetArguments.map((each) => environment.terms(each)) : [undefined];
  return starts.every((start) => start !== undefined)
    ? createAddress(block, starts, false)
    : unmodeledAddress("a descriptor's offsets come from values that proofs do not follow", param);
}

/** The address of a pointer into a tensor: its offset is decomposed by the strides. */
function addressOfPointer(environment: Environment, { base, offsets }: PointerTile): Address {
  const { shape } = offsets;
  if (base.kind === "pointer") return addressOfElements(environment, base, offsets);
  const probe = decomposeOffset(environment, base, offsets.at(shape.map((_, axis) => symbol(`probe ${axis}`))));
  if ("missing" in probe) return { ...unmodeledAddress(probe.missing, base), unstrided: probe.unstrided };
  return {
    tensor: base,
    shape,
    axes: (lane) => {
      const index = decomposeOffset(environment, base, offsets.at(broadcastLane(shape, lane)));
      return "missing" in index ? [] : axesOf(environment, base, index, masksOfAll(base, false));
    },
  };
}

/** The address of a pointer with a declared number of elements. */
function addressOfElements({ launch }: Environment, base: PointerParam, offsets: TermTile): Address {
  const { name, numel } = base;
  const size = typeof numel === "number" ? number(numel) : numel && launch.term(numel);
  if (size === undefined) return unmodeledAddress(`${name} is a pointer without a declared extent`);
  const axis = (index: Term) => ({ index, size, masks: { lower: false, upper: false }, claimed: false });
  return { tensor: base, shape: offsets.shape, axes: (lane) => [axis(offsets.at(broadcastLane(offsets.shape, lane)))] };
}

interface Unmodeled {
  readonly missing: string;
  readonly unstrided: boolean;
}

/** The index on each axis of an offset that is a sum of index · stride, or the reason why it has another form. */
function decomposeOffset({ launch }: Environment, param: TensorParam, offset: Term): readonly Term[] | Unmodeled {
  const strides = param.strides.map((stride) => launch.term(stride));
  const names = new Map<string, number>();
  strides.forEach((stride, axis) => {
    if (stride?.kind === "symbol" && stride.name === strideName(param, axis)) names.set(stride.name, axis);
  });
  const index = param.dims.map(() => number(0));
  let remainder: Term = number(0);
  const hasStride = (term: Term) => [...symbolsIn(term)].some((name) => names.has(name));
  const addTerm = (term: Term, factor: Term): boolean => {
    if (term.kind === "sum") return term.operands.every((part) => addTerm(part, factor));
    if (!hasStride(term)) {
      remainder = sum(remainder, product(term, factor));
      return true;
    }
    const strideAxis = term.kind === "symbol" ? names.get(term.name) : undefined;
    if (strideAxis !== undefined) {
      index[strideAxis] = sum(atAxis(index, strideAxis), factor);
      return true;
    }
    const [strided, ...more] = term.kind === "product" ? term.operands.filter(hasStride) : [];
    if (!strided || more.length > 0) return false;
    return addTerm(strided, product(factor, ...term.operands.filter((part) => part !== strided)));
  };
  const unmodeled = { missing: `an offset into ${param.name} that is no sum of index times stride`, unstrided: false };
  if (!addTerm(offset, number(1))) return unmodeled;
  if (remainder === number(0)) return index;
  const unstrided = strides.flatMap((stride, axis) => (stride?.kind === "number" ? [{ stride, axis }] : []));
  const [inner, ...others] = unstrided;
  if (!inner)
    return { missing: `an offset into ${param.name} without its strides, which are the caller's`, unstrided: true };
  if (others.length > 0 || inner.stride.value !== 1n) return unmodeled;
  return index.with(inner.axis, remainder);
}

/** Sets the result of a load: the tensor's element, or `other` where the lane is masked. */
function setResults(
  environment: Environment,
  statement: OpStatement,
  { tensor, axes, missing, shape }: Address,
  maskAt: (lane: readonly Term[]) => Term,
): void {
  for (const result of statement.results) {
    const { type } = result;
    const isInput =
      tensor?.kind === "tensor" && tensor.role === "in" && statement.op.effect === "read" && missing === undefined;
    const description = tensor ? `what ${tensor.name} holds` : "a loaded value";
    const unknown = environment.unknown(result, `loaded ${result.id}`, description);
    if (!isInput || type.kind !== "tile" || unknown.kind !== "terms") {
      environment.set(result, unknown);
      continue;
    }
    const contents = inputElement(environment, tensor);
    const other = environment.terms(statement.options["other"]);
    const isZeroPadded = statement.options["mask"] === undefined && statement.op.lowering?.maskedLanes !== undefined;
    const isTruth = type.dtype === "int1";
    const paddingAt = (lane: readonly Term[]): Term => {
      if (other) return at(other, lane);
      return isZeroPadded ? number(0) : unknown.at(lane);
    };
    const loaded = tile(environment.shape(type), (lane) => {
      const value = contents(axes(lane.slice(lane.length - shape.length)).map(({ index }) => index));
      const padding = paddingAt(lane);
      return iteTerm(maskAt(lane), isTruth ? asTruth(value) : value, isTruth ? asTruth(padding) : padding);
    });
    environment.set(result, loaded);
  }
}
