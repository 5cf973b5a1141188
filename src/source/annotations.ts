/** What a type annotation says about a value. Only the types of TileScript and of the same file are known. */
import { ts } from "./typescript.js";
import { typesOf } from "./imports.js";
import { type AbstractValue, holder, join, PLAIN, TRACED, weaken } from "./abstract-values.js";

/**
 * What a variable or parameter of this type holds, given what was passed (undefined: not known). A type that is
 * optional, a union with something plain, or unknown makes the value uncertain: asking whether it is there is then
 * legal.
 */
export function annotated(type: ts.TypeNode | undefined, value: AbstractValue | undefined): AbstractValue {
  // `any` says as little as no type does.
  if (!type || type.kind === ts.SyntaxKind.AnyKeyword) return value ?? PLAIN;
  const declared = read(type, 0);
  if (value === undefined) return declared ?? PLAIN;
  return declared === undefined ? weaken(value) : meet(declared, value);
}

function meet(declared: AbstractValue, value: AbstractValue): AbstractValue {
  if (declared.kind === "traced" && declared.certain) return value.kind === "plain" ? declared : value;
  if (declared.kind === "holder" && value.kind === "holder") {
    const keys = new Set([...declared.fields.keys(), ...value.fields.keys()]);
    const fields = [...keys].map((key) => {
      const known = declared.fields.get(key) ?? declared.rest;
      return [key, meet(known, value.fields.get(key) ?? value.rest)] as const;
    });
    return holder(new Map(fields), meet(declared.rest, value.rest));
  }
  if (value.kind === "plain") return declared;
  // A function type says nothing about the function that is passed.
  return weaken(value);
}

/** Undefined for a type that is not known here. */
function read(type: ts.TypeNode, depth: number): AbstractValue | undefined {
  if (depth > 8) return undefined;
  const next = (each: ts.TypeNode): AbstractValue | undefined => read(each, depth + 1);
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

type Next = (type: ts.TypeNode) => AbstractValue | undefined;

function tuple(type: ts.TupleTypeNode, next: Next): AbstractValue {
  const fields = type.elements.map((element, index) => {
    const inside = ts.isNamedTupleMember(element) ? element.type : element;
    const optional = ts.isNamedTupleMember(element) ? element.questionToken : ts.isOptionalTypeNode(element);
    const value = next(ts.isOptionalTypeNode(inside) || ts.isRestTypeNode(inside) ? inside.type : inside) ?? PLAIN;
    return [String(index), optional ? weaken(value) : value] as const;
  });
  return holder(new Map(fields));
}

function members(list: readonly ts.TypeElement[], next: Next): AbstractValue {
  const fields = list.flatMap((member) => {
    if (!ts.isPropertySignature(member) || !member.type || !ts.isIdentifier(member.name)) return [];
    const value = next(member.type) ?? PLAIN;
    return [[member.name.text, member.questionToken ? weaken(value) : value] as const];
  });
  return holder(new Map(fields));
}

/** The handles' types. What else the package exports (dtypes, specs, options) is plain. */
const HANDLES =
  /^(?:Tile|TileLike|Scalar|Constexpr|Const(?:Bool|Float|String|Int|Like)|Tensor|View|Pointer|Descriptor|Address(?:Like)?|Mut|MutPointer)$/;

function reference(type: ts.TypeReferenceNode, next: Next): AbstractValue | undefined {
  const types = typesOf(type.getSourceFile());
  const { typeName } = type;
  if (ts.isQualifiedName(typeName)) {
    const namespace = ts.isIdentifier(typeName.left) ? types.namespaces.has(typeName.left.text) : false;
    return namespace && HANDLES.test(typeName.right.text) ? TRACED : undefined;
  }
  const name = typeName.text;
  const argument = type.typeArguments?.[0];
  if (/^(?:Readonly)?Array$/.test(name) && argument) return holder(new Map(), next(argument) ?? PLAIN);
  if (/^(?:Readonly|Required|NonNullable|Partial)$/.test(name) && argument) {
    const value = next(argument);
    return value && name === "Partial" ? weaken(value) : value;
  }
  if (name === "Record" && type.typeArguments?.[1])
    return holder(new Map(), weaken(next(type.typeArguments[1]) ?? PLAIN));
  const parameter = typeParameter(type, name);
  if (parameter) return parameter.constraint && next(parameter.constraint);
  const original = types.imported.get(name);
  if (original !== undefined) return HANDLES.test(original) ? TRACED : undefined;
  const local = types.local.get(name);
  if (!local) return undefined;
  return ts.isInterfaceDeclaration(local) ? members(local.members, next) : next(local.type);
}

function typeParameter(from: ts.Node, name: string): ts.TypeParameterDeclaration | undefined {
  for (let node: ts.Node = from; node; node = node.parent) {
    if (!ts.isFunctionLike(node)) continue;
    const found = node.typeParameters?.find((parameter) => parameter.name.text === name);
    if (found) return found;
  }
  return undefined;
}
