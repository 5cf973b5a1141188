/** Rules of torch's reductions, products of matrices, normalizations and losses. */
import { broadcastLane, broadcastShape } from "../model/symbolic-environment.js";
import { atAxis } from "../../types/dims.js";
import {
  andTerm,
  atLeast,
  atMost,
  below,
  difference,
  equal,
  number,
  product,
  quotient,
  sum,
  type Term,
  TRUE,
  truth,
} from "../../symbolic/term.js";
import {
  add,
  apply,
  choose,
  divide,
  fold,
  type FoldKind,
  INFINITE,
  integer,
  multiply,
  negate,
  type Real,
  real,
  squareRoot,
  subtract,
  zero,
  inverseRoot,
  square,
} from "./real.js";
import { rationalOf, noRule } from "./rational.js";
import {
  floatTensor,
  axisOf,
  floatsOf,
  isListOf,
  isTerm,
  lanewise,
  type SymbolicTensor,
  tensorOf,
  termOf,
  type TorchArguments,
  type TorchRule,
  type TorchSymbol,
  transposed,
} from "./torch-elementwise.js";

/** The axes of a reduction, and the lane of the operand at an index of the result. */
function reductionOf({ input, dim, keepdim }: TorchArguments) {
  const x = floatTensor(input);
  const rank = x.shape.length;
  const listed = isListOf(dim) ? dim : [dim];
  const given = dim === undefined ? x.shape.map((_, axis) => axis) : listed;
  const axes = given.map((each) => axisOf(each, rank));
  const isKept = keepdim === true;
  const shape = x.shape.flatMap((size, axis) => {
    if (!axes.includes(axis)) return [size];
    return isKept ? [number(1)] : [];
  });
  const dims = axes.map((axis) => atAxis(x.shape, axis));
  const lane = (index: readonly Term[], inner: readonly Term[]): readonly Term[] => {
    const outer = isKept ? index.filter((_, axis) => !axes.includes(axis)) : [...index];
    let next = 0;
    return x.shape.map((_, axis) => (axes.includes(axis) ? atAxis(inner, axes.indexOf(axis)) : atAxis(outer, next++)));
  };
  return { x, shape, dims, lane };
}

/** A reduction of the lanes of the operand by a function of one lane's elements. */
const reduction =
  (
    compute: (dims: readonly Term[], element: (inner: readonly Term[]) => Real, args: TorchArguments) => Real,
  ): TorchRule =>
  (args) => {
    const { x, shape, dims, lane } = reductionOf(args);
    return { shape, at: (index: readonly Term[]) => compute(dims, (inner) => x.at(lane(index, inner)), args) };
  };

const folding =
  (kind: FoldKind): TorchRule =>
  (args) =>
    reduction((dims, element) => fold(kind, dims, element))(args);

const count = (dims: readonly Term[]): Real => integer(product(...dims));
const meanOf = (dims: readonly Term[], element: (inner: readonly Term[]) => Real): Real =>
  divide(fold("sum", dims, element), count(dims));

function varianceOf(dims: readonly Term[], element: (inner: readonly Term[]) => Real, args: TorchArguments): Real {
  const { correction, unbiased } = args;
  const removed = correction ?? (unbiased === false ? 0 : 1);
  if (typeof removed !== "number") return noRule("a correction that is no number");
  const mean = meanOf(dims, element);
  const squares = fold("sum", dims, (inner) => square(subtract(element(inner), mean)));
  return divide(squares, add(count(dims), real(rationalOf(-removed))));
}

const logSumExpOf = (dims: readonly Term[], element: (inner: readonly Term[]) => Real): Real =>
  apply(
    "log",
    fold("sum", dims, (inner) => apply("exp", element(inner))),
  );

/** A tensor of which each lane along an axis is replaced. */
const alongAxis =
  (compute: (x: Real, dims: readonly Term[], element: (inner: readonly Term[]) => Real) => Real): TorchRule =>
  ({ input, dim }) =>
    replacedLanes(floatsOf(input), dim, compute);

function replacedLanes(
  x: SymbolicTensor,
  dim: TorchSymbol,
  compute: (x: Real, dims: readonly Term[], element: (inner: readonly Term[]) => Real) => Real,
): SymbolicTensor {
  const axis = axisOf(dim, x.shape.length);
  return {
    shape: x.shape,
    at: (index: readonly Term[]) =>
      compute(x.at(index), [atAxis(x.shape, axis)], ([k = number(0)]) => x.at(index.with(axis, k))),
  };
}

const softmaxOf = (x: Real, dims: readonly Term[], element: (inner: readonly Term[]) => Real): Real =>
  divide(
    apply("exp", x),
    fold("sum", dims, (inner) => apply("exp", element(inner))),
  );

// ---- products ---------------------------------------------------------------------------------------------------------

function matmul(left: TorchSymbol, right: TorchSymbol): SymbolicTensor {
  const [x, y] = [floatTensor(left), floatTensor(right)];
  const [xRank, yRank] = [x.shape.length, y.shape.length];
  if (xRank < 2 || yRank < 2) return noRule("a product with a vector");
  const [xLead, yLead] = [x.shape.slice(0, -2), y.shape.slice(0, -2)];
  const lead = broadcastShape(xLead, yLead);
  return {
    shape: [...lead, atAxis(x.shape, xRank - 2), atAxis(y.shape, yRank - 1)],
    at: (index: readonly Term[]) => {
      const outer = index.slice(0, -2);
      const [row, column] = [atAxis(index, index.length - 2), atAxis(index, index.length - 1)];
      return fold("sum", [atAxis(x.shape, xRank - 1)], ([k = number(0)]) =>
        multiply(x.at([...broadcastLane(xLead, outer), row, k]), y.at([...broadcastLane(yLead, outer), k, column])),
      );
    },
  };
}

const withBias = (x: SymbolicTensor, bias: TorchSymbol): SymbolicTensor =>
  bias === undefined ? x : lanewise([x, floatsOf(bias)], add);

function attention(args: TorchArguments): TorchSymbol {
  const { attn_mask: mask, dropout_p: dropout, is_causal: causal, scale } = args;
  if (dropout !== undefined && dropout !== 0) return noRule("the dropout of attention");
  const biases = mask === undefined ? undefined : tensorOf(mask);
  if (biases?.terms || biases?.pick) return noRule("a mask of attention that is no float");
  const [q, k, v] = [floatTensor(args["query"]), floatTensor(args["key"]), floatTensor(args["value"])];
  const rank = q.shape.length;
  const width = atAxis(q.shape, rank - 1);
  const factor = scale === undefined ? inverseRoot(integer(width)) : floatsOf(scale).at([]);
  const isCausal = conditionOf(causal ?? false);
  const products = matmul(q, transposed(k, k.shape.length - 2, k.shape.length - 1));
  const scores: SymbolicTensor = {
    shape: products.shape,
    at: (index: readonly Term[]) => {
      const product = multiply(factor, products.at(index));
      const score = biases ? add(product, biases.at(broadcastLane(biases.shape, index))) : product;
      const isSeen = atMost(atAxis(index, rank - 1), atAxis(index, rank - 2));
      return choose(isCausal, choose(isSeen, score, INFINITE), score);
    },
  };
  return matmul(replacedLanes(scores, rank - 1, softmaxOf), v);
}

function conditionOf(x: TorchSymbol): Term {
  if (typeof x === "boolean") return truth(x);
  return isTerm(x) ? x.term : noRule("a condition of the reference");
}

function einsum({ equation, operands }: TorchArguments): TorchSymbol {
  if (typeof equation !== "string" || !isListOf(operands)) return noRule("an equation of torch.einsum");
  const [inputs = "", output = ""] = equation.replaceAll(" ", "").split("->");
  if (!equation.includes("->") || equation.includes(".")) return noRule("an equation of torch.einsum");
  const names = inputs.split(",").map((each) => Array.from(each));
  const tensors = operands.map(floatTensor);
  const sizes = new Map(names.flatMap((axes, i) => axes.map((name, axis) => [name, tensors[i]?.shape[axis]] as const)));
  const sizeOf = (name: string): Term => sizes.get(name) ?? noRule("an axis of torch.einsum");
  const results = Array.from(output);
  const summed = [...sizes.keys()].filter((name) => !results.includes(name));
  return {
    shape: results.map(sizeOf),
    at: (index: readonly Term[]) =>
      fold("sum", summed.map(sizeOf), (inner) => {
        const positionOf = (name: string) =>
          results.includes(name) ? atAxis(index, results.indexOf(name)) : atAxis(inner, summed.indexOf(name));
        return multiply(...tensors.map((tensor, i) => tensor.at((names[i] ?? []).map(positionOf))));
      }),
  };
}

// ---- normalizations and losses ----------------------------------------------------------------------------------------

function normalized(
  { input, normalized_shape: shape, weight, bias, eps }: TorchArguments,
  isCentered: boolean,
): TorchSymbol {
  const x = floatsOf(input);
  const rank = x.shape.length;
  if (!isListOf(shape)) return noRule("a normalized shape");
  const lead = rank - shape.length;
  const dims = x.shape.slice(lead);
  const isDefault = eps === undefined;
  if (isDefault && !isCentered) return noRule("an epsilon that depends on the dtype");
  const epsilon = isDefault ? real(rationalOf(1e-5)) : floatsOf(eps).at([]);
  const result: SymbolicTensor = {
    shape: x.shape,
    at: (index: readonly Term[]) => {
      const element = (inner: readonly Term[]): Real => x.at([...index.slice(0, lead), ...inner]);
      const mean = isCentered ? meanOf(dims, element) : zero;
      const variance = meanOf(dims, (inner) => square(subtract(element(inner), mean)));
      return multiply(subtract(x.at(index), mean), inverseRoot(add(variance, epsilon)));
    },
  };
  const weighted = weight === undefined ? result : lanewise([result, floatsOf(weight)], multiply);
  return withBias(weighted, bias);
}

/** PyTorch's default of `ignore_index`: the loss of such a row is 0. */
const IGNORED_LABEL = -100;

function crossEntropy(args: TorchArguments): TorchSymbol {
  const { input, target, reduction: reduced, ignore_index: ignored, label_smoothing: smoothing, weight } = args;
  if (reduced !== "none" || weight !== undefined || (smoothing !== undefined && smoothing !== 0))
    return noRule("a form of torch.nn.functional.cross_entropy");
  if (ignored !== undefined) return noRule("an ignored index");
  const [x, labels] = [floatsOf(input), tensorOf(target)];
  const { terms } = labels;
  if (!terms || labels.shape.length !== 1) return noRule("the labels of torch.nn.functional.cross_entropy");
  return {
    shape: labels.shape,
    at: ([row = number(0)]: readonly Term[]) => {
      const logits = logSumExpOf([atAxis(x.shape, 1)], ([k = number(0)]) => x.at([row, k]));
      const label = terms([row]);
      return choose(equal(label, number(IGNORED_LABEL)), zero, subtract(logits, x.at([row, label])));
    },
  };
}

function elementLoss(compute: (x: Real, y: Real) => Real): TorchRule {
  return ({ input, target, reduction: reduced = "mean" }) => {
    const losses = lanewise([floatTensor(input), floatTensor(target)], compute);
    if (reduced === "none") return losses;
    const total = fold("sum", losses.shape, (inner) => losses.at(inner));
    if (reduced === "sum") return { shape: [], at: () => total };
    return { shape: [], at: () => divide(total, count(losses.shape)) };
  };
}

/** The greatest elements of windows in a volume. Their places have no rule. */
function maxPool3d(args: TorchArguments): TorchSymbol {
  const { dilation, ceil_mode: ceils, return_indices: withIndices } = args;
  if ((dilation !== undefined && dilation !== 1) || ceils === true) return noRule("a form of max_pool3d");
  const x = floatTensor(args["input"]);
  const lead = x.shape.length - 3;
  const kernel = termOf(args["kernel_size"]);
  const stride = args["stride"] === undefined ? kernel : termOf(args["stride"]);
  const padding = termOf(args["padding"] ?? 0);
  const places = x.shape.map((size, axis): Term => {
    if (axis < lead) return size;
    const last = difference(sum(size, product(padding, number(2))), kernel);
    return sum(quotient(last, stride, true), number(1));
  });
  const values: SymbolicTensor = {
    shape: places,
    at: (index: readonly Term[]) =>
      fold("maximum", [kernel, kernel, kernel], (inner) => {
        const place = index.map((each, axis) =>
          axis < lead ? each : sum(difference(product(each, stride), padding), atAxis(inner, axis - lead)),
        );
        const isInside = place.map((each, axis) =>
          axis < lead ? TRUE : andTerm(atLeast(each, number(0)), below(each, atAxis(x.shape, axis))),
        );
        return choose(andTerm(...isInside), x.at(place), INFINITE);
      }),
  };
  const indices: SymbolicTensor = { shape: places, at: () => noRule("the indices of max_pool3d") };
  return withIndices === true ? [values, indices] : values;
}

export const foldRules: Readonly<Record<string, TorchRule>> = {
  sum: folding("sum"),
  mean: reduction(meanOf),
  amax: folding("maximum"),
  amin: reduction((dims, element) => negate(fold("maximum", dims, (inner) => negate(element(inner))))),
  var: reduction(varianceOf),
  std: reduction((...args) => squareRoot(varianceOf(...args))),
  logsumexp: reduction(logSumExpOf),
  softmax: alongAxis(softmaxOf),
  log_softmax: alongAxis((x, dims, element) => subtract(x, logSumExpOf(dims, element))),
  matmul: ({ input, other }) => matmul(input, other),
  mm: ({ input, mat2 }) => matmul(input, mat2),
  bmm: ({ input, mat2 }) => matmul(input, mat2),
  addmm: ({ input, mat1, mat2 }) => withBias(matmul(mat1, mat2), input),
  linear: ({ input, weight, bias }) => {
    const w = floatTensor(weight);
    return withBias(matmul(input, transposed(w, 0, 1)), bias);
  },
  einsum,
  scaled_dot_product_attention: attention,
  layer_norm: (args) => normalized(args, true),
  rms_norm: (args) => normalized(args, false),
  cross_entropy: crossEntropy,
  max_pool3d: maxPool3d,
  mse_loss: elementLoss((x, y) => square(subtract(x, y))),
  l1_loss: elementLoss((x, y) => apply("abs", subtract(x, y))),
};
