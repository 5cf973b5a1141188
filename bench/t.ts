import { trace } from "../src/dsl/trace.js";
import { definitionOf } from "../src/dsl/kernel.js";
import { lowerViews } from "../src/ops/lower-views.js";
import { emitModule } from "../src/codegen/module.js";
import { createSourceIndex } from "../src/dsl/source.js";
const m = await import(process.argv[2]!);
for (const k of Object.values(m)) { const ir = trace(definitionOf(k)); console.log(emitModule(lowerViews(ir), createSourceIndex()).text); }
