/** Recipes by number, and the smallest that fails as one did. */
import fc from "fast-check";
import { type Recipe, recipes } from "./recipe.js";

/** The recipe that a seed stands for: the same on every machine. */
export function recipeOf(seed: number): Recipe {
  return fc.sample(recipes, { seed: seed | 0, numRuns: 1 })[0]!;
}

/** A smaller recipe that fails too; the one given if none is found within the seconds. */
export async function shrunk(seed: number, fails: (recipe: Recipe) => Promise<boolean>, seconds = 20): Promise<Recipe> {
  const property = fc.asyncProperty(recipes, async (recipe) => !(await fails(recipe)));
  const found = await fc.check(property, { seed: seed | 0, numRuns: 1, interruptAfterTimeLimit: seconds * 1000 });
  return found.counterexample?.[0] ?? recipeOf(seed);
}
