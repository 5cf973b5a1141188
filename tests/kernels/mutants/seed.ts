/** Puts a mistake into the source of a kernel. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build, type CompiledKernel } from "tilescript";
import type { Mutation, Subject } from "./mutations.js";

export type Source = Pick<Subject, "file" | "kernel" | "anywhere">;
type Seed = Pick<Mutation, "what" | "from" | "to" | "at">;

/** The part of a source that defines a kernel. */
export function sectionOf(source: string, kernel: string): readonly [number, number] {
  const start = source.indexOf(`export const ${kernel} = `);
  const end = source.indexOf("\nexport const ", start + 1);
  if (start < 0) throw new Error(`there is no ${kernel}`);
  return [start, end < 0 ? source.length : end];
}

const lineAt = (source: string, position: number): number => source.slice(0, position).split("\n").length;

/** The source with the mistake, and the lines that may be blamed. */
function mutate(source: string, { kernel, anywhere }: Source, { what, from, to, at }: Seed) {
  const [start, end] = anywhere ? [0, source.length] : sectionOf(source, kernel);
  const position = source.indexOf(from, start);
  if (position < 0 || position >= end) throw new Error(`${kernel}, ${what}: there is no ${from}`);
  const mutated = source.slice(0, position) + to + source.slice(position + from.length);
  const places = at?.map((words) => mutated.indexOf(words, start)) ?? [position];
  if (places.some((place) => place < 0)) throw new Error(`${kernel}, ${what}: there is no ${at?.join()}`);
  return { mutated, lines: places.map((place) => lineAt(mutated, place)) };
}

/** Files with mistakes, in a folder inside the project, so that what the sources import is found. */
export class Seeded {
  readonly #folder = mkdtempSync(join(import.meta.dirname, ".mutated-"));
  #count = 0;

  /** The kernel with the mistake, and the lines that may be blamed. */
  async build(subject: Source, mutation: Seed): Promise<{ compiled: CompiledKernel; lines: readonly number[] }> {
    const url = new URL(subject.file, import.meta.url);
    const { mutated, lines } = mutate(readFileSync(url, "utf8"), subject, mutation);
    const file = join(this.#folder, `${++this.#count}-${basename(subject.file)}`);
    // What the source imports from its own folder is not in this one.
    const folder = fileURLToPath(new URL(".", url));
    writeFileSync(file, mutated.replaceAll('from "./', `from "${folder}`));
    return { compiled: await buildFrom(file, subject.kernel), lines };
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true });
  }
}

/** The kernel as it is. */
export function buildRight({ file, kernel }: Source): Promise<CompiledKernel> {
  return buildFrom(join(import.meta.dirname, file), kernel);
}

async function buildFrom(file: string, kernel: string): Promise<CompiledKernel> {
  const module = (await import(pathToFileURL(file).href)) as Record<string, unknown>;
  return build(module[kernel]);
}
