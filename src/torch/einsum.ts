/**
 * `torch.einsum` in float64. Each letter is an axis; axes that the output lacks are summed. Operands are contracted in
 * pairs, from the left.
 */
import { sizeOf, stridesOf } from "../numerics/array.js";
import { torchArray, type TorchArray } from "./array.js";
import { TorchError } from "./errors.js";

/** @throws TorchRefuses if the equation does not fit the operands, or has an ellipsis, which is not supported. */
export function einsum(equation: string, operands: readonly TorchArray[]): TorchArray {
  const [left = "", right] = equation.replace(/\s/g, "").split("->");
  const inputs = left.split(",");
  if (left.includes(".") || inputs.length !== operands.length)
    throw new TorchError(`${equation} does not fit ${operands.length} operands`);
  const sizes = new Map<string, number>();
  inputs.forEach((letters, i) => {
    const { shape } = operands[i]!;
    if (letters.length !== shape.length) throw new TorchError(`${letters} does not fit [${shape.join(", ")}]`);
    [...letters].forEach((letter, axis) => {
      const [known = 1, size] = [sizes.get(letter), shape[axis]!];
      if (known !== 1 && size !== 1 && size !== known)
        throw new TorchError(`${letter} of ${equation} is ${known} and ${size}`);
      sizes.set(letter, known === 1 ? size : known);
    });
  });
  const counts = (letter: string): number => left.split(letter).length - 1;
  const output = [
    ...(right ??
      [...sizes.keys()]
        .filter((letter) => counts(letter) === 1)
        .toSorted()
        .join("")),
  ];
  const [first = "", ...rest] = inputs;
  if (rest.length === 0) return contracted([first], operands, output, sizes);
  let [letters, result] = [first, operands[0]!];
  rest.forEach((next, i) => {
    const later = [...output, ...rest.slice(i + 1).join("")];
    const kept = [...new Set(letters + next)].filter((letter) => later.includes(letter));
    const wanted = i === rest.length - 1 ? output : kept;
    result = contracted([letters, next], [result, operands[i + 1]!], wanted, sizes);
    letters = wanted.join("");
  });
  return result;
}

/** The sum of products over the letters that the output lacks. */
function contracted(
  inputs: readonly string[],
  operands: readonly TorchArray[],
  output: readonly string[],
  sizes: ReadonlyMap<string, number>,
): TorchArray {
  const used = [...new Set(inputs.join(""))];
  const summed = used.filter((letter) => !output.includes(letter));
  const letters = [...output, ...summed];
  const steps = operands.map(({ shape }, i) => {
    const strides = stridesOf(shape);
    const axes = [...inputs[i]!];
    return letters.map((letter) =>
      axes.reduce((sum, each, axis) => sum + (each === letter && shape[axis] !== 1 ? strides[axis]! : 0), 0),
    );
  });
  const shape = output.map((letter) => sizes.get(letter)!);
  const all = letters.map((letter) => sizes.get(letter)!);
  const inner = sizeOf(all.slice(output.length));
  const out = new Float64Array(sizeOf(shape));
  // Counts through all letters, the last fastest, and moves each operand's place along.
  const index = all.map(() => 0);
  const places = operands.map(() => 0);
  for (let i = 0; i < out.length * inner; i++) {
    out[Math.trunc(i / inner)]! += operands.reduce((product, { data }, n) => product * data[places[n]!]!, 1);
    for (let axis = all.length - 1; axis >= 0; axis--) {
      index[axis]! += 1;
      const isOver = index[axis] === all[axis];
      steps.forEach((step, n) => (places[n]! += isOver ? -step[axis]! * (all[axis]! - 1) : step[axis]!));
      if (!isOver) break;
      index[axis] = 0;
    }
  }
  return torchArray(shape, out);
}
