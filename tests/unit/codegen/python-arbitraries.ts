/** Random Python of the shapes that Triton kernels and their wrappers have. */
import fc from "fast-check";
import * as b from "../../../src/codegen/syntax/py-build.js";
import type * as Py from "../../../src/codegen/syntax/py.js";

const identifier = fc.oneof(
  fc.constantFrom("x", "acc", "mask", "offs_m", "stride_am", "BLOCK_SIZE_M", "num_pid_in_group", "ptr", "M", "N"),
  fc
    .tuple(fc.constantFrom("a", "q", "accumulated", "offsets", "BLOCK"), fc.integer({ min: 1, max: 28 }))
    .map(([stem, size]) => `${stem}_${"n".repeat(size)}`),
);
const identifierName = identifier.map(b.name);
const callee = fc.constantFrom(
  "tl.load",
  "tl.dot",
  "tl.where",
  "tl.arange",
  "tl.cdiv",
  "triton.cdiv",
  "tl.sum",
  "float",
);
const member = fc.constantFrom("to", "T", "shape", "stride", "dtype", "element_ty", "reshape", "contiguous");
const text = fc.oneof(
  fc.constantFrom("evict_last", "inf", 'a "quoted" name', "it's", "both ' and \"", "tab\t\\", "é→😀", '"; import os'),
  fc
    .array(fc.constantFrom("tensor", "must", "be", "contiguous,", "got"), { maxLength: 8 })
    .map((words) => words.join(" ")),
);
const literal = fc.oneof(
  fc.integer({ min: -9, max: 4096 }).map((value) => b.numberLiteral(value, "int")),
  fc
    .constantFrom(0, -0, 1, 0.5, 1e-5, 1e21, 6.02e-23, Infinity, -Infinity)
    .map((value) => b.numberLiteral(value, "float")),
  fc.constantFrom(b.name("None"), b.boolean(true)),
);
const arithmetic = fc.constantFrom<Py.BinaryOperator>(
  "+",
  "+",
  "+",
  "*",
  "*",
  "*",
  "-",
  "/",
  "//",
  "%",
  "@",
  "**",
  "&",
  "&",
  "|",
  "^",
  "<<",
  ">>",
);
const comparison = fc.constantFrom<Py.CompareOperator>(
  "<",
  "<",
  "<=",
  ">",
  ">=",
  "==",
  "!=",
  "is",
  "is not",
  "in",
  "not in",
);

export const expression: fc.Arbitrary<Py.Expression> = fc.letrec<{ node: Py.Expression }>((tie) => {
  const node = tie("node");
  // Functions stand where launches and heuristics have them: as a keyword's value, in an index, in a dict.
  const lambda = fc.tuple(fc.constantFrom([], ["meta"]), node).map(([params, body]) => b.lambda(params, body));
  const value = fc.oneof({ weight: 9, arbitrary: node }, { weight: 1, arbitrary: lambda });
  const named = fc
    .tuple(fc.constantFrom("mask", "other", "axis", "num_stages"), value)
    .map(([key, value]) => b.keyword(key, value));
  const args = fc
    .tuple(fc.array(node, { maxLength: 3 }), fc.uniqueArray(named, { maxLength: 2, selector: (item) => item.name }))
    .map(([positional, keywords]) => [...positional, ...keywords]);
  const part = fc.option(node, { nil: undefined });
  const index = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(b.slice(), b.name("None")) },
    { weight: 2, arbitrary: value },
    { weight: 1, arbitrary: fc.tuple(part, part, part).map(([lower, upper, step]) => b.slice(lower, upper, step)) },
  );
  return {
    node: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      { weight: 6, arbitrary: identifierName },
      { weight: 2, arbitrary: literal },
      { weight: 1, arbitrary: text.map(b.string) },
      { weight: 6, arbitrary: fc.tuple(callee, args).map(([path, list]) => b.call(path, ...list)) },
      {
        weight: 6,
        arbitrary: fc.tuple(node, arithmetic, node).map(([left, operator, right]) => b.binary(left, operator, right)),
      },
      {
        weight: 3,
        arbitrary: fc
          .tuple(node, fc.array(fc.tuple(comparison, node), { minLength: 1, maxLength: 2 }))
          .map(([first, rest]) => b.compare(first, ...rest)),
      },
      {
        weight: 1,
        arbitrary: fc
          .tuple(fc.constantFrom<Py.BoolOperator>("and", "or"), fc.array(node, { minLength: 2, maxLength: 3 }))
          .map(([operator, list]) => b.boolOp(operator, ...list)),
      },
      {
        weight: 1,
        arbitrary: fc
          .tuple(fc.constantFrom<Py.UnaryOperator>("-", "~", "not"), node)
          .map(([operator, value]) => b.unary(operator, value)),
      },
      { weight: 2, arbitrary: fc.tuple(node, member).map(([value, name]) => b.attribute(value, name)) },
      {
        weight: 2,
        arbitrary: fc.tuple(node, member, args).map(([value, name, list]) => b.call(b.attribute(value, name), ...list)),
      },
      {
        weight: 3,
        arbitrary: fc
          .tuple(identifierName, fc.array(index, { minLength: 1, maxLength: 3 }))
          .map(([value, list]) => b.subscript(value, ...list)),
      },
      { weight: 1, arbitrary: fc.tuple(node, index).map(([value, only]) => b.subscript(value, only)) },
      {
        weight: 1,
        arbitrary: fc.tuple(node, node, node).map(([then, test, otherwise]) => b.conditional(then, test, otherwise)),
      },
      { weight: 1, arbitrary: fc.array(node, { maxLength: 3 }).map((items) => b.tuple(...items)) },
      { weight: 1, arbitrary: fc.array(node, { maxLength: 3 }).map((items) => b.list(...items)) },
      {
        weight: 1,
        arbitrary: fc
          .array(fc.tuple(text, value), { maxLength: 3 })
          .map((entries) => b.dict(...entries.map(([key, value]) => ({ key: b.string(key), value })))),
      },
    ),
  };
}).node;

const fString = fc
  .array(
    fc.oneof(
      text,
      fc
        .oneof(
          identifierName,
          fc
            .tuple(identifierName, text)
            .map(([value, key]) => b.subscript(value, b.string(key.replace(/[^a-z ]/g, "")))),
        )
        .map((value) => ({ value })),
    ),
    { maxLength: 4 },
  )
  .map((parts) => b.fString(...parts));
const target = fc.oneof(
  { weight: 4, arbitrary: identifierName },
  {
    weight: 1,
    arbitrary: fc.uniqueArray(identifier, { minLength: 2, maxLength: 3 }).map((names) => b.tuple(...names.map(b.name))),
  },
  { weight: 1, arbitrary: fc.tuple(identifierName, identifierName).map(([value, index]) => b.subscript(value, index)) },
);
const config = fc
  .tuple(fc.uniqueArray(identifier, { maxLength: 4 }), fc.integer({ min: 1, max: 8 }))
  .map(([names, warps]) =>
    b.call(
      "triton.Config",
      b.dict(...names.map((name) => ({ key: b.string(name), value: b.number("64") }))),
      b.keyword("num_warps", b.number(String(warps))),
    ),
  );

export const statement: fc.Arbitrary<Py.Statement> = fc.letrec<{ block: Py.Block; node: Py.Statement }>((tie) => {
  const block = tie("block");
  const functionDef = fc
    .record({
      name: identifier,
      decorators: fc.array(
        fc.oneof(
          fc.constant(b.dotted("triton.jit")),
          fc
            .tuple(fc.array(config, { maxLength: 3 }), expression)
            .map(([configs, key]) =>
              b.call("triton.autotune", b.keyword("configs", b.list(...configs)), b.keyword("key", key)),
            ),
        ),
        { maxLength: 2 },
      ),
      params: fc.uniqueArray(
        fc.record({
          name: identifier,
          annotation: fc.option(fc.constant(b.dotted("tl.constexpr")), { nil: undefined }),
        }),
        { maxLength: 6, selector: (param) => param.name },
      ),
      returns: fc.option(
        fc.constantFrom(
          b.name("None"),
          b.dotted("torch.Tensor"),
          b.subscript(b.name("tuple"), b.dotted("torch.Tensor"), b.dotted("torch.Tensor")),
        ),
        { nil: undefined },
      ),
      docstring: fc.option(
        text.filter((value) => value.trim() !== ""),
        { nil: undefined },
      ),
      body: block,
    })
    .map((parts): Py.FunctionDef => ({ kind: "function", ...parts }));
  const simple = fc.oneof(
    { weight: 8, arbitrary: fc.tuple(target, expression).map(([left, value]) => b.assign(left, value)) },
    {
      weight: 2,
      arbitrary: fc
        .tuple(identifierName, expression)
        .map(([left, value]) => b.assign(left, value, b.dotted("tl.constexpr"))),
    },
    {
      weight: 2,
      arbitrary: fc.tuple(identifierName, expression).map(([left, value]) => b.augmentedAssign(left, "+", value)),
    },
    { weight: 2, arbitrary: expression.filter((value) => value.kind !== "string").map(b.expression) },
    { weight: 2, arbitrary: expression.map(b.returns) },
    {
      weight: 2,
      arbitrary: fc
        .tuple(fc.oneof(fString, text.map(b.string)), fc.option(identifierName, { nil: undefined }))
        .map(([message, cause]) => b.raise(b.call("ValueError", message), cause)),
    },
    {
      weight: 1,
      arbitrary: fc
        .tuple(expression, fc.option(fString, { nil: undefined }))
        .map(([test, message]): Py.Assert => ({ kind: "assert", test, message })),
    },
    { weight: 1, arbitrary: text.map(b.comment) },
    { weight: 1, arbitrary: fc.constant(b.blank) },
  );
  return {
    block: fc.array(tie("node"), { minLength: 1, maxLength: 4 }),
    node: fc.oneof(
      { maxDepth: 4, depthIdentifier: "statement" },
      { weight: 8, arbitrary: simple },
      {
        weight: 1,
        arbitrary: fc
          .tuple(target, expression, block)
          .map(([left, iterable, body]): Py.For => ({ kind: "for", target: left, iterable, body })),
      },
      {
        weight: 1,
        arbitrary: fc
          .tuple(
            fc.array(fc.record({ test: expression, body: block }), { minLength: 1, maxLength: 2 }),
            fc.option(block, { nil: undefined }),
          )
          .map(([branches, otherwise]): Py.If => ({ kind: "if", branches, otherwise })),
      },
      {
        weight: 1,
        arbitrary: fc.tuple(expression, block).map(([test, body]): Py.While => ({ kind: "while", test, body })),
      },
      { weight: 1, arbitrary: functionDef },
    ),
  };
}).node;

/** The statement `depth` blocks deep, so that it has less room. */
export function nested(inner: Py.Statement, depth: number): Py.Statement {
  return depth === 0 ? inner : { kind: "if", branches: [{ test: b.name("M"), body: [nested(inner, depth - 1)] }] };
}
