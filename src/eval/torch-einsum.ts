/** `torch.einsum` in float64: operands are contracted in pairs, from the left, each pair as a matrix product. */
import { NotEvaluated } from "./not-evaluated.js";
import { reduceAxes, reorder, reshapeTo, total, type TorchArray } from "./torch-array.js";
import { matmul } from "./torch-matmul.js";

/** An array and the letter of each axis. */
interface Term {
  readonly letters: readonly string[];
  readonly array: TorchArray;
}

/** @throws NotEvaluated for an ellipsis, a diagonal and an output that is not written out. */
export function einsum(equation: string, operands: readonly TorchArray[]): TorchArray {
  const [inputs = "", output] = equation.replaceAll(" ", "").split("->");
  const terms = inputs.split(",").map((letters, i): Term => ({ letters: [...letters], array: operands[i]! }));
  const isPlain = terms.every(({ letters }) => new Set(letters).size === letters.length);
  if (output === undefined || !isPlain || equation.includes("."))
    throw new NotEvaluated(`the reference uses einsum("${equation}"), which cannot be evaluated here`);
  const [first, ...rest] = terms;
  const kept = (others: readonly Term[]) => new Set([...output, ...others.flatMap(({ letters }) => letters)]);
  let result = summed(first!, kept(rest));
  for (const [i, term] of rest.entries()) result = contracted(result, term, kept(rest.slice(i + 1)));
  return inOrder(result, [...output]).array;
}

/** Without the axes that nothing else has. */
function summed({ letters, array }: Term, kept: ReadonlySet<string>): Term {
  const gone = letters.flatMap((letter, axis) => (kept.has(letter) ? [] : [axis]));
  if (gone.length === 0) return { letters, array };
  return { letters: letters.filter((letter) => kept.has(letter)), array: reduceAxes(array, gone, false, total) };
}

function contracted(left: Term, right: Term, kept: ReadonlySet<string>): Term {
  const a = summed(left, new Set([...kept, ...right.letters]));
  const b = summed(right, new Set([...kept, ...left.letters]));
  const shared = a.letters.filter((letter) => b.letters.includes(letter));
  const batch = shared.filter((letter) => kept.has(letter));
  const inner = shared.filter((letter) => !kept.has(letter));
  const own = (term: Term) => term.letters.filter((letter) => !shared.includes(letter));
  const x = inOrder(a, [...batch, ...own(a), ...inner]);
  const y = inOrder(b, [...batch, ...inner, ...own(b)]);
  const size = (term: Term, letters: readonly string[]) =>
    letters.reduce((product, letter) => product * term.array.shape[term.letters.indexOf(letter)]!, 1);
  const [n, k] = [size(a, batch), size(a, inner)];
  const product = matmul(reshapeTo(x.array, [n, size(a, own(a)), k]), reshapeTo(y.array, [n, k, size(b, own(b))]));
  const letters = [...batch, ...own(a), ...own(b)];
  const shape = letters.map((letter) => size(a.letters.includes(letter) ? a : b, [letter]));
  return { letters, array: reshapeTo(product, shape) };
}

function inOrder({ letters, array }: Term, wanted: readonly string[]): Term {
  const order = wanted.map((letter) => letters.indexOf(letter));
  return { letters: wanted, array: reorder(array, order) };
}
