/** The Python of emitted modules as text, for bundles: they cannot read the files. */
import type { Plugin } from "esbuild";
import { librarySources } from "../src/codegen/library/sources.js";

/** Matches the module that reads the files. */
export const librarySourcesFile = /[\\/]codegen[\\/]library[\\/]sources\.ts$/;

/** Replaces the module in a bundle by esbuild. */
export const librarySourcesPlugin: Plugin = {
  name: "library-text",
  setup({ onLoad }) {
    onLoad({ filter: librarySourcesFile }, () => ({ contents: librarySourcesCode, loader: "js" }));
  },
};

/** The module with the text of the files instead. */
export const librarySourcesCode = `export const librarySources = ${JSON.stringify(librarySources)};\n`;
