/**
 * Int32 counts: axes of tensors with int64 offsets, elements behind raw pointers, and sizes that masks compare an index
 * with. The offsets of other tensors are excluded, because the wrapper compares their extents.
 *
 * An index counts in int32 if int32 arithmetic contributes to it, even if it is cast afterwards. Exceptions are int32
 * terms of a 64-bit sum, and numbers of blocks. The rule is fixed, because the wrapper depends on it.
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

const COMPARISONS: ReadonlySet<IntegerSemantics | undefined> = new Set<IntegerSemantics>([
  "below",
  "at most",
  "above",
  "at least",
]);

export function int32Counts(ir: KernelIR): Counted {
  return new CountAnalysis(ir).analyze();
}

class CountAnalysis {
  readonly #definitions: ReadonlyMap<Value, Statement>;
  readonly #origins: (...roots: readonly Argument[]) => ReadonlySet<Value>;
  readonly #sizes = new Map<Value | number, "index" | "mask">();
  readonly #tensors = new Set<TensorParam>();
  readonly #sources: (value: Value) => readonly Value[];
  readonly #isCountedCache = new Map<Value, boolean>();
  readonly #wide: ReadonlySet<Value>;

  constructor(readonly ir: KernelIR) {
    this.#definitions = definitions(...bodiesOf(ir));
    this.#origins = loadedSources(ir);
    this.#sources = indexOperands(ir);
    this.#wide = new Set(paramsOf(ir, "size").map(({ value }) => value));
  }

  analyze(): Counted {
    walkAll(this.ir, (statement) => {
      if (statement.kind !== "op") return;
      const [first, second] = statement.operands;
      if (statement.op.lowering?.view) this.#view(first, second);
      else if (COMPARISONS.has(statement.op.facts.integer)) this.#comparison(statement);
      else this.#pointer(operandOf(statement, statement.op.proof.memoryOperands?.address));
    });
    return { sizes: this.#sizes, tensors: this.#tensors };
  }

  /** Records the axes of a tensor with int64 offsets. If its axes were permuted, all of them are recorded. */
  #view(tensor: Argument | undefined, indices: Argument | undefined): void {
    const param = this.#wideTensor(tensor);
    if (!param || !isList(indices)) return;
    const isPermuted = tensor !== param.value;
    const counts = indices.map((index) => this.#isCounted(index));
    param.dims.forEach((dim, axis) => {
      if (isPermuted ? counts.includes(true) : counts[axis]) this.#recordIndex(dim);
    });
  }

  #wideTensor(tensor: Argument | undefined): TensorParam | undefined {
    const origins = tensor ? this.#origins(tensor) : undefined;
    return paramsOf(this.ir, "tensor").find(({ offsets, value }) => offsets === "int64" && origins?.has(value));
  }

  /** Records `N` of `i < N`, where a mask compares an index with a size. */
  #comparison({ operands, results: [result] }: OpStatement): void {
    if (!result || !indexValues(this.ir).has(result)) return;
    operands.forEach((size, position) => {
      const index = operands[1 - position];
      if (isValue(size) && this.#wide.has(size) && index && this.#isCounted(index) && !this.#sizes.has(size))
        this.#sizes.set(size, "mask");
    });
  }

  /**
   * Records the counts of a pointer's offsets: the elements behind it, the axes of a tensor, or a whole tensor if row
   * offsets are not widened.
   */
  #pointer(address: Argument | undefined): void {
    if (!isValue(address) || address.type.kind !== "pointer") return;
    const origins = this.#origins(address);
    if (![...origins].some((value) => this.#isArithmetic(value))) return;
    for (const { value, numel } of paramsOf(this.ir, "pointer"))
      if (origins.has(value) && numel !== undefined) this.#recordIndex(numel);
    for (const param of paramsOf(this.ir, "tensor")) {
      if (param.offsets !== "int64" || !origins.has(param.pointer)) continue;
      const products = [...origins].filter((value) => this.#isProduct(value));
      const isWide = products.some((value) => !isNarrow(value)) || param.dims.length < 2;
      if (!isWide || products.some(isNarrow)) this.#tensors.add(param);
      else param.dims.forEach((dim) => this.#recordIndex(dim));
    }
  }

  /** True for the product of two numbers that only a launch determines, such as an index and a stride. */
  #isProduct(value: Value): boolean {
    const definition = this.#definitions.get(value);
    if (definition?.kind !== "op" || !isProduct(definition)) return false;
    return definition.operands.every((operand) => isValue(operand) && operand.type.kind === "tile");
  }

  #recordIndex(size: Argument | number): void {
    if (typeof size === "number" || isValue(size)) this.#sizes.set(size, "index");
    else if (isLiteral(size)) this.#sizes.set(Number(size.value), "index");
  }

  /** True if an index is counted in int32: not if int32 terms only contribute to a 64-bit sum, or count blocks. */
  #isCounted(index: Argument): boolean {
    if (!isValue(index)) return false;
    let counted = this.#isCountedCache.get(index);
    if (counted !== undefined) return counted;
    this.#isCountedCache.set(index, false);
    counted = this.#isArithmetic(index) || this.#countingSources(index).some((each) => this.#isCounted(each));
    this.#isCountedCache.set(index, counted);
    return counted;
  }

  #countingSources(value: Value): readonly Value[] {
    const definition = this.#definitions.get(value);
    const sources = this.#sources(value);
    const meaning = definition?.kind === "op" ? definition.op.facts.integer : undefined;
    if (isNarrow(value) || meaning === undefined) return sources;
    if (meaning === "product") return [];
    const wide = sources.filter((each) => this.#isWide(each));
    return wide.length > 0 && (meaning === "sum" || meaning === "difference") ? wide : sources;
  }

  /** True if a value is genuinely wide: the 64 bits come from a product, from memory, or from the caller. */
  #isWide(value: Value): boolean {
    return [...this.#origins(value)].some((each) => {
      const definition = this.#definitions.get(each);
      const isSource =
        definition === undefined ||
        (definition.kind === "op" && (definition.op.effect !== "pure" || isProduct(definition)));
      return isSource && each.type.kind === "tile" && !isNarrow(each);
    });
  }

  /** True for the result of int32 arithmetic that may wrap, and for an int32 loop index. */
  #isArithmetic(value: Value): boolean {
    const definition = this.#definitions.get(value);
    return (
      isNarrow(value) &&
      (definition?.kind === "for" || (definition?.kind === "op" && definition.op.proof.wraps === true))
    );
  }
}

const isProduct = ({ op }: OpStatement): boolean => op.facts.integer === "product";

/** True for an integer of at most 32 bits. For dtype variables, true if a member is one. */
function isNarrow({ type }: Value): boolean {
  return type.kind === "tile" && members(type.dtype).some((dtype) => isInt(dtype) && dtypeTable[dtype].bits <= 32);
}
