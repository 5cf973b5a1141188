/**
 * Twenty kernels to write, described in words. A task is a kernel without a body: its `doc` is the description, its params
 * are the required params, and its reference defines the required result.
 */
import { kernel, scalar, tensor, tl } from "tilescript";

const T = tl.dtype("T", [tl.float16, tl.bfloat16]);
const unwritten = (): void => undefined;
const grid = () => [1] as const;

export const tasks = [
  kernel(
    "bias_relu",
    {
      doc: "y = max(x + bias, 0). x and y have shape [M, N], bias has shape [N] and is added to each row. All have the dtype variable T, which is float16 or bfloat16; the sum is computed in float32 and rounded once.",
      params: { x: tensor(T, ["M", "N"]), bias: tensor(T, ["N"]), y: tensor.out(T, ["M", "N"]) },
      grid,
      reference: ({ x, bias }, torch) => torch.relu(x.add(bias)),
      shapes: [
        { M: 33, N: 100 },
        { M: 128, N: 256 },
        { M: 1, N: 1 },
      ],
    },
    unwritten,
  ),
  kernel(
    "row_mean_var",
    {
      doc: "The mean and the population variance (divided by N, not by N - 1) of each row of x. x is float32 with shape [M, N]; mean and variance are float32 outputs with shape [M]. N is at most 4096. Compute the variance from the differences to the mean, not from the sum of squares.",
      params: {
        x: tensor(tl.float32, ["M", "N"]),
        mean: tensor.out(tl.float32, ["M"]),
        variance: tensor.out(tl.float32, ["M"]),
      },
      grid,
      reference: ({ x }) => [x.mean(-1), x.var(-1, { correction: 0 })],
      shapes: [
        { M: 7, N: 100 },
        { M: 64, N: 128 },
        { M: 3, N: 1 },
      ],
    },
    unwritten,
  ),
  kernel(
    "log_softmax",
    {
      doc: "y = log_softmax(x) over the last axis. x and y are float32 with shape [M, N]. N may be 100,000: a row need not fit in one tile, so loop over blocks of it and keep a running maximum and a running sum.",
      params: { x: tensor(tl.float32, ["M", "N"]), y: tensor.out(tl.float32, ["M", "N"]) },
      grid,
      reference: ({ x }, torch) => torch.log_softmax(x, -1),
      shapes: [
        { M: 5, N: 3000 },
        { M: 16, N: 1024 },
        { M: 2, N: 1 },
      ],
    },
    unwritten,
  ),
  kernel(
    "column_sums",
    {
      doc: "y[n] = the sum of x[m, n] over all m. x is float32 with shape [M, N], y is a float32 output with shape [N]. The result must not depend on the order in which programs run: no atomics.",
      params: { x: tensor(tl.float32, ["M", "N"]), y: tensor.out(tl.float32, ["N"]) },
      grid,
      reference: ({ x }) => x.sum(0),
      shapes: [
        { M: 300, N: 77 },
        { M: 64, N: 64 },
        { M: 1, N: 5 },
      ],
    },
    unwritten,
  ),
  kernel(
    "gather_rows",
    {
      doc: "y[i, d] = table[ids[i], d]. ids is int32 with shape [I] and holds row numbers from 0 to V - 1; table is float32 with shape [V, D]; y is a float32 output with shape [I, D].",
      params: {
        ids: tensor(tl.int32, ["I"], { range: [0, "V"] }),
        table: tensor(tl.float32, ["V", "D"]),
        y: tensor.out(tl.float32, ["I", "D"]),
      },
      grid,
      inputs: ({ I, V }, torch) => ({ ids: torch.randint(0, V, [I]) }),
      reference: ({ ids, table }) => table.index_select(0, ids),
      shapes: [
        { I: 100, V: 37, D: 50 },
        { I: 64, V: 16, D: 64 },
        { I: 1, V: 1, D: 1 },
      ],
    },
    unwritten,
  ),
  kernel(
    "batched_nt",
    {
      doc: "c[z, m, n] = scale * (the sum over k of a[z, m, k] * b[z, n, k]) + bias[n]. a has shape [Z, M, K], b has shape [Z, N, K], bias has shape [N], c is an output with shape [Z, M, N]; all four are float16. scale is a float32 scalar argument with default 1. Products accumulate in float32; the result is rounded to float16 once.",
      params: {
        a: tensor(tl.float16, ["Z", "M", "K"]),
        b: tensor(tl.float16, ["Z", "N", "K"]),
        bias: tensor(tl.float16, ["N"]),
        c: tensor.out(tl.float16, ["Z", "M", "N"]),
        scale: scalar(tl.float32, { default: 1 }),
      },
      grid,
      reference: ({ a, b, bias, scale }, torch) => torch.matmul(a, b.transpose(1, 2)).mul(scale).add(bias),
      shapes: [
        { Z: 2, M: 40, N: 50, K: 33 },
        { Z: 1, M: 32, N: 32, K: 64 },
        { Z: 3, M: 1, N: 1, K: 1 },
      ],
    },
    unwritten,
  ),
  kernel(
    "l2_normalize",
    {
      doc: "y = x / max(the square root of the sum of x² over the last axis, 1e-6), row by row. x and y have shape [M, N] and the dtype variable T, which is float16 or bfloat16; compute in float32. N is at most 8192.",
      params: { x: tensor(T, ["M", "N"]), y: tensor.out(T, ["M", "N"]) },
      grid,
      reference: ({ x }, torch) => torch.nn.functional.normalize(x, { dim: -1, eps: 1e-6 }),
      shapes: [
        { M: 9, N: 300 },
        { M: 32, N: 512 },
        { M: 4, N: 1 },
      ],
    },
    unwritten,
  ),
  kernel(
    "running_mean",
    {
      doc: "y[b, t, d] = the mean of x[b, 0, d], x[b, 1, d], …, x[b, t, d]. x and y are float32 with shape [B, S, D], with t along S. S may be 100,000, so it need not fit in one tile.",
      params: { x: tensor(tl.float32, ["B", "S", "D"]), y: tensor.out(tl.float32, ["B", "S", "D"]) },
      grid,
      reference: ({ x, S, B, D }, torch) => x.cumsum(1).div(torch.arange(1, S.add(1)).reshape(1, S, 1).expand(B, S, D)),
      shapes: [
        { B: 2, S: 100, D: 19 },
        { B: 1, S: 256, D: 32 },
        { B: 3, S: 1, D: 1 },
      ],
    },
    unwritten,
  ),
  kernel(
    "count_above",
    {
      doc: "count[0] = how many elements of x are greater than threshold. x is float32 with shape [N], threshold is a float32 scalar argument with default 0.5, count is an int32 output with shape [1]. Many programs work at once, so they add with atomics.",
      params: {
        x: tensor(tl.float32, ["N"]),
        threshold: scalar(tl.float32, { default: 0.5 }),
        count: tensor.out(tl.int32, [1], { zeroed: true }),
      },
      grid,
      reference: ({ x, threshold }) => x.gt(threshold).sum(0, { keepdim: true }).to(tl.int32),
      shapes: [{ N: 10_000 }, { N: 4096 }, { N: 1 }],
    },
    unwritten,
  ),
  kernel(
    "causal_conv",
    {
      doc: "y[c, t] = the sum over j from 0 to 3 of w[c, j] * x[c, t - 3 + j], where x before t = 0 counts as 0. x and y are float32 with shape [C, L], w is float32 with shape [C, 4].",
      params: {
        x: tensor(tl.float32, ["C", "L"]),
        w: tensor(tl.float32, ["C", 4]),
        y: tensor.out(tl.float32, ["C", "L"]),
      },
      grid,
      reference: ({ x, w, C, L }, torch) => {
        const padded = torch.cat([torch.zeros([C, 3]), x], 1);
        const term = (j: number) => padded.narrow(1, j, L).mul(w.narrow(1, j, 1));
        return term(0).add(term(1)).add(term(2)).add(term(3));
      },
      shapes: [
        { C: 5, L: 300 },
        { C: 16, L: 128 },
        { C: 2, L: 1 },
      ],
    },
    unwritten,
  ),
  kernel(
    "swiglu",
    {
      doc: "y = silu(gate) * up, where silu(v) = v / (1 + exp(-v)). gate, up and y have shape [M, N] and the dtype variable T, which is float16 or bfloat16. Compute in float32 and round once. It must not overflow for large negative values.",
      params: { gate: tensor(T, ["M", "N"]), up: tensor(T, ["M", "N"]), y: tensor.out(T, ["M", "N"]) },
      grid,
      reference: ({ gate, up }, torch) => torch.nn.functional.silu(gate.float()).mul(up.float()),
      shapes: [
        { M: 33, N: 100 },
        { M: 8, N: 512 },
        { M: 1, N: 1 },
      ],
    },
    unwritten,
  ),
  kernel(
    "transposed",
    {
      doc: "y[n, m] = x[m, n]. x is float32 with shape [M, N], y is a float32 output with shape [N, M]. Both may be large, so a program moves a block of both axes.",
      params: { x: tensor(tl.float32, ["M", "N"]), y: tensor.out(tl.float32, ["N", "M"]) },
      grid,
      reference: ({ x }) => x.t(),
      shapes: [
        { M: 100, N: 70 },
        { M: 64, N: 128 },
        { M: 1, N: 9 },
      ],
    },
    unwritten,
  ),
  kernel(
    "masked_mean",
    {
      doc: "y[m] = the mean of the first lengths[m] elements of row m of x. x is float32 with shape [M, N], lengths is int32 with shape [M] and holds numbers from 1 to N; y is a float32 output with shape [M]. N may be 100,000.",
      params: {
        x: tensor(tl.float32, ["M", "N"]),
        lengths: tensor(tl.int32, ["M"]),
        y: tensor.out(tl.float32, ["M"]),
      },
      grid,
      inputs: ({ M, N }, torch) => ({ lengths: torch.randint(1, N.add(1), [M]) }),
      reference: ({ x, lengths, N }, torch) =>
        torch
          .where(torch.arange(N).lt(lengths.unsqueeze(1)), x, 0)
          .sum(-1)
          .div(lengths),
      shapes: [
        { M: 9, N: 300 },
        { M: 16, N: 256 },
        { M: 2, N: 1 },
      ],
    },
    unwritten,
  ),
  kernel(
    "best_of_rows",
    {
      doc: "For each row of x the largest element, and the column where it is first. x is float32 with shape [M, N]; value is a float32 output with shape [M], column an int32 output with shape [M]. N is at least 1 and at most 8192.",
      params: {
        x: tensor(tl.float32, ["M", "N"]),
        value: tensor.out(tl.float32, ["M"]),
        column: tensor.out(tl.int32, ["M"]),
      },
      grid,
      reference: ({ x }, torch) => [torch.amax(x, -1), torch.argmax(x, -1).to(tl.int32)],
      shapes: [
        { M: 5, N: 100 },
        { M: 32, N: 128 },
        { M: 3, N: 1 },
      ],
    },
    unwritten,
  ),
  kernel(
    "exclusive_sums",
    {
      doc: "y[m, n] = x[m, 0] + x[m, 1] + … + x[m, n - 1], and y[m, 0] = 0. x and y are float32 with shape [M, N]. N is at most 4096.",
      params: { x: tensor(tl.float32, ["M", "N"]), y: tensor.out(tl.float32, ["M", "N"]) },
      grid,
      reference: ({ x }) => x.cumsum(-1).sub(x),
      shapes: [
        { M: 5, N: 100 },
        { M: 8, N: 256 },
        { M: 2, N: 1 },
      ],
    },
    unwritten,
  ),
  kernel(
    "row_losses",
    {
      doc: "loss[m] = log(sum over v of exp(logits[m, v])) - logits[m, labels[m]]. logits is float16 with shape [M, V], labels is int64 with shape [M] and holds columns from 0 to V - 1, loss is a float32 output with shape [M]. V may be 200,000. Compute in float32; large logits must not overflow.",
      params: {
        logits: tensor(tl.float16, ["M", "V"]),
        labels: tensor(tl.int64, ["M"], { range: [0, "V"] }),
        loss: tensor.out(tl.float32, ["M"]),
      },
      grid,
      inputs: ({ M, V }, torch) => ({ labels: torch.randint(0, V, [M]) }),
      reference: ({ logits, labels }, torch) =>
        torch.nn.functional.cross_entropy(logits.float(), labels, { reduction: "none" }),
      shapes: [
        { M: 7, V: 3000 },
        { M: 16, V: 1024 },
        { M: 2, V: 1 },
      ],
    },
    unwritten,
  ),
  kernel(
    "dequantized",
    {
      doc: "y[m, n] = q[m, n] * scale[n // 32], where // rounds down. q is int8 with shape [M, N], scale is float32 with shape [S], y is a float16 output with shape [M, N]. N is at most 32 * S: require it. Compute in float32 and round once.",
      params: {
        q: tensor(tl.int8, ["M", "N"]),
        scale: tensor(tl.float32, ["S"]),
        y: tensor.out(tl.float16, ["M", "N"]),
      },
      grid,
      reference: ({ q, scale, N }, torch) => q.float().mul(scale.index_select(0, torch.arange(N).floor_divide(32))),
      shapes: [
        { M: 5, N: 100, S: 4 },
        { M: 16, N: 128, S: 4 },
        { M: 1, N: 1, S: 1 },
      ],
    },
    unwritten,
  ),
  kernel(
    "bag_sums",
    {
      doc: "y[b, d] = the sum over l of table[ids[b, l], d]. ids is int32 with shape [B, L] and holds row numbers from 0 to V - 1; table is float32 with shape [V, D]; y is a float32 output with shape [B, D].",
      params: {
        ids: tensor(tl.int32, ["B", "L"], { range: [0, "V"] }),
        table: tensor(tl.float32, ["V", "D"]),
        y: tensor.out(tl.float32, ["B", "D"]),
      },
      grid,
      inputs: ({ B, L, V }, torch) => ({ ids: torch.randint(0, V, [B, L]) }),
      reference: ({ ids, table, B, L, D }) => table.index_select(0, ids.reshape(-1)).reshape(B, L, D).sum(1),
      shapes: [
        { B: 6, L: 10, V: 37, D: 50 },
        { B: 8, L: 4, V: 16, D: 64 },
        { B: 1, L: 1, V: 1, D: 1 },
      ],
    },
    unwritten,
  ),
  kernel(
    "one_query_attention",
    {
      doc: "o[h] = softmax(q[h] · k[h, s] / 8 over s) weighted sum of v[h, s]. q has shape [H, 64], k and v have shape [H, S, 64], all three float16; o is a float32 output with shape [H, 64]. S is at least 1 and may be 100,000: loop over blocks with a running maximum. Compute in float32.",
      params: {
        q: tensor(tl.float16, ["H", 64]),
        k: tensor(tl.float16, ["H", "S", 64]),
        v: tensor(tl.float16, ["H", "S", 64]),
        o: tensor.out(tl.float32, ["H", 64]),
      },
      grid,
      reference: ({ q, k, v }, torch) => {
        const scores = k.float().mul(q.float().unsqueeze(1)).sum(-1).div(8);
        return torch.softmax(scores, -1).unsqueeze(-1).mul(v.float()).sum(1);
      },
      // Scores of inputs with an offset reach thousands, and float32 rounds them, and so the weights, to 1e-4.
      tolerance: { rtol: 1e-3, atol: 1e-3 },
      shapes: [
        { H: 3, S: 200 },
        { H: 4, S: 128 },
        { H: 1, S: 1 },
      ],
    },
    unwritten,
  ),
  kernel(
    "added_rows",
    {
      doc: "Adds to each row of y, in place, the row of x that ids names: y[i, d] += x[ids[i], d]. y is float32 with shape [I, D] and is updated; ids is int32 with shape [I] and holds row numbers from 0 to V - 1; x is float32 with shape [V, D].",
      params: {
        y: tensor.inout(tl.float32, ["I", "D"]),
        ids: tensor(tl.int32, ["I"], { range: [0, "V"] }),
        x: tensor(tl.float32, ["V", "D"]),
      },
      grid,
      inputs: ({ I, V }, torch) => ({ ids: torch.randint(0, V, [I]) }),
      reference: ({ y, ids, x }) => y.add(x.index_select(0, ids)),
      shapes: [
        { I: 50, D: 70, V: 9 },
        { I: 16, D: 64, V: 16 },
        { I: 1, D: 1, V: 1 },
      ],
    },
    unwritten,
  ),
];
