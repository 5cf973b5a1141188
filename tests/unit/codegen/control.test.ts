/** The Python of every construct of control flow, in full: what changes here, changes what users read. */
import { expect, test } from "vitest";
import { build } from "tilescript";
import * as kernels from "../../kernels/control/kernels.js";

test("reads as written by hand", async () => {
  const texts: string[] = [];
  for (const kernel of Object.values(kernels)) {
    const { python, signature } = await build(kernel);
    texts.push(python.slice(python.indexOf("@triton.jit"), python.indexOf(`\ndef ${signature.name}(`)).trimEnd());
  }
  await expect(`${texts.join("\n\n\n")}\n`).toMatchFileSnapshot("golden/control.py.txt");
});
