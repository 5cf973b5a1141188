/** Optional arguments may only be used where the kernel knows that they are present. */
import { type Diagnostic, errorDiagnostic } from "../diagnostics/diagnostic.js";
import { notGiven } from "../diagnostics/catalog/control-codes.js";
import {
  type Argument,
  type Block,
  isList,
  isMemoryParam,
  isValue,
  type KernelIR,
  type Statement,
  type Value,
} from "../ir/nodes.js";
import { argumentsOf, blocksOf, definitions } from "../ir/walk.js";

/** The flags of optional arguments that certainly hold. */
type Known = ReadonlySet<Value>;

export function checkOptional(ir: KernelIR): readonly Diagnostic[] {
  const owners = new Map<Value, { readonly name: string; readonly given: Value }>();
  for (const param of ir.params) {
    if (!isMemoryParam(param) || !param.given) continue;
    const owner = { name: param.name, given: param.given };
    owners.set(param.value, owner);
    if (param.kind !== "tensor") continue;
    // The strides of a contiguous tensor are sizes, which other tensors have too.
    const own = param.strides.filter((stride) => !param.dims.includes(stride));
    for (const value of [param.pointer, ...own]) if (isValue(value)) owners.set(value, owner);
  }
  if (owners.size === 0) return [];
  const flags = new Set([...owners.values()].map(({ given }) => given));
  const made = definitions(ir.body);
  const found: Diagnostic[] = [];

  function use(argument: Argument, known: Known, statement: Statement): void {
    if (isList(argument)) return argument.forEach((item) => use(item, known, statement));
    const owner = isValue(argument) ? owners.get(argument) : undefined;
    if (!owner || known.has(owner.given)) return;
    const { name } = owner;
    found.push(errorDiagnostic(notGiven(name), statement.at));
  }

  function visit(block: Block, known: Known): void {
    for (const statement of block.statements) {
      argumentsOf(statement).forEach((argument) => use(argument, known, statement));
      if (statement.kind === "if") {
        visit(statement.then, union(known, implied(statement.condition, true)));
        visit(statement.otherwise, union(known, implied(statement.condition, false)));
      } else blocksOf(statement).forEach((inner) => visit(inner, known));
    }
  }

  /**
   * The flags that hold wherever a condition has this truth: through `and` where it is true, `or` where it is false.
   */
  function implied(condition: Argument, truth: boolean): Known {
    if (!isValue(condition)) return new Set();
    if (flags.has(condition)) return new Set(truth ? [condition] : []);
    const statement = made.get(condition);
    if (statement?.kind !== "op" || !("truth" in statement.op.spelling)) return new Set();
    const operands = argumentsOf(statement);
    const { truth: operator } = statement.op.spelling;
    if (operator === "not") return implied(operands[0]!, !truth);
    const isCertain = operator === (truth ? "and" : "or");
    return isCertain ? union(...operands.map((operand) => implied(operand, truth))) : new Set();
  }

  visit(ir.body, new Set());
  return found;
}

function union(...sets: readonly Known[]): Known {
  return new Set(sets.flatMap((set) => [...set]));
}
