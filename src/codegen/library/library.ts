/** The Python functions and constants that emitted modules share. A module contains those that it mentions. */
import type { Block, FromImport, Import, Statement, Verbatim } from "../syntax/py.js";
import { librarySources } from "./sources.js";

/** A function, class or constant of the library, as its file contains it. */
interface Definition {
  readonly name: string;
  readonly text: string;
  readonly isConstant: boolean;
  readonly isLaunchCache: boolean;
  /** All identifiers of its code. */
  readonly names: ReadonlySet<string>;
}

interface ImportedName {
  readonly name: string;
  readonly statement: Import | FromImport;
}

const blocks = Object.entries(librarySources).flatMap(([file, source]) =>
  topLevelBlocks(source).map((text) => ({ text, isLaunchCache: file === "launch_cache" })),
);
const definitions: readonly Definition[] = blocks.flatMap(definitionOf);
const importedNames: readonly ImportedName[] = blocks.flatMap(({ text }) => importsOf(text));

/** The names of the library's functions and constants. */
export const definedNames: readonly string[] = definitions.map(({ name }) => name);
/** The names that the library may add to a module. */
export const libraryNames: readonly string[] = [...definedNames, ...importedNames.map(({ name }) => name)];

/** The part of the library that a module needs. */
export interface LibraryPart {
  readonly imports: readonly (Import | FromImport)[];
  readonly constants: Block;
  /** By name. */
  readonly functions: ReadonlyMap<string, Statement>;
  /** The constants and functions of the launch cache. */
  readonly launchCache: Block;
}

/** Selects the definitions that are mentioned, and those that these mention. */
export function selectLibrary(isMentioned: (name: string) => boolean): LibraryPart {
  const selected = new Set<Definition>();
  const select = (isUsed: (name: string) => boolean): void => {
    for (const definition of definitions) {
      if (selected.has(definition) || !isUsed(definition.name)) continue;
      selected.add(definition);
      select((name) => definition.names.has(name));
    }
  };
  select(isMentioned);
  const used = definitions.filter((definition) => selected.has(definition));
  const isOutside = ({ isLaunchCache }: Definition) => !isLaunchCache;
  return {
    imports: importedNames
      .filter(({ name }) => used.some(({ names }) => names.has(name)))
      .map(({ statement }) => statement),
    constants: used.filter((each) => isOutside(each) && each.isConstant).map(statementOf),
    functions: new Map(
      used.filter((each) => isOutside(each) && !each.isConstant).map((each) => [each.name, statementOf(each)]),
    ),
    launchCache: used.filter(({ isLaunchCache }) => isLaunchCache).map(statementOf),
  };
}

const statementOf = ({ text, isConstant }: Definition): Verbatim => ({
  kind: "verbatim",
  text,
  isDefinition: !isConstant,
});

/**
 * The statements of a file, each with the comments and decorators before it. The lines after its first are indented, or
 * close it.
 */
function topLevelBlocks(source: string): readonly string[] {
  const body = source.replace(/^"""[^]*?"""\n/, "");
  const blocks = body.trim().split(/\n+(?=[^\s)}\]])/);
  return blocks.reduce<string[]>((joined, block) => {
    const previous = joined.at(-1);
    if (previous !== undefined && /^(?:[#@].*\n?)+$/.test(previous))
      joined[joined.length - 1] = `${previous}\n${block}`;
    else joined.push(block);
    return joined;
  }, []);
}

function definitionOf({ text, isLaunchCache }: (typeof blocks)[number]): readonly Definition[] {
  const [, keyword, name] = /^(?:[#@].*\n)*(def |class )?(\w+)(?= =|\(|:)/.exec(text) ?? [];
  if (name === undefined) return [];
  const code = text.replace(/"""[^]*?"""|^ *#.*/gm, "");
  const names = new Set(code.match(/\b[A-Za-z_]\w*/g));
  return [{ name, text, isConstant: keyword === undefined, isLaunchCache, names }];
}

/** The names that an import binds. The package's own files are one module in the end. */
function importsOf(text: string): readonly ImportedName[] {
  const [, plain] = /^import ([\w.]+)$/.exec(text) ?? [];
  if (plain !== undefined) return [{ name: plain, statement: { kind: "import", module: plain } }];
  const [, module, list = ""] = /^from (\w[\w.]*) import (.*)$/.exec(text) ?? [];
  if (module === undefined) return [];
  return list.split(", ").map((item) => {
    const [name = "", as] = item.split(" as ");
    const binding = as === undefined ? { name } : { name, as };
    return { name: as ?? name, statement: { kind: "fromImport", module, names: [binding] } };
  });
}
