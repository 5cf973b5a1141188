/** The preamble of an emitted module: imports, constants, and a check of Triton's version. */
import { INT32_REACH, MAX_NUMEL } from "../../types/limits.js";
import { H200 } from "../../compiled/device-properties.js";
import type { KernelIR } from "../../ir/nodes.js";
import { usesOfTriton39 } from "../../analysis/version-requirements.js";
import { walkAll } from "../../ir/walk.js";
import { DESCRIPTOR_CLASS } from "../wrapper/descriptors.js";
import { LAUNCH, LAUNCHES, WRAP_TRITON } from "../wrapper/helpers.js";
import { gluonImports, CAN_SPECIALIZE } from "../warp-specialize/gluon/helpers.js";
import { TUNING_LOCK, FASTER_TABLE, IS_FASTER } from "../wrapper/choose-kernel.js";
import { snakeCase } from "../names/names.js";
import * as py from "../syntax/py-build.js";
import type { Block, Expression, FromImport, Import, Statement } from "../syntax/py.js";
import { INTERPRETED, ROW_LIMIT, torchDType } from "../wrapper/checks.js";
import { EXTENT_LIMIT } from "../wrapper/int32-checks.js";
import { TRITON_DTYPES } from "../wrapper/numbers.js";
import { GPU_PROPERTY, INTERPRETER_GPU } from "../wrapper/launch.js";

/** Imports of the standard library, which come first. */
export const standardImports = (modules: readonly string[]): Block =>
  modules.length > 0
    ? [...[...new Set(modules)].toSorted().map((module): Import => ({ kind: "import", module })), py.blank]
    : [];

/** Imports of modules other than `tl` that op spellings and extern functions use. */
export function imports(
  kernels: readonly KernelIR[],
  isMentioned: (name: string) => boolean,
  externImports: readonly FromImport[],
): Block {
  const namesByModule = new Map<string, Set<string>>();
  const addImport = (from: string, name: string) =>
    namesByModule.set(from, (namesByModule.get(from) ?? new Set()).add(name));
  for (const { module, names } of externImports) for (const { name } of names) addImport(module, name);
  if (isMentioned(WRAP_TRITON)) namesByModule.set("torch.library", new Set([WRAP_TRITON]));
  if (isMentioned(DESCRIPTOR_CLASS)) namesByModule.set("triton.tools.tensor_descriptor", new Set([DESCRIPTOR_CLASS]));
  for (const ir of kernels)
    walkAll(ir, (statement) => {
      const spelling = statement.kind === "op" ? statement.op.spelling : undefined;
      if (spelling?.form !== "call" || !spelling.from) return;
      const [name = ""] = spelling.name.split(".");
      if (isMentioned(name)) addImport(spelling.from, name);
    });
  const plain = [...namesByModule].map(([module, names]): FromImport => ({
    kind: "fromImport",
    module,
    names: [...names].sort().map((name) => ({ name })),
  }));
  const all = isMentioned(CAN_SPECIALIZE) ? [...plain, ...gluonImports] : plain;
  return all.sort((a, b) => (a.module < b.module ? -1 : 1));
}

/** `2**20` */
function powerOfTwo(value: number): Expression {
  return py.binary(py.number("2"), "**", py.number(String(Math.log2(value))));
}

export function constants(kernels: readonly KernelIR[], isMentioned: (name: string) => boolean): Block {
  const limits: Statement[] = [
    py.comment("Whether Triton's interpreter runs kernels on the CPU."),
    py.assign(py.name(INTERPRETED), py.dotted("triton.knobs.runtime.interpret")),
  ];
  if (isMentioned(EXTENT_LIMIT))
    limits.push(
      py.comment("Offsets are int32, and masked lanes may lie up to one tile behind the last element."),
      py.assign(py.name(EXTENT_LIMIT), py.binary(powerOfTwo(INT32_REACH + MAX_NUMEL), "-", powerOfTwo(MAX_NUMEL))),
    );
  if (isMentioned(ROW_LIMIT))
    limits.push(
      py.comment("Elements that a tile of Triton may have."),
      py.assign(py.name(ROW_LIMIT), powerOfTwo(MAX_NUMEL)),
    );
  if (isMentioned(GPU_PROPERTY)) {
    const properties = Object.entries(H200).map(([name, value]) => ({
      key: py.string(snakeCase(name)),
      value: py.number(String(value)),
    }));
    limits.push(
      py.comment("The GPU that Triton's interpreter stands for: an NVIDIA H200."),
      py.assign(py.name(INTERPRETER_GPU), py.dict(...properties)),
    );
  }
  if (isMentioned(LAUNCH))
    limits.push(py.comment("Binaries and grids of earlier launches."), py.assign(py.name(LAUNCHES), py.dict()));
  if (isMentioned(TUNING_LOCK))
    limits.push(
      py.comment(
        "One thread at a time launches the warp-specialized kernel: its autotuner keeps the call's arguments.",
      ),
      py.assign(py.name(TUNING_LOCK), py.call("threading.RLock")),
    );
  if (isMentioned(IS_FASTER))
    limits.push(
      py.comment("Whether the warp-specialized kernel is the faster one, by what the times depend on."),
      py.assign(py.name(FASTER_TABLE), py.dict()),
    );
  if (isMentioned(TRITON_DTYPES)) {
    const params = kernels.flatMap((ir) => ir.params);
    const members = params.flatMap((param) => (param.kind === "constexpr" ? (param.variable?.members ?? []) : []));
    const entries = [...new Set(members)].map((name) => ({ key: torchDType(name), value: py.dotted(`tl.${name}`) }));
    limits.push(
      py.comment("What Triton calls the dtypes of PyTorch."),
      py.assign(py.name(TRITON_DTYPES), py.dict(...entries)),
    );
  }
  return [py.blank, ...limits];
}

/** A version check, if a kernel uses features of Triton 3.9: the import then fails on older versions. */
export function versionCheck(kernels: readonly KernelIR[]): Block {
  const [first, ...others] = new Set(kernels.flatMap(usesOfTriton39).map(({ name }) => name));
  if (first === undefined) return [];
  const version = py.call(
    "tuple",
    py.call(
      "map",
      py.name("int"),
      py.subscript(py.call("triton.__version__.split", py.string(".")), py.slice(undefined, py.number("2"))),
    ),
  );
  const names = [first, ...others].join(", ");
  return [
    py.blank,
    {
      kind: "if",
      branches: [
        {
          test: py.compare(version, ["<", py.tuple(py.number("3"), py.number("9"))]),
          body: [py.raise(py.call("ImportError", py.string(`${names}: needs Triton 3.9 or later`)))],
        },
      ],
    },
  ];
}
