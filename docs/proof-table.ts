/** The table of `docs/proofs.md`: the proved obligations of each example. */
import type { Certificate, ProofProperty } from "../src/compiled/compiled-kernel.js";
import { build } from "../src/pipeline/build.js";
import { examples } from "../tests/support/examples.js";

/** In the order of the page. Few kernels have author claims or requirements, so those have no column. */
const COLUMNS: readonly ProofProperty[] = ["bounds", "coverage", "race", "padding", "dividend", "overflow"];

/** One row per example: the proved share of each property, and the number of waivers. */
export async function proofTable(): Promise<string> {
  const proofs: { readonly name: string; readonly proof: Certificate }[] = [];
  for (const { name, kernel } of examples) proofs.push({ name, proof: (await build(kernel)).proof() });
  const usedColumns = COLUMNS.filter((column) => proofs.some(({ proof }) => proof.obligations.some(isOf(column))));
  const rows = proofs.map(({ name, proof }) => [
    `[${name}](../examples/${name}.ts)`,
    ...usedColumns.map((column) => cell(proof, column)),
  ]);
  const lines = [["example", ...usedColumns], ["example", ...usedColumns].map(() => "---"), ...rows];
  return ["", ...lines.map((cells) => `| ${cells.join(" | ")} |`), ""].join("\n");
}

const isOf =
  (property: ProofProperty) =>
  (obligation: Certificate["obligations"][number]): boolean =>
    obligation.property === property;

function cell({ obligations }: Certificate, property: ProofProperty): string {
  const obligationsOfProperty = obligations.filter(isOf(property));
  if (obligationsOfProperty.length === 0) return "";
  const count = (kind: string) => obligationsOfProperty.filter(({ verdict }) => verdict.kind === kind).length;
  const waivedCount = count("waived");
  return `${count("proved")} of ${obligationsOfProperty.length}${waivedCount > 0 ? `, ${waivedCount} waived` : ""}`;
}
