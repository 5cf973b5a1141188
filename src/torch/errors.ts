/** A reference uses something that the evaluator does not support; the message names it. */
export class UnsupportedByEvaluator extends Error {
  override readonly name = "NotEvaluated";
}

/** A mistake in the author's reference that PyTorch would refuse too. */
export class TorchError extends Error {
  override readonly name = "TorchRefuses";
}
