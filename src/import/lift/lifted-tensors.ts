/** Decides which accesses become views, and infers the tensors of the views. */
import { arangeNode, expandToAxis, constantNode, withArguments } from "../node-builders.js";
import { isSideEffectFree } from "../op-calls.js";
import type { Binary, Call, Expression, View } from "../tree.js";
import { sizeOf, type IndexParts, indexParts } from "./linear-address.js";
import {
  canonical,
  isUnchanged,
  type Span,
  spanOf,
  type Access,
  type MaskCondition,
  type Env,
  type ParamKinds,
  type Term,
} from "./expression-parts.js";

/** An axis of a tensor. Its size and stride are parameters of the kernel. */
export interface LiftedAxis {
  /** A parameter, a number, or a new name. */
  readonly size: string;
  readonly isNew: boolean;
  /** True for a constexpr parameter or a number, which the tensor does not declare. */
  readonly isConstant?: boolean;
  /** Parameters whose product is the stride. Empty if the stride is 1 or follows from the sizes. */
  readonly strides: readonly string[];
  /** The index of each access along this axis. */
  readonly indices: readonly IndexParts[];
}

export interface LiftedTensor {
  /** The pointer parameter. */
  readonly param: string;
  readonly axes: readonly LiftedAxis[];
  /** True if the strides follow from the sizes. */
  readonly isContiguous: boolean;
  readonly role: "in" | "out" | "inout";
}

/** An access with its view, or with the reason why it is not lifted. */
export type LiftDecision = { readonly access: Access } & (
  { readonly view: View; readonly mask: Expression | undefined } | { readonly why: string }
);

/** An index of an access and its stride. */
interface ScaledIndex {
  readonly strides: readonly string[];
  readonly span: Span;
  readonly text: string;
  readonly size: string | undefined;
  /** True if no mask condition bounds the index: it is then claimed to be in bounds. */
  readonly isClaimed: boolean;
}

type ResolvedAccess = {
  readonly access: Access;
  readonly indices: readonly ScaledIndex[];
  readonly remainingConditions: readonly MaskCondition[];
};

/** The pointers to lift, and those whose accesses keep their masks. */
interface LiftOptions {
  readonly candidates?: ReadonlySet<string> | undefined;
  readonly maskedParams?: ReadonlySet<string> | undefined;
}

/** Infers a tensor for each pointer parameter with liftable accesses. */
export class Lifting {
  readonly tensors: LiftedTensor[] = [];
  readonly decisions: LiftDecision[] = [];
  /** New size names, by the canonical text of the index that they bound. */
  readonly #newSizes = new Map<string, string>();

  constructor(
    accesses: readonly Access[],
    private readonly usedNames: ReadonlySet<string>,
    private readonly params: ParamKinds,
    private readonly options: LiftOptions,
  ) {
    const { candidates } = options;
    for (const base of new Set(accesses.map((access) => access.base)))
      if (base === undefined || !candidates || candidates.has(base))
        this.#liftParam(
          base,
          accesses.filter((each) => each.base === base),
        );
  }

  #liftParam(base: string | undefined, accesses: readonly Access[]): void {
    const resolvedAccesses: ResolvedAccess[] = [];
    for (const access of accesses) {
      const shouldKeepMask = base !== undefined && this.options.maskedParams?.has(base) === true;
      const resolved = access.unresolved?.reason ?? resolveAccess(access, this.params, shouldKeepMask);
      if (typeof resolved === "string") this.decisions.push({ access, why: resolved });
      else resolvedAccesses.push(resolved);
    }
    // The access with the most axes determines their order.
    const [first] = resolvedAccesses.toSorted((a, b) => rankOf(b) - rankOf(a));
    if (base === undefined || !first) return;
    const keys = inAxisOrder(first.indices).map(keyOf);
    const liftedAccesses: ResolvedAccess[] = [];
    const sizes = new Map<string, string>();
    for (const resolved of resolvedAccesses) {
      const reason = whyNotLifted(resolved, keys, sizes);
      if (reason !== undefined) this.decisions.push({ access: resolved.access, why: reason });
      else {
        liftedAccesses.push(resolved);
        for (const { strides, size } of resolved.indices) if (size !== undefined) sizes.set(strides.join("*"), size);
      }
    }
    const axes =
      liftedAccesses.length > 0
        ? this.#axesOf(inAxisOrder(first.indices), sizes, indicesOf(liftedAccesses))
        : undefined;
    if (!axes) return;
    const stores = accesses.filter(({ isStore }) => isStore).length;
    const storeRole = stores === accesses.length ? "out" : "inout";
    const role = stores === 0 ? "in" : storeRole;
    this.tensors.push({ param: base, axes: axes.list, isContiguous: axes.isContiguous, role });
    for (const resolved of liftedAccesses)
      this.decisions.push({ access: resolved.access, ...viewOf(base, keys, resolved) });
  }

  /** The axes of a tensor, outermost first. */
  #axesOf(
    indices: readonly ScaledIndex[],
    sizes: ReadonlyMap<string, string>,
    indexPartsByKey: ReadonlyMap<string, readonly IndexParts[]>,
  ): { readonly list: readonly LiftedAxis[]; readonly isContiguous: boolean } {
    const knownSizes = indices.map((index) => sizes.get(keyOf(index)));
    const partsOf = (index: ScaledIndex): readonly IndexParts[] => indexPartsByKey.get(keyOf(index)) ?? [];
    const contiguousSizes = inferContiguousSizes(indices, knownSizes);
    if (contiguousSizes)
      return {
        list: indices.map((index, i) => ({
          ...this.#sizeOf(contiguousSizes[i], index),
          strides: [],
          indices: partsOf(index),
        })),
        isContiguous: true,
      };
    return {
      list: indices.map((index, i) => ({
        ...this.#sizeOf(knownSizes[i], index),
        strides: index.strides,
        indices: partsOf(index),
      })),
      isContiguous: false,
    };
  }

  #sizeOf(
    knownSize: string | undefined,
    { text, span }: ScaledIndex,
  ): Pick<LiftedAxis, "size" | "isNew" | "isConstant"> {
    if (knownSize !== undefined)
      return {
        size: knownSize,
        isNew: false,
        ...((this.params.positiveConstants.has(knownSize) || /^\d/.test(knownSize)) && { isConstant: true }),
      };
    const key = `${span.axis === undefined ? "" : "tile "}${text}`;
    const names = [..."MNKLPQRSUVW"].filter(
      (name) => !this.usedNames.has(name) && ![...this.#newSizes.values()].includes(name),
    );
    const size = this.#newSizes.get(key) ?? names[0] ?? `SIZE_${this.#newSizes.size}`;
    this.#newSizes.set(key, size);
    return { size, isNew: true };
  }
}

/**
 * The sizes of a contiguous tensor, where each stride is the product of the inner sizes. Undefined if the tensor is not
 * contiguous. A stride parameter whose name contains "stride" is not taken for the size of an unbounded axis.
 */
function inferContiguousSizes(
  indices: readonly ScaledIndex[],
  knownSizes: readonly (string | undefined)[],
): readonly (string | undefined)[] | undefined {
  const sizes = [...knownSizes];
  const [innermost, ...outerIndices] = indices.toReversed();
  if (!innermost || innermost.strides.length > 0) return undefined;
  let innerStrides = innermost.strides;
  for (const [position, { strides }] of outerIndices.entries()) {
    const size = missingFactor(strides, innerStrides);
    const innerAxis = indices.length - 1 - position;
    const knownSize = sizes[innerAxis];
    if (size === undefined || (knownSize === undefined ? /stride/i.test(size) : knownSize !== size)) return undefined;
    sizes[innerAxis] = size;
    innerStrides = strides;
  }
  return sizes;
}

/** The factor that a product of strides has in addition to those of an inner stride. Undefined unless it has one. */
function missingFactor(strides: readonly string[], innerStrides: readonly string[]): string | undefined {
  const factors = [...strides];
  for (const factor of innerStrides) {
    const position = factors.indexOf(factor);
    if (position < 0) return undefined;
    factors.splice(position, 1);
  }
  return factors.length === 1 ? factors[0] : undefined;
}

/** The components of all indices, by the stride key of their axis. */
function indicesOf(accesses: readonly ResolvedAccess[]): ReadonlyMap<string, readonly IndexParts[]> {
  const result = new Map<string, IndexParts[]>();
  for (const { indices } of accesses)
    for (const index of indices) {
      const components = indexParts(index.span.inner, index.span.env);
      result.set(keyOf(index), [...(result.get(keyOf(index)) ?? []), components]);
    }
  return result;
}

const keyOf = ({ strides }: { readonly strides: readonly string[] }): string => strides.join("*");
const rankOf = ({ indices }: ResolvedAccess): number => indices.filter(({ span }) => span.axis !== undefined).length;

/** Sorts scalars first, then tiles by axis. Indices without strides come last in their group. */
const inAxisOrder = (indices: readonly ScaledIndex[]): readonly ScaledIndex[] =>
  indices.toSorted((a, b) => (a.span.axis ?? -1) - (b.span.axis ?? -1) || b.strides.length - a.strides.length);

/** Resolves an access to indices, grouped by stride. Returns the reason on failure. */
function resolveAccess(access: Access, params: ParamKinds, shouldKeepMask: boolean): ResolvedAccess | string {
  const terms = access.terms.length > 0 ? access.terms : [zeroTerm(access)];
  const rank = spanRank(access.pointer);
  const indices: ScaledIndex[] = [];
  let conditions = [...access.conditions];
  const hasEarlierLoad = terms.some(({ index, env }) => env !== access.env && !isSideEffectFree(index));
  if (hasEarlierLoad) return "an index of it is loaded before, where its address is computed";
  for (const { strides, terms: indexTerms } of withUnitAxes(groupsOf(terms), access, rank)) {
    const span = spanOfSum(indexTerms, rank, access.env);
    if (typeof span === "string") return span;
    const text = canonical(span.inner, access.env);
    const isBoundOfIndex = ({ index, env }: MaskCondition): boolean => {
      const boundedSpan = index && spanOf(index, env);
      return (
        boundedSpan !== undefined &&
        axisIn(boundedSpan, rank) === span.axis &&
        canonical(boundedSpan.inner, boundedSpan.env) === text
      );
    };
    const conditionIndex = conditions.findIndex(
      (condition) => condition.size !== undefined && isBoundOfIndex(condition),
    );
    const bound = conditions[conditionIndex];
    const [condition] = conditionIndex < 0 || shouldKeepMask ? [] : conditions.splice(conditionIndex, 1);
    // A view also masks negative indices.
    if (condition) conditions = conditions.filter((each) => each.size !== undefined || !isBoundOfIndex(each));
    const within = access.knownBounds.find(({ index, env }) => index && canonical(index, env) === text);
    const size = bound?.size ?? within?.size ?? remainderOf(span.inner, access.env, params);
    indices.push({ strides, span, text, size, isClaimed: !condition });
  }
  const axes = indices.flatMap(({ span }) => (span.axis === undefined ? [] : [span.axis]));
  if (axes.length !== rank || new Set(axes).size !== rank) return "its indices do not span one axis each";
  if (!conditions.every(({ node, env }) => isUnchanged(node, env, access.env)))
    return "a variable of its mask changes between the mask and the access";
  return { access, indices, remainingConditions: conditions };
}

/** The index 0, for an address without indices. */
const zeroTerm = ({ call, env }: Access): Term => ({ index: constantNode("int", 0, call), env, strides: [] });

/** The terms with one stride. */
interface StrideGroup {
  readonly strides: readonly string[];
  readonly terms: readonly Term[];
}

function groupsOf(terms: readonly Term[]): readonly StrideGroup[] {
  const groups = new Map<string, StrideGroup>();
  for (const term of terms) {
    const key = keyOf(term);
    groups.set(key, { strides: term.strides, terms: [...(groups.get(key)?.terms ?? []), term] });
  }
  return [...groups.values()];
}

/**
 * Adds tiles of one element for axes of length 1 that no index spans, as in `x + head * stride + cols[None, :]`. The
 * scalar index (`head`) then spans this axis.
 */
function withUnitAxes(
  groups: readonly StrideGroup[],
  { call, pointer: { types }, env }: Access,
  rank: number,
): readonly StrideGroup[] {
  const spannedGroups = groups.map(({ strides, terms }) => {
    const spans = terms.map(({ index, env }) => spanOf(index, env));
    return { strides, terms, axes: spans.flatMap((span) => (span ? (axisIn(span, rank) ?? []) : [NaN])) };
  });
  const spannedAxes = spannedGroups.flatMap(({ axes }) => axes);
  const isUnitAxis = (axis: number): boolean => types.every((type) => "shape" in type && type.shape[axis] === 1);
  const freeAxes = Array.from({ length: rank }, (_, axis) => axis).filter(
    (axis) => !spannedAxes.includes(axis) && isUnitAxis(axis),
  );
  return spannedGroups.map(({ strides, terms, axes }) => {
    const axis = axes.length === 0 ? freeAxes.pop() : undefined;
    if (axis === undefined) return { strides, terms };
    const row = expandToAxis(arangeNode(constantNode("int", 1, call), call), axis, rank);
    return { strides, terms: [...terms, { index: row, env, strides }] };
  });
}

/** `index % size` */
function remainderOf(node: Expression, env: Env, params: ParamKinds): string | undefined {
  const binding = node.kind === "Name" ? env.get(node.id) : undefined;
  if (binding?.value && binding.env) return remainderOf(binding.value, binding.env, params);
  return node.kind === "BinOp" && node.op === "Mod" ? sizeOf(node.right, env, params) : undefined;
}

function spanRank({ types }: Expression): number {
  const [type] = types;
  return type && "shape" in type ? type.shape.length : 0;
}

/** The axis of the access that an index spans. An index of lower rank is aligned to the last axes. */
const axisIn = ({ axis, rank }: Span, whole: number): number | undefined =>
  axis === undefined ? undefined : axis + whole - rank;

/** The span of a sum of indices, or the reason why it has none. The indices must span at most one axis together. */
function spanOfSum(terms: readonly Term[], rank: number, accessEnv: Env): Span | string {
  const spans = terms.map(({ index, env }) => spanOf(index, env));
  if (!spans.every((span) => span !== undefined)) return "an index of it spans several axes";
  if (!spans.every(({ inner, env }) => isUnchanged(inner, env, accessEnv)))
    return "a variable of its index changes between the address and the access";
  const axes = new Set(spans.flatMap((span) => axisIn(span, rank) ?? []));
  if (axes.size > 1) return "its indices do not span one axis each";
  const [axis] = axes;
  const { types } = (spans.find((span) => span.axis !== undefined) ?? spans[0]!).inner;
  const sum = (lhs: Expression, rhs: Expression): Binary => ({
    kind: "BinOp",
    op: "Add",
    left: lhs,
    right: rhs,
    types,
    line: lhs.line,
    end: rhs.end,
  });
  const addends = withoutStart(
    spans.map(({ inner }) => inner),
    accessEnv,
  );
  return { inner: addends.reduce(sum), env: accessEnv, axis, rank };
}

/** Simplifies `start + (index - start)` to `index`, for induction variables that begin at the start of the loop. */
function withoutStart(addends: readonly Expression[], env: Env): readonly Expression[] {
  const isDifference = (addend: Expression): addend is Binary => addend.kind === "BinOp" && addend.op === "Sub";
  for (const difference of addends.filter(isDifference)) {
    const start = canonical(difference.right, env);
    const startAddend = addends.find((each) => each !== difference && canonical(each, env) === start);
    if (startAddend)
      return addends.flatMap((each) => (each === startAddend ? [] : [each === difference ? difference.left : each]));
  }
  return addends;
}

function whyNotLifted(
  access: ResolvedAccess,
  keys: readonly string[],
  sizes: ReadonlyMap<string, string>,
): string | undefined {
  const indices = inKeyOrder(access.indices, keys);
  if (access.indices.length !== keys.length || indices.length !== keys.length)
    return "other accesses of this pointer have other strides";
  const axes = indices.flatMap(({ span }) => span.axis ?? []);
  if (axes.some((axis, i) => axis !== i)) return "its tile has the axes of the tensor in another order";
  const clash = access.indices.find(
    (index) => index.size !== undefined && (sizes.get(keyOf(index)) ?? index.size) !== index.size,
  );
  return clash && `its mask compares with ${clash.size}, that of another access with ${sizes.get(keyOf(clash))}`;
}

const inKeyOrder = (indices: readonly ScaledIndex[], keys: readonly string[]): readonly ScaledIndex[] =>
  keys.flatMap((key) => indices.filter((index) => keyOf(index) === key));

function viewOf(
  tensor: string,
  keys: readonly string[],
  { access, indices: accessIndices, remainingConditions }: ResolvedAccess,
): { readonly view: View; readonly mask: Expression | undefined } {
  const indices = inKeyOrder(accessIndices, keys).map(({ span, isClaimed }) => ({ index: span.inner, isClaimed }));
  const { types, line, end } = access.pointer;
  const and = (lhs: Expression, rhs: Expression): Binary => ({
    kind: "BinOp",
    op: "BitAnd",
    left: lhs,
    right: rhs,
    types: lhs.types,
    line,
    end,
  });
  const masks = remainingConditions.map(({ node }) => node);
  return {
    view: { kind: "View", tensor, indices, types, line, end },
    mask: masks.length === 0 ? undefined : masks.reduce(and),
  };
}

/** Replaces the pointer and the mask of a call by a view. */
export function withView({ call }: Access, view: View, mask: Expression | undefined): Call {
  const { mask: _, ...others } = call.bound ?? {};
  return withArguments(call, { ...others, pointer: view, ...(mask && { mask }) });
}
