/**
 * Kernel files whose names, strings and comments are hostile: keywords, builtins, names of the module itself, other
 * scripts, invisible characters, and payloads that would write a file if any of them ran as Python.
 */
import { LAUNCH_NAMES } from "../../../../src/codegen/names/kernel-names.js";
import { uniform } from "../../../../src/numerics/random.js";

/** The file that a payload writes in the folder of the process that runs it. */
export const MARKER = "payload-ran";
const RUNS = `open('${MARKER}', 'w')`;

const WORDS = (
  "None True False and as assert async await break class continue def del elif else except finally for from global " +
  "if import in is lambda nonlocal not or pass raise return try while with yield match case type _ __ self cls super " +
  "print range len min max abs sum float int bool str list dict tuple set type object id hash eval exec open compile " +
  "globals locals vars isinstance getattr hasattr map any zip sorted divmod callable repr __import__ __name__ __file__ " +
  "__builtins__ __debug__ __doc__ __all__ __init__ __class__ __proto__ constructor toString valueOf hasOwnProperty " +
  "prototype then default new function var let const typeof void this null undefined NaN Infinity arguments " +
  "torch triton tl libdevice kernel_fn reference_fn get_inputs draw_inputs grid meta device out out_1 _launch " +
  "_launch_key _LAUNCHES _INTERPRETED _check_written _check_tensors _check_dtypes _may_overlap _prune_configs key " +
  "label value tensor kernel tensors numbers options others args kwargs configs config named_args kept ctx inputs " +
  "output x_ptr stride_x_n x_desc l O I x y n N M BLOCK block T dtype shape stride ndim data_ptr numel is_cuda " +
  "new_empty requires_grad next_power_of_2 cdiv jit autotune Config constexpr program_id arange load store where " +
  "provider_eager eager compiled example names main test"
).split(" ");

const UNICODE = ["größe", "π", "変数", "имя", "x²", "ﬁ", "e\u0301", "ſ", "𝑥", "\u00aa", "a\u200db", "ÅNGSTRÖM", "ª_1"];

const STRINGS = [
  "",
  " ",
  "'",
  '"',
  "\\",
  "\\'",
  '\\"',
  "'''",
  '"""',
  `""" + ${RUNS} + """`,
  `''' + ${RUNS} + '''`,
  `" + str(${RUNS}) + "`,
  `{${RUNS}}`,
  `{{${RUNS}}}`,
  "{0}",
  "{",
  "}",
  "%s %d %(x)s %",
  `\n${RUNS}\n`,
  `\r\n    ${RUNS}`,
  `\\\n${RUNS}`,
  `\u2028${RUNS}`,
  `\u2029${RUNS}`,
  `\x0c${RUNS}`,
  `\x0b\n${RUNS}`,
  `\x85${RUNS}`,
  `# coding: utf-7`,
  `\n# -*- coding: latin-1 -*-`,
  "# noqa",
  "# fmt: off",
  "# type: ignore",
  "\0",
  `\0${RUNS}`,
  "\u202e\u2066gnitset\u2069",
  "\ufeff",
  "\ud800",
  "\x1b[31m",
  "\t\tx",
  "N{DIGIT ONE}",
  "\\N{DIGIT ONE}",
  "\\x41\\u0041",
  "a".repeat(3000),
  "a b ".repeat(400),
  `${"(".repeat(300)}`,
  "Args:\n    x: y",
  ">>> 1 / 0",
  "日本語のコメント",
  "👩‍👩‍👧 emoji",
  "*/ still",
  "<script>",
  "$(touch x)",
  "; import os",
];

/** Modules, distributions and folders that Python has, what `torch.ops` has of its own, and namespaces of PyTorch's. */
const PLACES = (
  "os sys json re site test tests src lib build dist kernels numpy torch triton setuptools pip wheel torchgen functorch " +
  "aten prim prims c10d quantized inductor onnx profiler higher_order debugprims static mkldnn sparse _caffe2 rngprims " +
  "load_library loaded_libraries import_module _dir __path__ __spec__ __file__ __all__ __class__ __dict__ __getattr__ " +
  "my_kernels my-kernels my.kernels MyKernels kernels_ 2fast fast2 a x y add_one kernel_fn conftest typing_extensions " +
  "tilescript tilescript_worker utf_8 encodings CON nul ... .. -rf --help"
).split(" ");

/** What may be a name of TypeScript, so that a local variable or a function can have it. */
const LOCALS = [
  ...WORDS.filter((word) => /^[A-Za-z_]\w*$/.test(word)),
  ...UNICODE.filter((word) => /^[\p{ID_Start}_$][\p{ID_Continue}$]*$/u.test(word)),
  "$",
  "$x",
  "x$",
  "_0",
  "a".repeat(300),
  "camelCaseName",
  "HTTPServer",
  "ALL_CAPS",
];
/** Words that TypeScript keeps, and names that the template of a kernel needs. */
const KEPT = new Set(
  (
    "break case catch class const continue debugger default delete do else enum export extends false finally for " +
    "function if import in instanceof new null return super switch this throw true try typeof var void while with " +
    "yield let static async await of implements interface package private protected public arguments eval as tl m " +
    "undefined NaN Infinity kernel tensor scalar constexpr"
  ).split(" "),
);

export class HostileNames {
  readonly #random: () => number;

  constructor(seed: number) {
    this.#random = uniform(seed);
  }

  /** A module whose `kernels` is a list of functions, each of which declares one kernel: `kernel_fn(x)` is `x + 1`. */
  file(count: number, tilescript: string): string {
    const kernels = Array.from({ length: count }, (_, index) => this.#kernel(index));
    return [
      `import { constexpr, kernel, scalar, tensor, tl } from ${JSON.stringify(tilescript)};`,
      "export const kernels: (() => unknown)[] = [",
      ...kernels,
      "];",
      "",
    ].join("\n");
  }

  /** What a package, a namespace of PyTorch or a file may be called; at times with something before or after. */
  place(): string {
    const name = this.#random() < 0.5 ? this.#pick(PLACES) : this.#name();
    const kind = this.#random();
    return kind < 0.7 ? name : kind < 0.8 ? `${name}_ops` : kind < 0.9 ? name.toLowerCase() : `_${name}`;
  }

  #pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.#random() * items.length)]!;
  }

  /** Mostly `usual`, so that most kernels build. */
  #or(usual: string, hostile: () => string): string {
    return this.#random() < 0.2 ? hostile() : usual;
  }

  #name(): string {
    const launch = [...LAUNCH_NAMES];
    const kind = this.#random();
    if (kind < 0.6) return this.#pick(WORDS);
    if (kind < 0.7) return this.#pick(launch);
    if (kind < 0.8) return this.#pick(UNICODE);
    if (kind < 0.9) return this.#pick(LOCALS);
    return this.#pick(STRINGS);
  }

  #text(): string {
    const kind = this.#random();
    if (kind < 0.7) return this.#pick(STRINGS);
    if (kind < 0.85) return this.#pick(STRINGS) + this.#pick(STRINGS);
    return this.#pick(WORDS);
  }

  #local(): string {
    for (;;) {
      const name = this.#pick(LOCALS);
      if (!KEPT.has(name)) return name;
    }
  }

  #comment(): string {
    // What ends a line comment of TypeScript cannot be in one.
    return this.#text().replace(/[\n\r\u2028\u2029]/g, " ");
  }

  /** Names of two tensors, a number, two constexprs and a dim, all different: an author would see to that. */
  #params(): readonly string[] {
    for (;;) {
      const names = ["x", "y", "s", "C", "B", "N"].map((usual) => this.#or(usual, () => this.#name()));
      if (new Set(names).size === names.length) return names;
    }
  }

  #kernel(index: number): string {
    const text = (value: string) => JSON.stringify(value);
    const name = this.#or(`kernel_${index}`, () => this.#name());
    const [x, y, s, c, b, n] = this.#params().map(text) as [string, string, string, string, string, string];
    const choices = [...new Set([this.#or("one", () => this.#text()), this.#or("two", () => this.#text()), "three"])];
    const [local, helper] = [this.#or("value", () => this.#local()), this.#or("same", () => this.#local())];
    const dtype = this.#or("T", () => this.#name());
    const doc = this.#or("Adds one.", () => this.#text());
    return `  () => {
    const D = tl.dtype(${text(dtype)} as string, [tl.float32]);
    const ${helper === local ? `${helper}_` : helper} = tl.fn((v: any) => v.mul(1));
    return kernel(${text(name)} as string, {
      doc: ${text(doc)},
      params: {
        [${x}]: tensor(D, [${n}]), [${y}]: tensor.out(D, [${n}]), [${s}]: scalar(tl.float32, { default: 1 }),
        [${c}]: constexpr.string(${JSON.stringify(choices)} as any, { default: ${text(choices[0]!)} }), [${b}]: constexpr(),
      },
      grid: (m: any) => [tl.cdiv(m[${n}], m[${b}])],
      config: { [${b}]: 16 },
      reference: (m: any) => m[${x}].add(m[${s}]),
    } as any, (m: any) => {
      // ${this.#or("The offsets.", () => this.#comment())}
      const offsets = tl.programId(0).mul(m[${b}]).add(tl.arange(0, m[${b}])); // ${this.#comment()}
      const ${local} = ${helper === local ? `${helper}_` : helper}(tl.load(m[${x}].at(offsets)).to(tl.float32).add(m[${s}]));
      tl.when(m[${c}].eq(${text(choices[0]!)}), () => tl.store(m[${y}].at(offsets), ${local}.to(D)))
        .otherwise(() => tl.store(m[${y}].at(offsets), ${local}.mul(2).to(D)));
    });
  },`;
  }
}
