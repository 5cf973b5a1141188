/** The backward slice of what decides which elements a program accesses, up to loaded values. */
import {
  type Argument,
  isFunction,
  type KernelIR,
  type OpStatement,
  type Statement,
  type Value,
  type Variable,
  operandOf,
  type Counted,
  isList,
  isLiteral,
  isValue,
  paramsOf,
  type TensorParam,
} from "../ir/nodes.js";
import { isFloat, type NumericDType } from "../numerics/numeric-int.js";
import type { Type } from "../types/types.js";
import { argumentsOf, bodiesOf, definitions, callBindings, resultsOf, valuesIn, walkAll } from "../ir/walk.js";
import type { IntegerSemantics } from "../symbolic/term.js";
import { dtypeTable, isInt, members } from "../types/dtype.js";

/**
 * The integers, masks and addresses on which accesses depend: through an address or a mask, or through a condition that
 * decides whether an access runs. A condition that a proof takes as a fact must be exact for the same reason.
 */
export function indexValues(ir: KernelIR): ReadonlySet<Value> {
  let values = cache.get(ir);
  if (values === undefined) cache.set(ir, (values = findIndexValues(ir)));
  return values;
}

/** A cache, because a property test evaluates a kernel a thousand times. */
const cache = new WeakMap<KernelIR, ReadonlySet<Value>>();

const findIndexValues = (ir: KernelIR): ReadonlySet<Value> => indexSlice(ir, addressOperandsOf, selectionsOf);

/** The values that all masks, and all conditions, are computed from. */
export const maskValues = (ir: KernelIR): ReadonlySet<Value> =>
  indexSlice(ir, ({ options: { mask } }) => (mask ? [mask] : []), selectionsOf);

/** The integers, masks and addresses that these ops take, and all conditions of the kernel. */
export function indexValuesOf(ir: KernelIR, ops: readonly OpStatement[]): ReadonlySet<Value> {
  const listed = new Set(ops);
  const operandsOf = (statement: OpStatement): readonly Argument[] =>
    statement.op.effect === "pure" ? argumentsOf(statement) : addressOperandsOf(statement);
  return indexSlice(ir, (statement) => (listed.has(statement) ? operandsOf(statement) : []));
}

/** The slice of all conditions, and of what these functions select of each op. */
function indexSlice(
  ir: KernelIR,
  operandsOf: (statement: OpStatement) => readonly Argument[],
  masksOf: (statement: OpStatement) => readonly Argument[] = () => [],
): ReadonlySet<Value> {
  const roots: Argument[] = [];
  const masks: Argument[] = [];
  walkAll(ir, (statement) => {
    roots.push(...conditionsOf(statement));
    if (statement.kind !== "op") return;
    roots.push(...operandsOf(statement));
    masks.push(...masksOf(statement));
  });
  const sources = loadedSources(ir);
  return new Set([...sources(...roots), ...unloadedSources(ir, sources, masks)]);
}

/** The mask by which an op selects. */
function selectionsOf(statement: OpStatement): readonly Argument[] {
  const condition = operandOf(statement, statement.op.proof.selectOperands?.condition);
  return condition === undefined ? [] : [condition];
}

/** Conditions, loop bounds and assumptions of the author. */
function conditionsOf(statement: Statement): readonly Argument[] {
  switch (statement.kind) {
    case "if":
      return [statement.condition];
    case "while":
      return statement.condition.yields;
    case "for":
      return [statement.start, statement.end, statement.step];
    case "op":
      return statement.op.proof.claims === undefined ? [] : argumentsOf(statement);
    case "let":
    case "read":
    case "write":
    case "exit":
      return [];
    default:
      return statement satisfies never;
  }
}

/**
 * The parts that no loaded value decides of masks that select. The proof that padding changes no result uses these;
 * what depends on loaded values is data, whose integers may wrap intentionally.
 */
function unloadedSources(
  ir: KernelIR,
  sources: ReturnType<typeof loadedSources>,
  masks: readonly Argument[],
): readonly Value[] {
  const definitionsOf = definitions(...bodiesOf(ir));
  const isLoaded = (value: Value): boolean => {
    const statement = definitionsOf.get(value);
    return statement?.kind === "op" && statement.op.effect !== "pure";
  };
  return [...sources(...masks)].filter((value) => ![...sources(value)].some(isLoaded));
}

/**
 * Returns the integers, masks and addresses that arguments are computed from, including the arguments, up to loaded
 * values.
 */
function loadedSources(ir: KernelIR): (...roots: readonly Argument[]) => ReadonlySet<Value> {
  const sources = indexOperands(ir);
  return (...roots) => {
    const slice = new Set<Value>();
    const visit = (value: Value): void => {
      if (slice.has(value)) return;
      slice.add(value);
      sources(value).forEach(visit);
    };
    roots.flatMap(indicesIn).forEach(visit);
    return slice;
  };
}

/** Returns the integers, masks and addresses that a value is directly computed from. */
function indexOperands(ir: KernelIR): (value: Value) => readonly Value[] {
  const definitionsOf = definitions(...bodiesOf(ir));
  const writes = new Map<Variable, Argument[]>();
  const passedArguments = new Map<Value, Argument[]>();
  walkAll(ir, (statement) => {
    for (const [param, argument] of callBindings(statement))
      passedArguments.set(param, [...(passedArguments.get(param) ?? []), argument]);
    if (statement.kind === "let") writes.set(statement.variable, [statement.initial]);
    if (statement.kind === "write") writes.get(statement.variable)?.push(statement.value);
  });
  return (value) =>
    [...(passedArguments.get(value) ?? []), ...sourcesOf(value, definitionsOf.get(value), writes)].flatMap(indicesIn);
}

const indicesIn = (argument: Argument): readonly Value[] => valuesIn(argument).filter(({ type }) => isIndex(type));

/** The addresses, mask and descriptor offsets of an access. */
function addressOperandsOf(statement: OpStatement): readonly Argument[] {
  const { memoryOperands: reaches } = statement.op.proof;
  if (!reaches || statement.op.effect === "pure") return [];
  const { mask } = statement.options;
  const { address, offsets, rows, column } = reaches;
  const operands = [address, offsets, rows, column].flatMap((name) => operandOf(statement, name) ?? []);
  return mask ? [...operands, mask] : operands;
}

/** The arguments that a value is computed from. Loaded values have none. */
function sourcesOf(
  value: Value,
  statement: Statement | undefined,
  writes: ReadonlyMap<Variable, readonly Argument[]>,
): readonly Argument[] {
  if (statement?.kind === "read") return writes.get(statement.variable) ?? [];
  if (statement?.kind === "for") return [statement.start, statement.end, statement.step];
  if (statement?.kind === "if") {
    const index = statement.results.indexOf(value);
    return [statement.then, statement.otherwise].flatMap((branch) => branch.yields[index] ?? []);
  }
  if (statement?.kind !== "op") return [];
  const [callee] = statement.operands;
  if (statement.op.spelling.form === "apply" && isFunction(callee)) {
    const index = resultsOf(statement).indexOf(value);
    return callee.function.body.yields.slice(index, index + 1);
  }
  if (statement.op.effect !== "pure") return [];
  const args = argumentsOf(statement);
  const index = resultsOf(statement).indexOf(value);
  // The results of a function that is applied to lanes: `tl.reduce(x, 0, f)`.
  return [
    ...args,
    ...args.flatMap((each) => (isFunction(each) ? each.function.body.yields.slice(index, index + 1) : [])),
  ];
}

/** True for integers, masks and addresses. The slice does not continue through floats. */
function isIndex(type: Type): boolean {
  return type.kind !== "tile" || typeof type.dtype !== "string" || !isFloat(type.dtype as NumericDType);
}

// Int32 counts: axes of tensors with int64 offsets, elements behind raw pointers, and sizes that masks compare an index
// with. The offsets of other tensors are excluded, because the wrapper compares their extents.
//
// An index counts in int32 if int32 arithmetic contributes to it, even if it is cast afterwards. Exceptions are int32
// terms of a 64-bit sum, and numbers of blocks. The rule is fixed, because the wrapper depends on it.

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
