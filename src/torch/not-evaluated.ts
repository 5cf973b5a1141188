/** Names what a reference uses and the evaluator does not have. */
export class NotEvaluated extends Error {
  override readonly name = "NotEvaluated";
}

/** What the author's torch cannot be: PyTorch refuses it too. */
export class TorchRefuses extends Error {
  override readonly name = "TorchRefuses";
}
