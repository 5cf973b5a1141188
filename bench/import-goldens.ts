/**
 * Imports the kernels that the examples emit and emits them again: `npm run import:goldens` prints which have the same IR
 * and which the same text, and with `--apart FOLDER` writes the texts that differ there. Names choose examples.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { build } from "tilescript";
import { thisMachine } from "../src/runtime/devices/machine.js";
import { isEqual } from "../src/runtime/import-check/imported-kernel.js";
import { examples } from "../tests/support/examples.js";
import { bodiesOf, openReimporter } from "../tests/triton/import/reimport.js";

const { values, positionals } = parseArgs({ options: { apart: { type: "string" } }, allowPositionals: true });
const { python } = await thisMachine.python({});
const reimporter = await openReimporter(python);
const counts = { kernels: 0, equal: 0, bodies: 0, identical: 0 };

function keep(name: string, text: string): void {
  if (values.apart === undefined) return;
  mkdirSync(values.apart, { recursive: true });
  writeFileSync(join(values.apart, name), `${text}\n`);
}

for (const { name, kernel } of examples.filter((each) => positionals.length === 0 || positionals.includes(each.name))) {
  const built = await build(kernel);
  for (const part of built.parts ?? [built]) {
    const { jit } = part.signature;
    const imported = await reimporter.reimported(part);
    const equal = isEqual(imported);
    counts.kernels++;
    counts.equal += Number(equal);
    const [before, after] = [bodiesOf(part.python), bodiesOf(imported.built?.python ?? "")];
    const apart = Object.keys(before).filter((each) => before[each] !== after[each]);
    counts.bodies += Object.keys(before).length;
    counts.identical += Object.keys(before).length - apart.length;
    for (const each of apart) {
      keep(`${name}.${each}.before.py`, before[each]!);
      keep(`${name}.${each}.after.py`, after[each] ?? "");
    }
    if (apart.length > 0) keep(`${name}.${jit}.ts`, imported.text ?? "");
    const why = imported.status === "not imported" ? `: ${imported.reason}` : "";
    console.log(`${name}: ${jit}: ${imported.status}${why}${apart.length > 0 ? `; apart: ${apart.join(", ")}` : ""}`);
  }
}
await reimporter.stop();
console.log(
  `${counts.equal} of ${counts.kernels} kernels have the same IR; ` +
    `${counts.identical} of ${counts.bodies} bodies have the same text`,
);
