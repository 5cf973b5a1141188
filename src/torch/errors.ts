/** Thrown if a reference uses a feature that the evaluator does not support. The message names it. */
export class UnsupportedByEvaluator extends Error {
  override readonly name = "NotEvaluated";
}

/** Thrown for a mistake in the author's reference that PyTorch would also reject. */
export class TorchError extends Error {
  override readonly name = "TorchRefuses";
}
