/** An early return for calls whose outputs are all empty: Triton rejects a grid without programs. */
import { isValue, paramsOf, type TensorParam } from "../../ir/nodes.js";
import * as py from "../syntax/py-build.js";
import { flatText } from "../syntax/layout-expression.js";
import type { Block, Expression } from "../syntax/py.js";
import { check } from "./checks.js";
import type { WrapperContext } from "./scope.js";

/** The distinct sizes of a tensor that may be 0, by their text. */
type Sizes = ReadonlyMap<string, Expression>;

/** Returns early if no output has an element. */
export function emptyResult(context: WrapperContext, results: readonly Expression[]): Block {
  const resultParams = paramsOf(context.ir, "tensor").filter(({ role }) => role !== "in");
  // An output with a fixed shape is never empty.
  if (results.length === 0 || !resultParams.every(({ dims }) => dims.some(isValue))) return [];
  const requiredSizes = minimalSizes(
    resultParams.filter(({ optional }) => !optional).map((param) => sizesOf(context, param)),
  );
  const optionalParams = resultParams.filter(({ optional }) => optional);
  const tests = optionalParams.flatMap((param) => {
    const sizes = sizesOf(context, param);
    if (requiredSizes.some((each) => isSubset(each, sizes))) return [];
    return [py.boolOp("or", py.compare(context.tensor(param), ["is", py.none]), isZero(sizes))];
  });
  return [check(py.boolOp("and", ...requiredSizes.map(isZero), ...tests), py.returns(py.tupleOrSingle(results)))];
}

function sizesOf(context: WrapperContext, param: TensorParam): Sizes {
  const sizes = param.dims.flatMap((dim, axis) => (isValue(dim) ? [context.dim(param, axis)] : []));
  return new Map(sizes.map((size) => [flatText(size), size]));
}

/** A product is 0 if a subset of its factors is 0, so supersets are redundant. */
function minimalSizes(all: readonly Sizes[]): readonly Sizes[] {
  const isRedundant = (sizes: Sizes, index: number) => (other: Sizes, i: number) =>
    i !== index && isSubset(other, sizes) && (other.size < sizes.size || i < index);
  return all.filter((sizes, index) => !all.some(isRedundant(sizes, index)));
}

const isSubset = (subset: Sizes, whole: Sizes): boolean => [...subset.keys()].every((text) => whole.has(text));

function isZero(sizes: Sizes): Expression {
  const product = [...sizes.values()].reduce((left, right) => py.binary(left, "*", right));
  return py.compare(product, ["==", py.number("0")]);
}
