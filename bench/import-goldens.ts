/**
 * Imports the kernels that the examples emit and emits them again: `npm run bench -- import-goldens` prints which of
 * them keep their IR and their text, and with `--apart FOLDER` writes the differing texts there. Names select examples.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { build } from "tilescript";
import { thisMachine } from "../src/runtime/devices/devices.js";
import { isEqual } from "../src/runtime/import-check/imported-kernel.js";
import { examples } from "../tests/support/examples.js";
import { bodiesOf, openReimporter } from "../tests/triton/import/reimport.js";

const { values, positionals } = parseArgs({ options: { apart: { type: "string" } }, allowPositionals: true });
const { python } = await thisMachine.python({});
const reimporter = await openReimporter(python);
const counts = { kernels: 0, equal: 0, bodies: 0, identical: 0 };

function writeGolden(name: string, text: string): void {
  if (values.apart === undefined) return;
  mkdirSync(values.apart, { recursive: true });
  writeFileSync(join(values.apart, name), `${text}\n`);
}

for (const { name, kernel } of examples.filter((each) => positionals.length === 0 || positionals.includes(each.name))) {
  const built = await build(kernel);
  for (const part of built.parts ?? [built]) {
    const { jit } = part.signature;
    const importResult = await reimporter.reimported(part);
    const equal = isEqual(importResult);
    counts.kernels++;
    counts.equal += Number(equal);
    const [oldBodies, newBodies] = [bodiesOf(part.python), bodiesOf(importResult.built?.python ?? "")];
    const changedNames = Object.keys(oldBodies).filter((each) => oldBodies[each] !== newBodies[each]);
    counts.bodies += Object.keys(oldBodies).length;
    counts.identical += Object.keys(oldBodies).length - changedNames.length;
    for (const body of changedNames) {
      writeGolden(`${name}.${body}.before.py`, oldBodies[body]!);
      writeGolden(`${name}.${body}.after.py`, newBodies[body] ?? "");
    }
    if (changedNames.length > 0) writeGolden(`${name}.${jit}.ts`, importResult.text ?? "");
    const reason = importResult.status === "not imported" ? `: ${importResult.reason}` : "";
    console.log(
      `${name}: ${jit}: ${importResult.status}${reason}${changedNames.length > 0 ? `; apart: ${changedNames.join(", ")}` : ""}`,
    );
  }
}
await reimporter.stop();
console.log(
  `${counts.equal} of ${counts.kernels} kernels have the same IR; ` +
    `${counts.identical} of ${counts.bodies} bodies have the same text`,
);
