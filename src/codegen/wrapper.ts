/**
 * The function that PyTorch code calls: it binds sizes from shapes, refuses what the kernel cannot take, allocates the
 * outputs and launches. It never waits for the GPU.
 */
import type {
  ConstexprParam,
  KernelIR,
  Param,
  PointerParam,
  ScalarParam,
  SizeParam,
  TensorParam,
  Value,
} from "../ir/nodes.js";
import { constantExpression, launchOptions } from "./autotune.js";
import { hostExpressions, hostInputs } from "./host.js";
import { type KernelNames, literalNumber, parameterName } from "./kernel-names.js";
import {
  type MessagePart,
  derivedChecks,
  deviceChecks,
  dtypeCheck,
  memoryCheck,
  messageOf,
  outputChecks,
  reachCheck,
  ROW_LIMIT,
  shapeChecks,
} from "./wrapper-checks.js";
import * as py from "./py-build.js";
import type { Argument, Block, Expression, FunctionDef, Parameter, Statement } from "./py.js";

export function wrapper(ir: KernelIR, names: KernelNames, used: ReadonlySet<Value>): FunctionDef {
  return new WrapperEmitter(ir, names, used).emit();
}

/** What an emitter of parts of the wrapper needs to know. */
export interface WrapperContext {
  readonly ir: KernelIR;
  readonly names: KernelNames;
  readonly tensors: readonly TensorParam[];
  /** Sizes that a statement before has bound to a local. */
  readonly bound: Set<string>;
  /** Sizes that are computed from others: shapes are compared with them. */
  readonly derived: ReadonlySet<string>;
  /** A tensor's name in the wrapper. */
  tensor(param: TensorParam | PointerParam): Expression;
  /** A dimension as an expression, once it is bound. */
  dim(param: TensorParam, axis: number): Expression;
}

class WrapperEmitter implements WrapperContext {
  readonly tensors: readonly TensorParam[];
  readonly bound = new Set<string>();
  readonly derived: ReadonlySet<string>;

  constructor(
    readonly ir: KernelIR,
    readonly names: KernelNames,
    readonly used: ReadonlySet<Value>,
  ) {
    this.tensors = ir.params.filter((param) => param.kind === "tensor");
    this.derived = new Set(
      ir.params.flatMap((param) => (param.kind === "size" && param.derived !== undefined ? [param.name] : [])),
    );
  }

  tensor(param: TensorParam | PointerParam): Expression {
    return py.name(this.#localName(param));
  }

  dim(param: TensorParam, axis: number): Expression {
    const dim = param.dims[axis]!;
    const number = literalNumber(dim);
    return number === undefined ? this.#local(dim as Value) : py.numberLiteral(number, "int");
  }

  emit(): FunctionDef {
    const inputs = this.tensors.filter((param) => param.role !== "out");
    const outputs = this.tensors.filter((param) => param.role === "out");
    const results = this.tensors.filter((param) => param.role !== "in").map((param) => this.tensor(param));
    const body: Statement[] = [
      ...inputs.flatMap((param) => [...shapeChecks(this, param), ...dtypeCheck(this, param)]),
      ...this.#pointers().flatMap((param) => dtypeCheck(this, param)),
      ...this.#derivedSizes(),
      ...inputs.flatMap((param) => derivedChecks(this, param)),
      ...deviceChecks(this, [...inputs, ...this.#pointers()]),
      ...inputs.flatMap((param) => memoryCheck(this, param)),
      py.blank,
      ...outputs.flatMap((param) => outputChecks(this, param)),
      ...this.#emptyResult(outputs, results),
      py.blank,
      ...this.#strides(),
      ...this.tensors.flatMap((param) => reachCheck(this, param)),
      ...this.#launchConstexprs(),
      ...this.#requirements(),
      ...this.#launch(),
      py.returns(results.length === 1 ? results[0] : py.tuple(...results)),
    ];
    const tensor = py.dotted("torch.Tensor");
    return {
      kind: "function",
      name: this.names.wrapper,
      decorators: [],
      params: this.#parameters(inputs, outputs),
      returns: results.length === 1 ? tensor : py.subscript(py.name("tuple"), ...results.map(() => tensor)),
      docstring: this.#docstring(inputs, outputs),
      body,
    };
  }

  // ---- signature ----------------------------------------------------------------------------------------------------

  #parameters(inputs: readonly TensorParam[], outputs: readonly TensorParam[]): Parameter[] {
    const tensor = py.dotted("torch.Tensor");
    const optional = py.binary(tensor, "|", py.none);
    return [
      ...[...inputs, ...this.#pointers()].map((param) => ({ name: this.#localName(param), annotation: tensor })),
      ...this.#numbers().map((param) => ({
        name: this.names.parameters.get(param.value)!,
        annotation: py.name(annotationOf(param)),
        ...(param.default !== undefined && { default: numberDefault(param, param.default) }),
      })),
      ...(outputs.length > 0 ? [{ name: "*" }] : []),
      ...outputs.map((param) => ({ name: this.outParameter(param), annotation: optional, default: py.none })),
    ];
  }

  /** Tensors of which the kernel gets an address only. */
  #pointers(): readonly PointerParam[] {
    return this.ir.params.filter((param) => param.kind === "pointer");
  }

  /** What the caller gives besides tensors: numbers, then choices. */
  #numbers(): readonly (ScalarParam | ConstexprParam)[] {
    const { params } = this.ir;
    return [
      ...params.filter((param) => param.kind === "scalar"),
      ...params.filter((param) => param.kind === "constexpr" && param.from === "argument"),
    ] as (ScalarParam | ConstexprParam)[];
  }

  /** What the caller gives an output as: `out` if there is one, else by name. */
  outParameter(param: TensorParam): string {
    const outputs = this.tensors.filter((p) => p.role === "out");
    return outputs.length === 1 ? "out" : this.#localName(param);
  }

  #docstring(inputs: readonly TensorParam[], outputs: readonly TensorParam[]): string {
    const describe = (param: TensorParam) => `[${param.dimNames.join(", ")}] ${dtypeWords(param)}`;
    const lines = [
      ...inputs.map((param) => {
        const contiguous = param.contiguous ? ", contiguous" : "";
        const updated = param.role === "inout" ? "; updated in place" : "";
        return `    ${this.#localName(param)}: ${describe(param)}${contiguous}${updated}.`;
      }),
      ...this.#pointers().map((param) => `    ${this.#localName(param)}: ${dtypeWords(param)}, of any shape.`),
      ...this.#numbers().map((param) => `    ${this.#localName(param)}: ${numberWords(param)}.`),
    ];
    const outs = outputs.map(
      (param) => `    ${this.outParameter(param)}: where to write ${describe(param)}; allocated if None.`,
    );
    const head = this.ir.doc ?? `Launches ${this.names.jit}.`;
    return [
      head,
      "",
      "Args:",
      ...lines,
      ...outs,
      "",
      "Raises:",
      "    ValueError: a shape, stride, device or size that the kernel cannot take.",
      "    TypeError: a dtype that the kernel cannot take.",
    ].join("\n");
  }

  // ---- body ---------------------------------------------------------------------------------------------------------

  #derivedSizes(): Block {
    const derived = this.ir.params.filter(
      (param): param is SizeParam => param.kind === "size" && param.derived !== undefined,
    );
    return derived.flatMap((param) => {
      if (this.bound.has(param.name)) return [];
      this.bound.add(param.name);
      const [value] = hostExpressions(param.derived!, (v) => this.#local(v));
      return [py.assign(this.#local(param.value), value!)];
    });
  }

  #emptyResult(outputs: readonly TensorParam[], results: readonly Expression[]): Block {
    if (outputs.length === 0) return [];
    const empty = outputs.map((param) =>
      py.compare(py.call(py.attribute(this.tensor(param), "numel")), ["==", py.number("0")]),
    );
    return [
      {
        kind: "if",
        branches: [
          {
            test: py.boolOp("and", ...empty),
            body: [py.returns(results.length === 1 ? results[0] : py.tuple(...results))],
          },
        ],
      },
    ];
  }

  #strides(): Block {
    return this.tensors.flatMap((param) => {
      const strides = this.names.strides.get(param.name)!;
      if (!strides.some((name) => name !== undefined)) return [];
      const targets = strides.map((name) => py.name(name ?? "_"));
      const call = py.call(py.attribute(this.tensor(param), "stride"));
      if (targets.length > 1) return [py.assign(py.tuple(...targets), call)];
      return [py.assign(targets[0]!, py.call(py.attribute(this.tensor(param), "stride"), py.number("0")))];
    });
  }

  #launchConstexprs(): Block {
    return this.ir.params.flatMap((param) => {
      if (param.kind !== "constexpr" || !param.compute) return [];
      const target = this.#local(param.value);
      const [value] = hostExpressions(param.compute, (v) => this.#local(v));
      const limit: Statement[] =
        param.of === "int"
          ? [
              {
                kind: "if",
                branches: [
                  {
                    test: py.compare(target, [">", py.name(ROW_LIMIT)]),
                    body: [
                      messageOf(
                        this,
                        "ValueError",
                        `${this.names.parameters.get(param.value)} would be `,
                        { value: target },
                        `; a tile holds at most `,
                        { value: py.name(ROW_LIMIT) },
                        " elements",
                      ),
                    ],
                  },
                ],
              },
            ]
          : [];
      return [py.assign(target, value!), ...limit];
    });
  }

  /** Requirements that name no autotuned constexpr are checked here; the others prune configs. */
  #requirements(): Block {
    const tests = hostExpressions(this.ir.requires, (v) => this.#local(v));
    const named = hostExpressions(this.ir.requires, (v) => py.name(this.#localText(v)));
    const prunes = requirementsOnConfigs(this.ir);
    return tests.flatMap((test, i) => {
      if (prunes[i] && this.ir.tuning.key) return [];
      const shown = this.#requirementInputs(i).map((value): MessagePart[] => {
        const local = this.#local(value);
        return [`${this.#localText(value)} = `, local.kind === "name" ? { value: local } : { text: local }];
      });
      const list = shown.flatMap((parts, j) => [j === 0 ? " with " : ", ", ...parts]);
      const message = messageOf(this, "ValueError", "a requirement does not hold: ", { text: named[i]! }, ...list);
      return [{ kind: "if" as const, branches: [{ test: py.unary("not", test), body: [message] }] }];
    });
  }

  #requirementInputs(index: number): readonly Value[] {
    const { block, at } = this.ir.requires;
    return [...hostInputs({ block: { statements: block.statements, yields: [block.yields[index]!] }, at })].filter(
      (value) => this.names.parameters.has(value),
    );
  }

  #launch(): Block {
    const grid = hostExpressions(this.ir.grid, (v) => this.#gridValue(v));
    const usesMeta = [...hostInputs(this.ir.grid)].some((value) => this.#isConfig(value));
    const tuple = py.tuple(...grid);
    const target = usesMeta ? py.name("grid") : tuple;
    const grids: Statement[] = usesMeta
      ? [{ kind: "function", name: "grid", decorators: [], params: [{ name: "meta" }], body: [py.returns(tuple)] }]
      : [];
    const launch = py.expression(
      py.call(
        usesMeta
          ? py.subscript(py.name(this.names.jit), target)
          : py.subscript(py.name(this.names.jit), ...(grid.length === 1 ? [tuple] : grid)),
        ...this.#arguments(),
      ),
    );
    return [...grids, py.blank, launch];
  }

  #arguments(): readonly Argument[] {
    const params = this.ir.params;
    const tensors = params.filter((param) => param.kind === "tensor" || param.kind === "pointer");
    const scalars = params.filter((param) => param.kind === "scalar" || param.kind === "size");
    const strides = this.tensors.flatMap((param) =>
      this.names.strides.get(param.name)!.filter((name) => name !== undefined),
    );
    const constexprs = params.filter((param): param is ConstexprParam => param.kind === "constexpr");
    const [only] = this.ir.tuning.configs;
    const values = Object.entries(only?.values ?? {}).map(([name, value]) =>
      py.keyword(parameterName(this.ir, this.names, name), constantExpression(value)),
    );
    const fixed = this.ir.tuning.key || !only ? [] : [...values, ...launchOptions(only)];
    return [
      ...tensors.map((param) => py.name(this.#localName(param))),
      ...scalars.filter((param) => this.used.has(param.value)).map((param) => this.#local(param.value)),
      ...strides.filter((name) => this.#strideUsed(name)).map((name) => py.name(name)),
      ...constexprs
        .filter((param) => param.from !== "config")
        .map((param) => py.keyword(this.#localText(param.value), this.#local(param.value))),
      ...fixed,
    ];
  }

  #strideUsed(name: string): boolean {
    return [...this.names.parameters].some(([value, other]) => other === name && this.used.has(value));
  }

  // ---- names --------------------------------------------------------------------------------------------------------

  #localName(param: Param): string {
    return this.names.tensors.get(param.name) ?? this.names.parameters.get(param.value)!;
  }

  #localText(value: Value): string {
    return this.names.parameters.get(value)!;
  }

  #local(value: Value): Expression {
    const config = this.#configOf(value);
    if (config !== undefined && !this.ir.tuning.key) {
      const fixed = this.ir.tuning.configs[0]?.values[config];
      if (fixed !== undefined) return constantExpression(fixed);
    }
    return py.name(this.#localText(value));
  }

  #gridValue(value: Value): Expression {
    return this.#isConfig(value)
      ? py.subscript(py.name("meta"), py.string(this.#localText(value)))
      : this.#local(value);
  }

  #isConfig(value: Value): boolean {
    return this.#configOf(value) !== undefined;
  }

  #configOf(value: Value): string | undefined {
    const param = this.ir.params.find((p) => p.value === value);
    return param?.kind === "constexpr" && param.from === "config" ? param.name : undefined;
  }
}

/** A default as its annotation says: `2.0` for a float. */
export function numberDefault(param: ScalarParam | ConstexprParam, value: number | boolean | string): Expression {
  const isFloat = typeof value === "number" && annotationOf(param) === "float";
  return isFloat ? py.numberLiteral(value, "float") : constantExpression(value);
}

function annotationOf(param: ScalarParam | ConstexprParam): string {
  if (param.kind === "constexpr") return param.of === "string" ? "str" : param.of;
  const { dtype } = param;
  if (dtype === "int1") return "bool";
  return typeof dtype === "string" && dtype.includes("int") ? "int" : "float";
}

function numberWords(param: ScalarParam | ConstexprParam): string {
  if (param.kind === "scalar")
    return `a number, passed as ${typeof param.dtype === "string" ? param.dtype : param.dtype.name}`;
  if (param.choices) return param.choices.map((text) => `"${text}"`).join(" or ");
  return `a ${annotationOf(param)} that the kernel is compiled for`;
}

function dtypeWords(param: TensorParam | PointerParam): string {
  return typeof param.dtype === "string" ? param.dtype : param.dtype.members.join(" or ");
}

/** For each requirement, whether it names a constexpr that configs choose. */
export function requirementsOnConfigs(ir: KernelIR): readonly boolean[] {
  const { block, at } = ir.requires;
  return block.yields.map((argument) => {
    const inputs = hostInputs({ block: { statements: block.statements, yields: [argument] }, at });
    return ir.params.some((param) => param.kind === "constexpr" && param.from === "config" && inputs.has(param.value));
  });
}
