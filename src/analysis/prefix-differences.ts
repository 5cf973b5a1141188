/**
 * Differences of prefix sums, such as a suffix sum that is computed as the total less the prefix sum. Small elements
 * behind large ones cancel, so that none of their digits remain.
 */
import { type Argument, type Block, isFunction, type KernelIR, type OpStatement, type Value } from "../ir/nodes.js";
import { argumentsOf, bodiesOf, definitions, valuesIn, walk } from "../ir/walk.js";
import { isFloat } from "../numerics/numeric.js";
import { isCallNode, reachableNodes, torchOperands, type TorchNode } from "../torch/node.js";
import { members } from "../types/dtype.js";
import { isRounding } from "./rounding-sites.js";

/** A sum of elements that a value contains, and its sign. */
type Term = "+total" | "-total" | "+prefix" | "-prefix";

/** The first difference of prefix sums, or of a sum and a prefix sum, that the reference does not compute too. */
export function prefixDifference(
  kernels: readonly KernelIR[],
  { reference }: Pick<KernelIR, "reference">,
): { readonly prefixDifference?: OpStatement } {
  if (reference?.kind !== "recorded" || subtractsPrefix(reference.outputs)) return {};
  const [first] = kernels.flatMap(bodiesOf).flatMap(differencesIn);
  return first ? { prefixDifference: first } : {};
}

function differencesIn(body: Block): readonly OpStatement[] {
  const termsOf = termsIn(body);
  const differences: OpStatement[] = [];
  walk(body, (statement) => {
    if (statement.kind !== "op" || (statement.op.name !== "sub" && statement.op.name !== "add")) return;
    const isNew = !argumentsOf(statement).some((argument) => isDifference(termsOf(argument)));
    if (isNew && statement.results.some((value) => isDifference(termsOf(value)))) differences.push(statement);
  });
  return differences;
}

const isDifference = (terms: ReadonlySet<Term>): boolean =>
  (terms.has("+prefix") && (terms.has("-prefix") || terms.has("-total"))) ||
  (terms.has("-prefix") && terms.has("+total"));

const OPPOSITE: Readonly<Record<Term, Term>> = {
  "+total": "-total",
  "-total": "+total",
  "+prefix": "-prefix",
  "-prefix": "+prefix",
};

const negated = (terms: ReadonlySet<Term>): ReadonlySet<Term> => new Set([...terms].map((term) => OPPOSITE[term]));

/** The sums of floats that each value of a block contains. */
function termsIn(block: Block): (argument: Argument) => ReadonlySet<Term> {
  const definedBy = definitions(block);
  const assignments = new Map<unknown, Argument[]>();
  walk(block, (statement) => {
    if (statement.kind !== "let" && statement.kind !== "write") return;
    const values = assignments.get(statement.variable) ?? [];
    assignments.set(statement.variable, [...values, statement.kind === "let" ? statement.initial : statement.value]);
  });
  const cache = new Map<Value, ReadonlySet<Term>>();
  const union = (all: readonly Argument[]): ReadonlySet<Term> => new Set(all.flatMap((each) => [...termsOf(each)]));
  const termsOf = (argument: Argument): ReadonlySet<Term> =>
    new Set(valuesIn(argument).flatMap((value) => [...termsOfValue(value)]));
  const termsOfValue = (value: Value): ReadonlySet<Term> => {
    const cached = cache.get(value);
    if (cached) return cached;
    // A loop-carried variable contains itself.
    cache.set(value, new Set());
    const terms = isFloatTile(value) ? compute(value) : new Set<Term>();
    cache.set(value, terms);
    return terms;
  };
  const compute = (value: Value): ReadonlySet<Term> => {
    const statement = definedBy.get(value);
    if (statement?.kind === "read") return union(assignments.get(statement.variable) ?? []);
    if (statement?.kind === "if") {
      const index = statement.results.indexOf(value);
      return union([statement.then, statement.otherwise].flatMap(({ yields }) => yields[index] ?? []));
    }
    if (statement?.kind !== "op") return new Set();
    const { op } = statement;
    const form = sumForm(statement);
    if (form) return new Set([form === "scan" ? "+prefix" : "+total"]);
    const [first = [], second = []] = argumentsOf(statement);
    if (op.name === "sub") return new Set([...termsOf(first), ...negated(termsOf(second))]);
    if (op.name === "neg") return negated(termsOf(first));
    const keepsElements = op.effect === "pure" && !op.proof.foldSemantics && !isRounding(op);
    return op.name === "add" || op.name === "to" || op.name === "cast" || keepsElements
      ? union(argumentsOf(statement))
      : new Set();
  };
  return termsOf;
}

const isFloatTile = ({ type }: Value): boolean => type.kind === "tile" && members(type.dtype).some(isFloat);

/** The form of a fold that adds elements. */
function sumForm({ op, operands }: OpStatement): "scan" | "reduction" | undefined {
  const { foldSemantics: fold } = op.proof;
  if (!fold) return undefined;
  const adds = operands.some((operand) => operand && isFunction(operand) && isAddition(operand.function.body));
  if (fold.adds !== true && !adds) return undefined;
  return fold.form === "scan" ? "scan" : "reduction";
}

const isAddition = ({ statements, yields }: Block): boolean =>
  statements.length === 1 &&
  statements.every(
    (statement) => statement.kind === "op" && statement.op.name === "add" && yields.includes(statement.results[0]!),
  );

/** True if a reference subtracts something that it computes from a prefix sum. */
const subtractsPrefix = (outputs: readonly TorchNode[]): boolean =>
  [...reachableNodes(outputs)].some(
    (node) =>
      isCallNode(node) &&
      /(^|\.)r?sub(tract)?_?$/.test(node.name) &&
      [...reachableNodes(torchOperands(node))].some((each) => isCallNode(each) && /(^|\.)cumsum$/.test(each.name)),
  );
