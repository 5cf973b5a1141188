/** What the types cost the checker: `npm run bench:types`. Instantiations are exact; times are this machine's. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../tests/types/tsc.js";
import { work, type Work } from "../tests/types/cost.js";

const importOnly = `import { tl } from "tilescript";\nexport { tl };`;

// ---- examples -------------------------------------------------------------------------------------------------------

function examples(base: Work): void {
  const folder = join(root, "examples");
  console.log("example                instantiations    types   tsc, s (the package's own sources included)");
  row("(import alone)", base.instantiations, base.types, base.totalTime);
  for (const file of readdirSync(folder).filter((name) => name.endsWith(".ts"))) {
    const cost = work(readFileSync(join(folder, file), "utf8"));
    row(file, cost.instantiations - base.instantiations, cost.types - base.types, cost.totalTime);
  }
}

function row(name: string, ...numbers: readonly number[]): void {
  const cells = numbers.map((x) => (Number.isInteger(x) ? String(x) : x.toFixed(2)).padStart(10));
  console.log(name.padEnd(24), cells.join(" "));
}

// ---- calls ----------------------------------------------------------------------------------------------------------

/** A call on operands of the family `n`: tiles `x` [M, K], `y` [K, N], `z` [M, N], `v` [M], a mask `m` of `z`, … */
const families: Readonly<Record<string, (n: string) => string>> = {
  arange: (n) => `tl.arange(0, M${n})`,
  zeros: (n) => `tl.zeros([M${n}, N${n}], tl.float32)`,
  "add, same shape": (n) => `z${n}.add(z${n})`,
  "add, a number": (n) => `z${n}.add(1)`,
  "add, broadcast": (n) => `z${n}.add(v${n}.col)`,
  "add, three operands": (n) => `v${n}.col.add(z${n}, 1)`,
  "lt, a scalar": (n) => `v${n}.lt(0)`,
  "constexpr arithmetic": (n) => `M${n}.mul(2).add(N${n})`,
  exp: (n) => `tl.exp(z${n})`,
  where: (n) => `tl.where(m${n}, z${n}, 0)`,
  to: (n) => `z${n}.to(tl.float16)`,
  sum: (n) => `tl.sum(z${n}, 1)`,
  trans: (n) => `tl.trans(z${n})`,
  dot: (n) => `tl.dot(x${n}, y${n}, z${n})`,
  "load, view": (n) => `tl.load(t.at(i${n}, j${n}))`,
  "load, pointer": (n) => `tl.load(p.add(i${n}), { mask: i${n}.lt(8), other: 0 })`,
  "store, view": (n) => `tl.store(t.at(i${n}, j${n}), z${n})`,
  mut: (n) => `tl.mut(z${n}).value = z${n}`,
  range: (n) => `for (const k of tl.range(0, K${n}, M${n})) k`,
};

/** `calls` of one family: all on the same types, or each on tiles of its own dimensions. */
function program(call: (n: string) => string, calls: number, fresh: boolean): string {
  const names = Array.from({ length: fresh ? calls : 1 }, (_, i) => String(i));
  const declare = (n: string) => {
    const dims = ["M", "N", "K"].map((name) => `declare const ${name}${n}: Constexpr<"${name}${n}">;`);
    const tile = (name: string, dtype: string, ...shape: readonly string[]) =>
      `declare const ${name}${n}: Tile<"${dtype}", [${shape.map((dim) => `"${dim}${n}"`).join(", ")}]>;`;
    return [
      ...dims,
      tile("x", "float16", "M", "K"),
      tile("y", "float16", "K", "N"),
      tile("z", "float32", "M", "N"),
      tile("m", "int1", "M", "N"),
      tile("v", "float32", "M"),
      tile("i", "int32", "M"),
      tile("j", "int32", "N"),
    ].join("\n");
  };
  return [
    `import { tl, type Constexpr, type Pointer, type Tensor, type Tile } from "tilescript";`,
    `declare const t: Tensor<"float32", ["A", "B"], "inout">;`,
    `declare const p: Pointer<"float32", []>;`,
    ...names.map(declare),
    ...Array.from({ length: calls }, (_, i) => `${call(fresh ? String(i) : "0")};`),
  ].join("\n");
}

function calls(): void {
  const [few, many] = [1, 101];
  const more = (call: (n: string) => string, fresh: boolean) =>
    work(program(call, many, fresh)).instantiations - work(program(call, few, fresh)).instantiations;
  const average = (difference: number) => Math.round(difference / (many - few));

  console.log("\ncall                     instantiations, on tiles of new dimensions");
  // Declaring the operands costs too: it is taken off.
  const declared = more(() => "0", true);
  for (const [name, call] of Object.entries(families)) row(name, average(more(call, true) - declared));
  const everything = (n: string) =>
    Object.values(families)
      .map((call) => call(n))
      .join(";\n");
  row("all, on types met before", average(more(everything, false)));
}

examples(work(importOnly));
calls();
