/** Calls of the author's functions: walks their bodies with the abstract values of the arguments. */
import { ts } from "./typescript.js";
import {
  type AbstractValue,
  type FunctionNode,
  holder,
  join,
  PLAIN,
  signature,
  weaken,
  Scope,
  region,
  type Region,
  TRACED,
} from "./abstract-values.js";
import { type Frame, invocation, type Walk } from "./walk.js";
import { typesOf, type Types } from "./author-modules.js";

type FunctionValue = AbstractValue & { readonly kind: "function" };

export interface Functions {
  readonly value: Walk["functionValue"];
  readonly invoke: Walk["invoke"];
  /** Walks functions without a call: exported helpers, callbacks passed to other code. */
  walkUncalled(): void;
}

/** The maximum number of nested calls of a recursive function. */
const MAX_RECURSION_DEPTH = 2;

export function createFunctions(walk: () => Walk): Functions {
  const results = new Map<string, AbstractValue>();
  const walkedFunctions = new Set<FunctionNode>();
  const activeDepths = new Map<FunctionNode, number>();
  const pending = new Map<string, { value: FunctionValue; parent: Region | undefined }>();

  function functionValue(node: FunctionNode, frame: Frame): FunctionValue {
    const callee: FunctionValue = { kind: "function", node, scope: frame.scope };
    const key = signature(callee);
    if (!pending.has(key)) pending.set(key, { value: callee, parent: frame.region });
    return callee;
  }

  function invoke(callee: FunctionValue, args: readonly AbstractValue[], parent: Region | undefined): AbstractValue {
    walkedFunctions.add(callee.node);
    if (callee.bound) return invoke(unboundFunction(callee), [...callee.bound, ...args], parent);
    const key = `${signature(callee)}@${innermostBoundary(parent)?.id}(${args.map(signature).join()})`;
    const cachedResult = results.get(key);
    if (cachedResult) return cachedResult;
    // A recursive call returns a plain value: immediately, or after a few levels if its arguments differ.
    results.set(key, PLAIN);
    const depth = activeDepths.get(callee.node) ?? 0;
    if (depth >= MAX_RECURSION_DEPTH) return PLAIN;
    activeDepths.set(callee.node, depth + 1);
    const result = resultOf(callee, args, parent, walk());
    activeDepths.set(callee.node, depth);
    results.set(key, result);
    return result;
  }

  return {
    value: functionValue,
    invoke,
    walkUncalled() {
      for (const [key, { value, parent }] of pending) {
        pending.delete(key);
        if (!walkedFunctions.has(value.node)) invoke(value, [], parent);
      }
    },
  };
}

function unboundFunction({ kind, node, scope }: FunctionValue): FunctionValue {
  return { kind, node, scope };
}

/** Walks a function's body with these arguments and returns its result. */
function resultOf(
  { node, scope }: FunctionValue,
  args: readonly AbstractValue[],
  parent: Region | undefined,
  walk: Walk,
): AbstractValue {
  const call = invocation();
  const frame: Frame = { scope: new Scope(scope), region: region("function", parent), call };
  node.parameters.forEach((parameter, index) => bindParameter(parameter, args.slice(index), frame, walk));
  const { body } = node;
  if (!body) return applyAnnotation(node.type, PLAIN);
  if (!ts.isBlock(body)) return declaredResult(node, walk.evaluate(body, frame));
  walk.walkStatements(body.statements, frame);
  if (call.yields === "loops") return { kind: "range" };
  if (node.asteriskToken) return holder(new Map(), call.returns.length ? call.returns.reduce(join) : PLAIN);
  if (call.returns.length === 0) return PLAIN;
  const returnValue = call.returns.reduce(join);
  return declaredResult(node, canFallThrough(body.statements.at(-1)) ? weaken(returnValue) : returnValue);
}

/** Binds one parameter. `args` starts with its argument; a rest parameter binds all of `args`. */
function bindParameter(
  parameter: ts.ParameterDeclaration,
  args: readonly AbstractValue[],
  frame: Frame,
  walk: Walk,
): void {
  const restValue = parameter.dotDotDotToken && holder(new Map(args.map((each, i) => [String(i), each])));
  const argument = applyAnnotation(parameter.type, restValue ?? args[0]);
  const fallback = parameter.initializer && walk.evaluate(parameter.initializer, frame);
  const value = parameter.questionToken ? weaken(argument) : argument;
  walk.bind(parameter.name, fallback ? join(value, fallback) : value, frame);
  const binding = ts.isIdentifier(parameter.name) ? frame.scope.lookup(parameter.name.text) : undefined;
  if (binding) binding.isParameter = true;
}

/** The innermost loop or branch around a call, on which its diagnostics depend. */
function innermostBoundary(innerRegion: Region | undefined): Region | undefined {
  return innerRegion?.kind === "function" ? innermostBoundary(innerRegion.parent) : innerRegion;
}

/** Applies the declared result type, which may exclude a traced value. An async function returns a promise. */
function declaredResult(node: FunctionNode, value: AbstractValue): AbstractValue {
  if (node.modifiers?.some((modifier) => modifier.kind === ts.SyntaxKind.AsyncKeyword)) return PLAIN;
  return node.type ? applyAnnotation(node.type, value) : value;
}

function canFallThrough(last: ts.Statement | undefined): boolean {
  if (!last) return true;
  if (ts.isReturnStatement(last) || ts.isThrowStatement(last)) return false;
  if (ts.isBlock(last)) return canFallThrough(last.statements.at(-1));
  if (ts.isIfStatement(last)) {
    return !last.elseStatement || canFallThrough(last.thenStatement) || canFallThrough(last.elseStatement);
  }
  return !ts.isSwitchStatement(last) && !ts.isTryStatement(last);
}

// Abstract values from type annotations. Only types of TileScript and of the same file are known.

/**
 * The value of a variable or parameter with this type. `value` is the initializer or argument; undefined if unknown. A
 * type that is optional, unknown or a union with a plain type makes the value uncertain, so that the author may test
 * its presence.
 */
export function applyAnnotation(type: ts.TypeNode | undefined, value: AbstractValue | undefined): AbstractValue {
  // `any` adds no information.
  if (!type || type.kind === ts.SyntaxKind.AnyKeyword) return value ?? PLAIN;
  const declared = readType(type, 0);
  if (value === undefined) return declared ?? PLAIN;
  return declared === undefined ? weaken(value) : meet(declared, value);
}

function meet(declared: AbstractValue, value: AbstractValue): AbstractValue {
  if (declared.kind === "traced" && declared.isCertain) return value.kind === "plain" ? declared : value;
  if (declared.kind === "holder" && value.kind === "holder") {
    const keys = new Set([...declared.fields.keys(), ...value.fields.keys()]);
    const fields = [...keys].map((key) => {
      const declaredField = declared.fields.get(key) ?? declared.summary;
      return [key, meet(declaredField, value.fields.get(key) ?? value.summary)] as const;
    });
    return holder(new Map(fields), meet(declared.summary, value.summary));
  }
  if (value.kind === "plain") return declared;
  // A function type does not identify the function that is passed.
  return weaken(value);
}

/** The value of a type; undefined for an unknown type. */
function readType(type: ts.TypeNode, depth: number): AbstractValue | undefined {
  if (depth > 8) return undefined;
  const next = (each: ts.TypeNode): AbstractValue | undefined => readType(each, depth + 1);
  if (ts.isParenthesizedTypeNode(type) || ts.isTypeOperatorNode(type)) return next(type.type);
  if (ts.isArrayTypeNode(type)) return holder(new Map(), next(type.elementType) ?? PLAIN);
  if (ts.isTupleTypeNode(type)) return tuple(type, next);
  if (ts.isTypeLiteralNode(type)) return members(type.members, next);
  if (ts.isUnionTypeNode(type)) return type.types.map((each) => next(each) ?? PLAIN).reduce(join);
  if (ts.isIntersectionTypeNode(type)) return type.types.map(next).find((each) => each !== undefined);
  if (ts.isTypeReferenceNode(type)) return reference(type, next);
  return type.kind >= ts.SyntaxKind.FirstTypeNode || isKeyword(type) ? PLAIN : undefined;
}

function isKeyword(type: ts.TypeNode): boolean {
  return (
    type.kind === ts.SyntaxKind.NumberKeyword ||
    type.kind === ts.SyntaxKind.StringKeyword ||
    type.kind === ts.SyntaxKind.BooleanKeyword ||
    type.kind === ts.SyntaxKind.UndefinedKeyword
  );
}

type ReadType = (type: ts.TypeNode) => AbstractValue | undefined;

function tuple(type: ts.TupleTypeNode, next: ReadType): AbstractValue {
  const fields = type.elements.map((element, index) => {
    const elementType = ts.isNamedTupleMember(element) ? element.type : element;
    const isOptional = ts.isNamedTupleMember(element) ? element.questionToken : ts.isOptionalTypeNode(element);
    const value =
      next(ts.isOptionalTypeNode(elementType) || ts.isRestTypeNode(elementType) ? elementType.type : elementType) ??
      PLAIN;
    return [String(index), isOptional ? weaken(value) : value] as const;
  });
  return holder(new Map(fields));
}

function members(list: readonly ts.TypeElement[], next: ReadType): AbstractValue {
  const fields = list.flatMap((member) => {
    if (!ts.isPropertySignature(member) || !member.type || !ts.isIdentifier(member.name)) return [];
    const value = next(member.type) ?? PLAIN;
    return [[member.name.text, member.questionToken ? weaken(value) : value] as const];
  });
  return holder(new Map(fields));
}

/** The types of handles. Other exported types (dtypes, specs, options) are plain. */
const HANDLES =
  /^(?:Tile|TileLike|Scalar|Constexpr|Const(?:Bool|Float|String|Int|Like)|Tensor|View|Pointer|Descriptor|Address(?:Like)?|Mut|MutPointer)$/;

function reference(type: ts.TypeReferenceNode, next: ReadType): AbstractValue | undefined {
  const types = typesOf(type.getSourceFile());
  const { typeName } = type;
  if (ts.isQualifiedName(typeName)) {
    const isNamespace = ts.isIdentifier(typeName.left) ? types.namespaces.has(typeName.left.text) : false;
    return isNamespace && HANDLES.test(typeName.right.text) ? TRACED : undefined;
  }
  const name = typeName.text;
  const [argument, valueArgument] = type.typeArguments ?? [];
  if (argument && /^(?:Readonly)?Array$/.test(name)) return holder(new Map(), next(argument) ?? PLAIN);
  if (argument && /^(?:Readonly|Required|NonNullable)$/.test(name)) return next(argument);
  if (argument && name === "Partial") {
    const value = next(argument);
    return value && weaken(value);
  }
  if (valueArgument && name === "Record") return holder(new Map(), weaken(next(valueArgument) ?? PLAIN));
  return namedType(type, name, types, next);
}

/** The value of a type parameter, or of a type that is imported or declared in the file. */
function namedType(type: ts.TypeReferenceNode, name: string, types: Types, next: ReadType): AbstractValue | undefined {
  const parameter = typeParameter(type, name);
  if (parameter) return parameter.constraint && next(parameter.constraint);
  const original = types.imported.get(name);
  if (original !== undefined) return HANDLES.test(original) ? TRACED : undefined;
  const local = types.local.get(name);
  if (!local) return undefined;
  return ts.isInterfaceDeclaration(local) ? members(local.members, next) : next(local.type);
}

function typeParameter(type: ts.Node, name: string): ts.TypeParameterDeclaration | undefined {
  for (let node: ts.Node = type; node; node = node.parent) {
    if (!ts.isFunctionLike(node)) continue;
    const declaration = node.typeParameters?.find((parameter) => parameter.name.text === name);
    if (declaration) return declaration;
  }
  return undefined;
}
