/** Which accesses become views, and the tensors that they are views of. */
import { arange, expandToAxis, constantOf } from "../node-builders.js";
import { onlyComputes } from "../op-calls.js";
import { withArguments } from "../rewrite-tree.js";
import type { Binary, Call, Expression, View } from "../tree.js";
import { sizeOf } from "./linear-address.js";
import type { Access, Condition, Env, Passed, Term } from "./python-access.js";
import { type IndexParts, indexParts } from "./index-parts.js";
import { canonical, isSame, type Span, spanOf } from "./expression-parts.js";

/** An axis of a tensor: its size and its stride as the kernel's parameters. */
export interface LiftedAxis {
  /** The parameter, a number, or a name that only the tensor has. */
  readonly size: string;
  readonly isNew: boolean;
  /** The parameter is a constant, which the tensor does not declare. */
  readonly isConstant?: boolean;
  /** The parameters of which the stride is the product; none where it follows from sizes, or is 1. */
  readonly strides: readonly string[];
  /** What each access indexes it with. */
  readonly indices: readonly IndexParts[];
}

export interface LiftedTensor {
  /** The pointer parameter. */
  readonly param: string;
  readonly axes: readonly LiftedAxis[];
  /** Its strides follow from its sizes. */
  readonly isContiguous: boolean;
  readonly role: "in" | "out" | "inout";
}

/** An access, and the view that it becomes or why it stays as it is. */
export type LiftDecision = { readonly access: Access } & (
  { readonly view: View; readonly mask: Expression | undefined } | { readonly why: string }
);

/** One index of an access, with what it is multiplied by. */
interface Reach {
  readonly strides: readonly string[];
  readonly span: Span;
  readonly text: string;
  readonly size: string | undefined;
  /** No part of the mask says that it is in bounds. */
  readonly isClaimed: boolean;
}

type Read = { readonly access: Access; readonly reaches: readonly Reach[]; readonly extra: readonly Condition[] };

/** The pointers that may become tensors, and those of them whose accesses keep their masks. */
interface Choice {
  readonly only?: ReadonlySet<string> | undefined;
  readonly masked?: ReadonlySet<string> | undefined;
}

/** A tensor for each pointer parameter of which an access can be a view. */
export class Lifting {
  readonly tensors: LiftedTensor[] = [];
  readonly considered: LiftDecision[] = [];
  /** Names of sizes that no parameter has, by the index that they bound. */
  readonly #fresh = new Map<string, string>();

  constructor(
    accesses: readonly Access[],
    private readonly taken: ReadonlySet<string>,
    private readonly passed: Passed,
    private readonly choice: Choice,
  ) {
    const { only } = choice;
    for (const base of new Set(accesses.map((access) => access.base)))
      if (base === undefined || !only || only.has(base))
        this.#param(
          base,
          accesses.filter((each) => each.base === base),
        );
  }

  #param(base: string | undefined, accesses: readonly Access[]): void {
    const found: Read[] = [];
    for (const access of accesses) {
      const keepsMask = base !== undefined && this.choice.masked?.has(base) === true;
      const read = access.lost?.why ?? readOf(access, this.passed, keepsMask);
      if (typeof read === "string") this.considered.push({ access, why: read });
      else found.push(read);
    }
    // The access with the most axes shows their order.
    const [first] = found.toSorted((a, b) => rankOf(b) - rankOf(a));
    if (base === undefined || !first) return;
    const keys = ordered(first.reaches).map(keyOf);
    const kept: Read[] = [];
    const sizes = new Map<string, string>();
    for (const read of found) {
      const why = whyNot(read, keys, sizes);
      if (why !== undefined) this.considered.push({ access: read.access, why });
      else {
        kept.push(read);
        for (const { strides, size } of read.reaches) if (size !== undefined) sizes.set(strides.join("*"), size);
      }
    }
    const axes = kept.length > 0 ? this.#axes(ordered(first.reaches), sizes, indicesOf(kept)) : undefined;
    if (!axes) return;
    const stores = accesses.filter(({ isStore }) => isStore).length;
    const role = stores === 0 ? "in" : stores === accesses.length ? "out" : "inout";
    this.tensors.push({ param: base, axes: axes.list, isContiguous: axes.isContiguous, role });
    for (const read of kept) this.considered.push({ access: read.access, ...viewOf(base, keys, read) });
  }

  /** The axes in order. */
  #axes(
    reaches: readonly Reach[],
    sizes: ReadonlyMap<string, string>,
    indices: ReadonlyMap<string, readonly IndexParts[]>,
  ): { readonly list: readonly LiftedAxis[]; readonly isContiguous: boolean } {
    const known = reaches.map((reach) => sizes.get(keyOf(reach)));
    const of = (reach: Reach): readonly IndexParts[] => indices.get(keyOf(reach)) ?? [];
    const packed = packedSizes(reaches, known);
    if (packed)
      return {
        list: reaches.map((reach, i) => ({ ...this.#size(packed[i], reach), strides: [], indices: of(reach) })),
        isContiguous: true,
      };
    return {
      list: reaches.map((reach, i) => ({
        ...this.#size(known[i], reach),
        strides: reach.strides,
        indices: of(reach),
      })),
      isContiguous: false,
    };
  }

  #size(known: string | undefined, { text, span }: Reach): Pick<LiftedAxis, "size" | "isNew" | "isConstant"> {
    if (known !== undefined)
      return {
        size: known,
        isNew: false,
        ...((this.passed.constants.has(known) || /^\d/.test(known)) && { isConstant: true }),
      };
    const key = `${span.axis === undefined ? "" : "tile "}${text}`;
    const names = [..."MNKLPQRSUVW"].filter(
      (name) => !this.taken.has(name) && ![...this.#fresh.values()].includes(name),
    );
    const size = this.#fresh.get(key) ?? names[0] ?? `SIZE_${this.#fresh.size}`;
    this.#fresh.set(key, size);
    return { size, isNew: true };
  }
}

/**
 * Sizes of a tensor without gaps: each stride is the product of the sizes behind it. A parameter that only multiplies,
 * and is called a stride, is one.
 */
function packedSizes(
  reaches: readonly Reach[],
  known: readonly (string | undefined)[],
): readonly (string | undefined)[] | undefined {
  const sizes = [...known];
  if (reaches.at(-1)!.strides.length > 0) return undefined;
  for (let i = reaches.length - 2; i >= 0; i--) {
    const rest = [...reaches[i]!.strides];
    for (const factor of reaches[i + 1]!.strides) {
      const place = rest.indexOf(factor);
      if (place < 0) return undefined;
      rest.splice(place, 1);
    }
    const [size, ...more] = rest;
    if (size === undefined || more.length > 0) return undefined;
    if (sizes[i + 1] === undefined ? /stride/i.test(size) : sizes[i + 1] !== size) return undefined;
    sizes[i + 1] = size;
  }
  return sizes;
}

/** What accesses index an axis with, by the strides of the axis. */
function indicesOf(reads: readonly Read[]): ReadonlyMap<string, readonly IndexParts[]> {
  const found = new Map<string, IndexParts[]>();
  for (const { reaches } of reads)
    for (const reach of reaches) {
      const parts = indexParts(reach.span.inner, reach.span.env);
      found.set(keyOf(reach), [...(found.get(keyOf(reach)) ?? []), parts]);
    }
  return found;
}

const keyOf = ({ strides }: { readonly strides: readonly string[] }): string => strides.join("*");
const rankOf = ({ reaches }: Read): number => reaches.filter(({ span }) => span.axis !== undefined).length;

/** Scalars first, then tiles in the order of their axes; what has no stride is last of its kind. */
const ordered = (reaches: readonly Reach[]): readonly Reach[] =>
  reaches.toSorted((a, b) => (a.span.axis ?? -1) - (b.span.axis ?? -1) || b.strides.length - a.strides.length);

/** The indices of an access by what they are multiplied by, or why it has none. */
function readOf(access: Access, passed: Passed, keepsMask: boolean): Read | string {
  const groups = new Map<string, Term[]>();
  const terms = access.terms.length > 0 ? access.terms : [first(access)];
  for (const term of terms) groups.set(keyOf(term), [...(groups.get(keyOf(term)) ?? []), term]);
  const type = access.call.bound!["pointer"] as Expression;
  const rank = spanRank(type);
  const reaches: Reach[] = [];
  let left = [...access.conditions];
  const isEarlier = terms.some(({ index, env }) => env !== access.env && !onlyComputes(index));
  if (isEarlier) return "an index of it is loaded before, where its address is computed";
  for (const terms of withRows(groups, access, rank).values()) {
    const span = spanOfSum(terms, rank, access.env);
    if (typeof span === "string") return span;
    const text = canonical(span.inner, access.env);
    const concerns = ({ index, env }: Condition): boolean => {
      const bounded = index && spanOf(index, env);
      return (
        bounded !== undefined && axisIn(bounded, rank) === span.axis && canonical(bounded.inner, bounded.env) === text
      );
    };
    const place = left.findIndex((condition) => condition.size !== undefined && concerns(condition));
    const bound = left[place];
    const [condition] = place < 0 || keepsMask ? [] : left.splice(place, 1);
    // A view masks what is below 0 too.
    if (condition) left = left.filter((each) => each.size !== undefined || !concerns(each));
    const within = access.within.find(({ index, env }) => index && canonical(index, env) === text);
    const size = bound?.size ?? within?.size ?? remainderOf(span.inner, access.env, passed);
    reaches.push({ strides: terms[0]!.strides, span, text, size, isClaimed: !condition });
  }
  const axes = reaches.flatMap(({ span }) => (span.axis === undefined ? [] : [span.axis]));
  if (axes.length !== rank || new Set(axes).size !== rank) return "its indices do not span one axis each";
  if (!left.every(({ node, env }) => isSame(node, env, access.env)))
    return "what its mask names changes between the mask and the access";
  return { access, reaches, extra: left };
}

/** The index of an address without one. */
const first = ({ call, env }: Access): Term => ({ index: constantOf("int", 0, call), env, strides: [] });

/**
 * The terms by their strides. An axis of length 1 that no index spans, as in `x + head * stride + cols[None, :]`, belongs
 * to a number: it is a tile of one element.
 */
function withRows(
  groups: ReadonlyMap<string, readonly Term[]>,
  { call, env }: Access,
  rank: number,
): ReadonlyMap<string, readonly Term[]> {
  const spanned = new Map(
    [...groups].map(([key, terms]) => {
      const spans = terms.map(({ index, env }) => spanOf(index, env));
      return [key, spans.flatMap((span) => (span ? (axisIn(span, rank) ?? []) : [NaN]))] as const;
    }),
  );
  const taken = [...spanned.values()].flat();
  const { types } = call.bound!["pointer"] as Expression;
  const isShort = (axis: number): boolean => types.every((type) => "shape" in type && type.shape[axis] === 1);
  const free = Array.from({ length: rank }, (_, axis) => axis).filter((axis) => !taken.includes(axis) && isShort(axis));
  const made = new Map(groups);
  for (const [key, axes] of spanned) {
    const axis = axes.length === 0 ? free.pop() : undefined;
    if (axis === undefined) continue;
    const row = expandToAxis(arange(constantOf("int", 1, call), call), axis, rank);
    made.set(key, [...groups.get(key)!, { index: row, env, strides: groups.get(key)![0]!.strides }]);
  }
  return made;
}

/** `index % size` */
function remainderOf(node: Expression, env: Env, passed: Passed): string | undefined {
  const binding = node.kind === "Name" ? env.get(node.id) : undefined;
  if (binding?.value && binding.env) return remainderOf(binding.value, binding.env, passed);
  return node.kind === "BinOp" && node.op === "Mod" ? sizeOf(node.right, env, passed) : undefined;
}

function spanRank({ types }: Expression): number {
  const [type] = types;
  return type && "shape" in type ? type.shape.length : 0;
}

/** An index of fewer axes stands at the last ones. */
const axisIn = ({ axis, rank }: Span, whole: number): number | undefined =>
  axis === undefined ? undefined : axis + whole - rank;

/** The sum of indices of which at most one axis is spanned, as the access sees it. */
function spanOfSum(terms: readonly Term[], rank: number, there: Env): Span | string {
  const spans = terms.map(({ index, env }) => spanOf(index, env));
  if (!spans.every((span) => span !== undefined)) return "an index of it spans several axes";
  if (!spans.every(({ inner, env }) => isSame(inner, env, there)))
    return "what its index names changes between the address and the access";
  const axes = new Set(spans.flatMap((span) => axisIn(span, rank) ?? []));
  if (axes.size > 1) return "its indices do not span one axis each";
  const [axis] = axes;
  const { types } = (spans.find((span) => span.axis !== undefined) ?? spans[0]!).inner;
  const sum = (left: Expression, right: Expression): Binary => ({
    kind: "BinOp",
    op: "Add",
    left,
    right,
    types,
    line: left.line,
    end: right.end,
  });
  const parts = withoutStart(
    spans.map(({ inner }) => inner),
    there,
  );
  return { inner: parts.reduce(sum), env: there, axis, rank };
}

/** `start` and `index - start` are `index`: what a loop moves begins where the loop does. */
function withoutStart(parts: readonly Expression[], env: Env): readonly Expression[] {
  const isFrom = (part: Expression): part is Binary => part.kind === "BinOp" && part.op === "Sub";
  for (const moved of parts.filter(isFrom)) {
    const start = canonical(moved.right, env);
    const from = parts.find((each) => each !== moved && canonical(each, env) === start);
    if (from) return parts.flatMap((each) => (each === from ? [] : [each === moved ? moved.left : each]));
  }
  return parts;
}

function whyNot(read: Read, keys: readonly string[], sizes: ReadonlyMap<string, string>): string | undefined {
  if (read.reaches.length !== keys.length || !keys.every((key) => read.reaches.some((reach) => keyOf(reach) === key)))
    return "other accesses of this pointer have other strides";
  const axes = keys.flatMap((key) => read.reaches.find((reach) => keyOf(reach) === key)!.span.axis ?? []);
  if (axes.some((axis, i) => axis !== i)) return "its tile has the axes of the tensor in another order";
  const clash = read.reaches.find(
    (reach) => reach.size !== undefined && (sizes.get(keyOf(reach)) ?? reach.size) !== reach.size,
  );
  return clash && `its mask compares with ${clash.size}, that of another access with ${sizes.get(keyOf(clash))}`;
}

function viewOf(
  tensor: string,
  keys: readonly string[],
  { access, reaches, extra }: Read,
): { readonly view: View; readonly mask: Expression | undefined } {
  const pointer = access.call.bound!["pointer"] as Expression;
  const indices = keys.map((key) => {
    const { span, isClaimed } = reaches.find((reach) => keyOf(reach) === key)!;
    return { index: span.inner, isClaimed };
  });
  const { types, line, end } = pointer;
  const and = (left: Expression, right: Expression): Binary => ({
    kind: "BinOp",
    op: "BitAnd",
    left,
    right,
    types: left.types,
    line,
    end,
  });
  const masks = extra.map(({ node }) => node);
  return {
    view: { kind: "View", tensor, indices, types, line, end },
    mask: masks.length === 0 ? undefined : masks.reduce(and),
  };
}

/** The call with a view in place of its pointer and its mask. */
export function withView({ call }: Access, view: View, mask: Expression | undefined): Call {
  const { mask: _, ...others } = call.bound!;
  return withArguments(call, { ...others, pointer: view, ...(mask && { mask }) });
}
