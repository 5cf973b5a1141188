/** Rules of torch's functions that create, move and select elements. */
import { atAxis } from "../../types/dims.js";
import { below, difference, equal, number, product, quotient, sum, type Term, atMost } from "../../symbolic/term.js";
import { broadcastLane, isOne } from "../model/symbolic-environment.js";
import { canonical, exactQuotient } from "./integer-form.js";
import { noRule } from "./rational.js";
import { choose, integer, one, type Real, zero, undefinedReal } from "./real.js";
import {
  axisOf,
  isListOf,
  moved,
  reshaped,
  sizeOf,
  type SymbolicTensor,
  tensorOf,
  termOf,
  type TorchArguments,
  type TorchRule,
  type TorchSymbol,
  transposed,
} from "./torch-elementwise.js";

function dimsOf(x: TorchSymbol): readonly TorchSymbol[] {
  if (!isListOf(x)) return [x];
  const [first] = x;
  return x.length === 1 && isListOf(first) ? first : x;
}

const UNSET: SymbolicTensor = { shape: [], at: () => undefinedReal("an element that nothing writes") };

const filled =
  (value: (args: TorchArguments) => SymbolicTensor): TorchRule =>
  (args) => {
    const fill = value(args);
    return { shape: dimsOf(args["size"]).map(termOf), at: () => fill.at([]) };
  };

const filledLike =
  (value: Real): TorchRule =>
  ({ input }) => ({ shape: tensorOf(input).shape, at: () => value });

function arange({ start, end, step }: TorchArguments): TorchSymbol {
  if (step !== undefined && step !== 1) return noRule("a step of torch.arange");
  const [from, to] = end === undefined ? [number(0), termOf(start)] : [termOf(start ?? 0), termOf(end)];
  const terms = ([i = number(0)]: readonly Term[]): Term => sum(from, i);
  return { shape: [canonical(difference(to, from))], at: (index: readonly Term[]) => integer(terms(index)), terms };
}

/** The shape that a reshape gives. One dim may be -1. */
function reshapedTo(x: SymbolicTensor, dims: readonly TorchSymbol[]): SymbolicTensor {
  const known = dims.filter((dim) => dim !== -1).map(termOf);
  const rest = known.length < dims.length ? exactQuotient(sizeOf(x.shape), sizeOf(known)) : undefined;
  return reshaped(
    x,
    dims.map((dim) => (dim === -1 ? (rest ?? noRule("a dim of -1")) : canonical(termOf(dim)))),
  );
}

function flatten({ input, start_dim: start = 0, end_dim: end = -1 }: TorchArguments): TorchSymbol {
  const x = tensorOf(input);
  const [from, to] = [axisOf(start, x.shape.length), axisOf(end, x.shape.length)];
  const dims = [...x.shape.slice(0, from), sizeOf(x.shape.slice(from, to + 1)), ...x.shape.slice(to + 1)];
  return reshaped(x, dims);
}

function expanded(input: TorchSymbol, size: TorchSymbol): TorchSymbol {
  const x = tensorOf(input);
  const dims = dimsOf(size);
  const shape = dims.map((dim, axis) =>
    dim === -1 ? atAxis(x.shape, axis + x.shape.length - dims.length) : termOf(dim),
  );
  return moved(x, shape, (index) => broadcastLane(x.shape, index));
}

function unsqueeze({ input, dim }: TorchArguments): TorchSymbol {
  const x = tensorOf(input);
  const axis = axisOf(dim, x.shape.length + 1);
  return moved(x, x.shape.toSpliced(axis, 0, number(1)), (index) => index.toSpliced(axis, 1));
}

function squeeze({ input, dim }: TorchArguments): TorchSymbol {
  const x = tensorOf(input);
  const axis = axisOf(dim, x.shape.length);
  if (!isOne(atAxis(x.shape, axis))) return noRule("torch.squeeze of a dim that may not be 1");
  return moved(x, x.shape.toSpliced(axis, 1), (index) => index.toSpliced(axis, 0, number(0)));
}

function permute({ input, dims }: TorchArguments): TorchSymbol {
  const x = tensorOf(input);
  const order = dimsOf(dims).map((dim) => axisOf(dim, x.shape.length));
  return moved(
    x,
    order.map((axis) => atAxis(x.shape, axis)),
    (index) => x.shape.map((_, axis) => atAxis(index, order.indexOf(axis))),
  );
}

/** Changes the index along one axis. */
function along(x: SymbolicTensor, axis: number, size: Term, from: (i: Term) => Term): SymbolicTensor {
  return moved(x, x.shape.with(axis, size), (index) => index.with(axis, from(atAxis(index, axis))));
}

function narrow({ input, dim, start, length }: TorchArguments): TorchSymbol {
  const x = tensorOf(input);
  return along(x, axisOf(dim, x.shape.length), termOf(length), (i) => sum(termOf(start), i));
}

function select({ input, dim, index: position }: TorchArguments): TorchSymbol {
  const x = tensorOf(input);
  const axis = axisOf(dim, x.shape.length);
  return moved(x, x.shape.toSpliced(axis, 1), (index) => index.toSpliced(axis, 0, termOf(position)));
}

function chunk({ input, chunks, dim = 0 }: TorchArguments): TorchSymbol {
  const x = tensorOf(input);
  const axis = axisOf(dim, x.shape.length);
  if (typeof chunks !== "number") return noRule("a number of chunks");
  const size = exactQuotient(atAxis(x.shape, axis), number(chunks)) ?? noRule("chunks of different sizes");
  return Array.from({ length: chunks }, (_, i) => along(x, axis, size, (j) => sum(product(number(i), size), j)));
}

/** Tensors one after the other along an axis. */
function cat({ tensors, dim = 0 }: TorchArguments): TorchSymbol {
  const parts = isListOf(tensors) ? tensors.map(tensorOf) : noRule("the tensors of torch.cat");
  const [first] = parts;
  if (!first) return noRule("torch.cat of nothing");
  const axis = axisOf(dim, first.shape.length);
  const sizes = parts.map(({ shape }) => atAxis(shape, axis));
  return {
    shape: first.shape.with(axis, canonical(sum(...sizes))),
    at: (index: readonly Term[]) => {
      const i = atAxis(index, axis);
      const starts = sizes.map((_, part) => sum(number(0), ...sizes.slice(0, part)));
      const valueOf = (part: number): Real => {
        const tensor = parts[part] ?? first;
        const value = tensor.at(index.with(axis, difference(i, starts[part] ?? number(0))));
        const end = sum(...sizes.slice(0, part + 1));
        return part === parts.length - 1 ? value : choose(below(i, end), value, valueOf(part + 1));
      };
      return valueOf(0);
    },
  };
}

/** Elements on one side of a diagonal. The others are 0. */
const triangle =
  (isKept: (row: Term, column: Term, diagonal: Term) => Term): TorchRule =>
  ({ input, diagonal = 0 }) => {
    const x = tensorOf(input);
    const rank = x.shape.length;
    return {
      shape: x.shape,
      at: (index: readonly Term[]) => {
        const [row, column] = [atAxis(index, rank - 2), atAxis(index, rank - 1)];
        return choose(isKept(row, column, termOf(diagonal)), x.at(index), zero);
      },
    };
  };

function repeatInterleave({ input, repeats, dim }: TorchArguments): TorchSymbol {
  const x = tensorOf(input);
  const axis = axisOf(dim, x.shape.length);
  const times = termOf(repeats);
  return along(x, axis, canonical(product(atAxis(x.shape, axis), times)), (i) => quotient(i, times));
}

function indexSelect({ input, dim, index: positions }: TorchArguments): TorchSymbol {
  const [x, chosen] = [tensorOf(input), tensorOf(positions)];
  const { terms } = chosen;
  if (!terms) return noRule("the indices of torch.index_select");
  return along(x, axisOf(dim, x.shape.length), atAxis(chosen.shape, 0), (i) => terms([i]));
}

function gather({ input, dim, index: positions }: TorchArguments): TorchSymbol {
  const [x, chosen] = [tensorOf(input), tensorOf(positions)];
  const { terms } = chosen;
  if (!terms) return noRule("the indices of torch.gather");
  const axis = axisOf(dim, x.shape.length);
  return moved(x, chosen.shape, (index) => index.with(axis, terms(index)));
}

function embedding({ input, weight }: TorchArguments): TorchSymbol {
  const [positions, table] = [tensorOf(input), tensorOf(weight)];
  const { terms } = positions;
  if (!terms) return noRule("the indices of torch.nn.functional.embedding");
  const rank = positions.shape.length;
  return moved(table, [...positions.shape, atAxis(table.shape, 1)], (index) => [
    terms(index.slice(0, rank)),
    atAxis(index, rank),
  ]);
}

function oneHot({ input, num_classes: classes }: TorchArguments): TorchSymbol {
  const { shape, terms } = tensorOf(input);
  if (!terms) return noRule("the classes of torch.nn.functional.one_hot");
  return {
    shape: [...shape, termOf(classes)],
    at: (index: readonly Term[]) => choose(equal(atAxis(index, shape.length), terms(index.slice(0, -1))), one, zero),
  };
}

export const shapeRules: Readonly<Record<string, TorchRule>> = {
  transpose: ({ input, dim0, dim1 }) => {
    const x = tensorOf(input);
    return transposed(x, axisOf(dim0, x.shape.length), axisOf(dim1, x.shape.length));
  },
  t: ({ input }) => transposed(tensorOf(input), 0, 1),
  permute,
  reshape: ({ input, shape }) => reshapedTo(tensorOf(input), dimsOf(shape)),
  view: ({ input, shape }) => reshapedTo(tensorOf(input), dimsOf(shape)),
  flatten,
  unsqueeze,
  squeeze,
  expand: ({ input, size }) => expanded(input, size),
  broadcast_to: ({ input, size }) => expanded(input, size),
  size: ({ input, dim }) => {
    const { shape } = tensorOf(input);
    return { term: atAxis(shape, axisOf(dim, shape.length)) };
  },
  cat,
  tril: triangle((row, column, diagonal) => atMost(column, sum(row, diagonal))),
  triu: triangle((row, column, diagonal) => atMost(sum(row, diagonal), column)),
  narrow,
  select,
  chunk,
  index_select: indexSelect,
  repeat_interleave: repeatInterleave,
  gather,
  take_along_dim: ({ input, indices, dim }) => gather({ input, dim, index: indices }),
  arange,
  empty: filled(() => UNSET),
  full: filled(({ fill_value: value }) => tensorOf(value)),
  ones: filled(() => tensorOf(1)),
  zeros: filled(() => tensorOf(0)),
  ones_like: filledLike(one),
  zeros_like: filledLike(zero),
  embedding,
  one_hot: oneHot,
};
