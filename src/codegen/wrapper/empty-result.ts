/** A launch that would write nothing returns before it: Triton refuses a grid without programs. */
import { isValue, paramsOf, type TensorParam } from "../../ir/nodes.js";
import * as py from "../syntax/py-build.js";
import { flatText } from "../syntax/layout-expression.js";
import type { Block, Expression } from "../syntax/py.js";
import { check } from "./checks.js";
import type { WrapperContext } from "./scope.js";

/** The sizes of a tensor that may be 0, each once, by their text. */
type Sizes = ReadonlyMap<string, Expression>;

/** Returns early where no output has an element. */
export function emptyResult(context: WrapperContext, results: readonly Expression[]): Block {
  const written = paramsOf(context.ir, "tensor").filter(({ role }) => role !== "in");
  // One of a fixed shape is never empty.
  if (results.length === 0 || !written.every(({ dims }) => dims.some(isValue))) return [];
  const given = fewest(written.filter(({ optional }) => !optional).map((param) => sizesOf(context, param)));
  const others = written.filter(({ optional }) => optional);
  const tests = others.flatMap((param) => {
    const sizes = sizesOf(context, param);
    if (given.some((each) => isPart(each, sizes))) return [];
    return [py.boolOp("or", py.compare(context.tensor(param), ["is", py.none]), isZero(sizes))];
  });
  return [check(py.boolOp("and", ...given.map(isZero), ...tests), py.returns(py.tupled(results)))];
}

function sizesOf(context: WrapperContext, param: TensorParam): Sizes {
  const sizes = param.dims.flatMap((dim, axis) => (isValue(dim) ? [context.dim(param, axis)] : []));
  return new Map(sizes.map((size) => [flatText(size), size]));
}

/** A product is 0 wherever a part of it is, so the part alone is asked about. */
function fewest(all: readonly Sizes[]): readonly Sizes[] {
  const isCovered = (sizes: Sizes, at: number) => (other: Sizes, i: number) =>
    i !== at && isPart(other, sizes) && (other.size < sizes.size || i < at);
  return all.filter((sizes, at) => !all.some(isCovered(sizes, at)));
}

const isPart = (part: Sizes, whole: Sizes): boolean => [...part.keys()].every((text) => whole.has(text));

function isZero(sizes: Sizes): Expression {
  const product = [...sizes.values()].reduce((left, right) => py.binary(left, "*", right));
  return py.compare(product, ["==", py.number("0")]);
}
