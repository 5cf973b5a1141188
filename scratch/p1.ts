import { kernel, tensor, scalar, constexpr, tl, build } from "tilescript";
const show = async (name: string, f: () => any) => {
  try { const r = await f(); console.log("==", name, "\n", r); } catch (e: any) { console.log("==", name, "REFUSED", e.message); }
};
for (const d of [tl.float8e4nv, tl.float8e5]) {
  const k = kernel("cast8", { params: { x: tensor(tl.float32, ["N"]), y: tensor.out(d, ["N"]), BLOCK: constexpr() }, grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)], config: { BLOCK: 16 }, reference: ({ x }: any, torch: any) => x.to(d) } as any,
    (({ x, y, BLOCK }: any) => { const o = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK)); tl.store(y.at(o), tl.load(x.at(o)).to(d)); }) as any);
  await show("float8", async () => {
    const c = await build(k);
    const xs = [1, 448, 460, 464, 465, 480, 500, Infinity, -Infinity, NaN, -1000, 57344, 60000, 61440, 70000, 1e9];
    const ev = c.evaluate({ sizes: { N: 16 }, dtypes: {}, config: 0, seed: 1 }, { inputs: { x: { dtype: "float32", shape: [16], data: Float32Array.from(xs) } } });
    return JSON.stringify({ out: [...(ev.outputs.y!.data as any)].map(String), f: ev.findings.map((f: any) => f.message), cmp: ev.comparison });
  });
}
// a random top-level
await show("random at top", async () => {
  const k = kernel("r", { params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() }, grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)], config: { BLOCK: 16 }, },
    (({ x, y, BLOCK }) => { const o = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK)); tl.store(y.at(o), tl.load(x.at(o)).add(Math.random())); }));
  const c = await build(k); return c.python.split("\n").filter((l: string) => l.includes("tl.store") || l.includes("+ 0.")).join("\n");
});
await show("two kernels from a loop with mutable captured", async () => {
  const ks: any[] = []; let f = 1;
  for (const n of [1, 2]) { f = n; ks.push(kernel("r" + n, { params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() }, grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)], config: { BLOCK: 16 }, reference: ({ x }: any) => x.mul(f) } as any,
    (({ x, y, BLOCK }: any) => { const o = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK)); tl.store(y.at(o), tl.load(x.at(o)).mul(f)); }) as any)); }
  const cs = []; for (const k of ks) cs.push(await build(k));
  return cs.map((c) => c.python.split("\n").filter((l: string) => /\* [0-9.]+,? ?|x \* |values \*/.test(l)).join("\n")).join("\n---\n");
});
