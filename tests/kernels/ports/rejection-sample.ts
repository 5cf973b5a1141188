/**
 * Speculative sampling: of each request's draft tokens those that the target model would have drawn are kept, up to the
 * first that is refused; another token follows. Draft probabilities and greedy requests may be left out.
 */
import { kernel, python, tensor, tl } from "tilescript";

export const rejectionSample = kernel(
  "rejection_sample",
  {
    doc: "out[b, t] = the t-th accepted token of request b; the last is a recovered or a bonus token.",
    params: {
      ends: tensor(tl.int32, ["B"], { partition: { ends: "TOKENS" } }),
      draftIds: tensor(tl.int32, ["TOKENS"], { range: [0, "V"] }),
      draftProbs: tensor(tl.float32, ["TOKENS", "V"]).optional(),
      targetProbs: tensor(tl.float32, ["TOKENS", "V"]),
      bonusIds: tensor(tl.int32, ["B"]),
      // What follows where a token is refused, and where none is.
      recoveredIds: tensor(tl.int32, ["TOKENS"]),
      uniform: tensor(tl.float64, ["TOKENS"]),
      isGreedy: tensor(tl.int1, ["B"]).optional(),
      // Filled with -1.
      out: tensor.inout(tl.int32, ["B", "LIMIT"]),
    },
    grid: ({ B }) => [B],
    doNotSpecialize: ["LIMIT"],
    config: { numWarps: 1 },
    inputs: ({ B, LIMIT, TOKENS, V }, torch) => ({
      out: torch.full([B, LIMIT], -1),
      ends: torch.arange(B).add(1).mul(TOKENS).floor_divide(B),
      draftProbs: torch.rand([TOKENS, V]),
      targetProbs: torch.rand([TOKENS, V]),
      uniform: torch.rand([TOKENS]),
    }),
    requires: ({ LIMIT, TOKENS }) => [LIMIT.gt(TOKENS)],
    reference: python`
    result = out_1.clone()
    for i in range(ends.shape[0]):
        if is_greedy is not None and is_greedy[i]:
            continue
        lo, hi = (int(ends[i - 1]) if i else 0), int(ends[i])
        rejected = False
        for p, t in enumerate(range(lo, hi)):
            d = int(draft_ids[t])
            dp = draft_probs[t, d] if draft_probs is not None else torch.tensor(1.0)
            ok = bool(dp > 0) and bool((target_probs[t, d] / dp).double() >= uniform[t])
            result[i, p] = d if ok else recovered_ids[t]
            if not ok:
                rejected = True
                break
        if not rejected:
            result[i, hi - lo] = bonus_ids[i]
    return result
`,
    shapes: [{ B: 5, TOKENS: 12, V: 33, LIMIT: 13 }],
  },
  ({ ends, draftIds, draftProbs, targetProbs, bonusIds, recoveredIds, uniform, isGreedy, out }) => {
    const req = tl.inBounds(tl.programId(0));
    tl.when(isGreedy.given, () => {
      tl.when(tl.load(isGreedy.at(req)), () => tl.exit());
    });
    const start = tl.when(req.eq(0), () => 0).otherwise(() => tl.load(ends.at(tl.inBounds(req.sub(1)))));
    const count = tl.load(ends.at(req)).sub(start);
    const rejected = tl.mut(false);
    for (const pos of tl.range(0, count)) {
      tl.when(rejected.value.not(), () => {
        const token = tl.inBounds(start.add(pos));
        const id = tl.load(draftIds.at(token));
        const draft = tl.when(draftProbs.given, () => tl.load(draftProbs.at(token, id))).otherwise(() => 1);
        const target = tl.load(targetProbs.at(token, id));
        const accepted = draft.gt(0).and(
          target
            .div(draft)
            .to(tl.float64)
            .ge(tl.load(uniform.at(token))),
        );
        const value = tl
          .when(accepted, () => id)
          .otherwise(() => {
            rejected.value = true;
            return tl.load(recoveredIds.at(token));
          });
        tl.store(out.at(req, pos), value);
      });
    }
    tl.when(rejected.value.not(), () => tl.store(out.at(req, count), tl.load(bonusIds.at(req))));
  },
);
