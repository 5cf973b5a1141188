/** Names what a reference uses and the evaluator does not have. */
export class NotEvaluated extends Error {
  override readonly name = "NotEvaluated";
}
