/**
 * What a kernel counts in int32 besides the offsets of ordinary tensors, whose reach the wrapper compares: the axes of tensors
 * with int64 offsets, the elements behind raw pointers, and what masks compare an index with. Arithmetic of int32 on the way
 * to an index makes it a count in int32, also where it is cast afterwards, unless it only adds to a number of 64 bits or counts
 * blocks. The rule is fixed: the wrapper depends on it.
 */
import {
  type Argument,
  type Counted,
  isList,
  isLiteral,
  isValue,
  type KernelIR,
  operandOf,
  type OpStatement,
  paramsOf,
  type Statement,
  type TensorParam,
  type Value,
} from "../ir/nodes.js";
import type { IntegerSemantics } from "../symbolic/integer-semantics.js";
import { bodiesOf, definitions, walkAll } from "../ir/walk.js";
import { dtypeTable, isInt, members } from "../types/dtype.js";
import { indexValues, loadedSources, indexOperands } from "./index-values.js";

const COMPARES: ReadonlySet<IntegerSemantics | undefined> = new Set<IntegerSemantics>([
  "below",
  "at most",
  "above",
  "at least",
]);

export function int32Counts(ir: KernelIR): Counted {
  return new Counts(ir).counted();
}

class Counts {
  readonly #made: ReadonlyMap<Value, Statement>;
  readonly #origins: (...roots: readonly Argument[]) => ReadonlySet<Value>;
  readonly #sizes = new Map<Value | number, "index" | "mask">();
  readonly #tensors = new Set<TensorParam>();
  readonly #sources: (value: Value) => readonly Value[];
  readonly #known = new Map<Value, boolean>();
  readonly #wide: ReadonlySet<Value>;

  constructor(readonly ir: KernelIR) {
    this.#made = definitions(...bodiesOf(ir));
    this.#origins = loadedSources(ir);
    this.#sources = indexOperands(ir);
    this.#wide = new Set(paramsOf(ir, "size").map(({ value }) => value));
  }

  counted(): Counted {
    walkAll(this.ir, (statement) => {
      if (statement.kind !== "op") return;
      const [first, second] = statement.operands;
      if (statement.op.lowering?.view) this.#view(first, second);
      else if (COMPARES.has(statement.op.facts.integer)) this.#comparison(statement);
      else this.#byHand(operandOf(statement, statement.op.proof.reaches?.address));
    });
    return { sizes: this.#sizes, tensors: this.#tensors };
  }

  /** The axes of a tensor with int64 offsets; of one whose axes were permuted, all of them. */
  #view(tensor: Argument | undefined, indices: Argument | undefined): void {
    const param = this.#wideTensor(tensor);
    if (!param || !isList(indices)) return;
    const isPermuted = tensor !== param.value;
    const counts = indices.map((index) => this.#isCounted(index));
    param.dims.forEach((dim, axis) => {
      if (isPermuted ? counts.includes(true) : counts[axis]) this.#note(dim);
    });
  }

  #wideTensor(tensor: Argument | undefined): TensorParam | undefined {
    const origins = tensor ? this.#origins(tensor) : undefined;
    return paramsOf(this.ir, "tensor").find(({ offsets, value }) => offsets === "int64" && origins?.has(value));
  }

  /** `i < N`, of an index that a mask compares with a size. */
  #comparison({ operands, results: [result] }: OpStatement): void {
    if (!result || !indexValues(this.ir).has(result)) return;
    operands.forEach((size, place) => {
      const index = operands[1 - place];
      if (isValue(size) && this.#wide.has(size) && index && this.#isCounted(index) && !this.#sizes.has(size))
        this.#sizes.set(size, "mask");
    });
  }

  /** What a pointer's offsets count: elements behind it, axes of a tensor, or all of one whose rows they do not widen. */
  #byHand(address: Argument | undefined): void {
    if (!isValue(address) || address.type.kind !== "pointer") return;
    const origins = this.#origins(address);
    if (![...origins].some((value) => this.#isArithmetic(value))) return;
    for (const { value, numel } of paramsOf(this.ir, "pointer"))
      if (origins.has(value) && numel !== undefined) this.#note(numel);
    for (const param of paramsOf(this.ir, "tensor")) {
      if (param.offsets !== "int64" || !origins.has(param.pointer)) continue;
      const products = [...origins].filter((value) => this.#isProduct(value));
      const isWide = products.some((value) => !isNarrow(value)) || param.dims.length < 2;
      if (!isWide || products.some(isNarrow)) this.#tensors.add(param);
      else param.dims.forEach((dim) => this.#note(dim));
    }
  }

  /** Whether a value is the product of two numbers that only a launch knows, such as an index and a stride. */
  #isProduct(value: Value): boolean {
    const made = this.#made.get(value);
    if (made?.kind !== "op" || !isProduct(made)) return false;
    return made.operands.every((operand) => isValue(operand) && operand.type.kind === "tile");
  }

  #note(size: Argument | number): void {
    if (typeof size === "number" || isValue(size)) this.#sizes.set(size, "index");
    else if (isLiteral(size)) this.#sizes.set(Number(size.value), "index");
  }

  /** Whether int32 counts all of an index: not where it only adds to a number of 64 bits, or counts blocks. */
  #isCounted(index: Argument): boolean {
    if (!isValue(index)) return false;
    let counted = this.#known.get(index);
    if (counted !== undefined) return counted;
    this.#known.set(index, false);
    counted = this.#isArithmetic(index) || this.#counting(index).some((each) => this.#isCounted(each));
    this.#known.set(index, counted);
    return counted;
  }

  #counting(value: Value): readonly Value[] {
    const made = this.#made.get(value);
    const sources = this.#sources(value);
    const meaning = made?.kind === "op" ? made.op.facts.integer : undefined;
    if (isNarrow(value) || meaning === undefined) return sources;
    if (meaning === "product") return [];
    const wide = sources.filter((each) => this.#isWide(each));
    return wide.length > 0 && (meaning === "sum" || meaning === "difference") ? wide : sources;
  }

  /** Whether a value has more than 32 bits of its own: from a product, from memory, or from the caller. */
  #isWide(value: Value): boolean {
    return [...this.#origins(value)].some((each) => {
      const made = this.#made.get(each);
      const isOwn = made === undefined || (made.kind === "op" && (made.op.effect !== "pure" || isProduct(made)));
      return isOwn && each.type.kind === "tile" && !isNarrow(each);
    });
  }

  /** Whether a value comes of arithmetic that may wrap in 32 bits, or counts turns in them. */
  #isArithmetic(value: Value): boolean {
    const made = this.#made.get(value);
    return isNarrow(value) && (made?.kind === "for" || (made?.kind === "op" && made.op.proof.wraps === true));
  }
}

const isProduct = ({ op }: OpStatement): boolean => op.facts.integer === "product";

/** Whether a value is an integer of no more than 32 bits, or may be one. */
function isNarrow({ type }: Value): boolean {
  return type.kind === "tile" && members(type.dtype).some((dtype) => isInt(dtype) && dtypeTable[dtype].bits <= 32);
}
