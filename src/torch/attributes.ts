/** Attributes of tensors, and of several results, that references may use besides `dtype` and `device`. */
import { UnsupportedByEvaluator } from "./errors.js";
import { transpose } from "./array.js";
import { array, isArray, type TorchValue } from "./call.js";

interface TorchAttribute {
  run(of: TorchValue): TorchValue;
  /** It shares the tensor's memory. */
  readonly views?: true;
  /** It holds truth values where the tensor does. */
  readonly truth?: true;
}

export const torchAttributes: Readonly<Record<string, TorchAttribute>> = {
  T: { run: (of) => transpose(array(of), 0, 1), views: true, truth: true },
  mT: { run: (of) => transpose(array(of), -2, -1), views: true, truth: true },
  shape: { run: (of) => array(of).shape },
  values: { run: (of) => itemOf(of, 0), truth: true },
  indices: { run: (of) => itemOf(of, 1) },
};

/** One of several results. */
export function itemOf(of: TorchValue, index: number): TorchValue {
  if (typeof of !== "object" || of === null || isArray(of) || index >= of.length)
    throw new UnsupportedByEvaluator(`the reference takes item ${index} of a value that does not have it`);
  return of[index];
}
