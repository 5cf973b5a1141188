/** The table of `docs/proofs.md`: what is proved of each example. */
import type { Certificate, ProofProperty } from "../src/compiled/compiled-kernel.js";
import { build } from "../src/pipeline/build.js";
import { examples } from "../tests/support/examples.js";

/** In the order of the page. What an author claims or requires is in few kernels. */
const COLUMNS: readonly ProofProperty[] = ["bounds", "coverage", "race", "padding", "dividend", "overflow"];

/** One row an example: how much of each property is proved, and what is waived. */
export async function proofTable(): Promise<string> {
  const proofs: { readonly name: string; readonly proof: Certificate }[] = [];
  for (const { name, kernel } of examples) proofs.push({ name, proof: (await build(kernel)).proof() });
  const used = COLUMNS.filter((column) => proofs.some(({ proof }) => proof.obligations.some(isOf(column))));
  const rows = proofs.map(({ name, proof }) => [
    `[${name}](../examples/${name}.ts)`,
    ...used.map((column) => cell(proof, column)),
  ]);
  const lines = [["example", ...used], ["example", ...used].map(() => "---"), ...rows];
  return ["", ...lines.map((cells) => `| ${cells.join(" | ")} |`), ""].join("\n");
}

const isOf =
  (property: ProofProperty) =>
  (obligation: Certificate["obligations"][number]): boolean =>
    obligation.property === property;

function cell({ obligations }: Certificate, property: ProofProperty): string {
  const all = obligations.filter(isOf(property));
  if (all.length === 0) return "";
  const count = (kind: string) => all.filter(({ verdict }) => verdict.kind === kind).length;
  const waived = count("waived");
  return `${count("proved")} of ${all.length}${waived > 0 ? `, ${waived} waived` : ""}`;
}
