/**
 * The TypeScript compiler that parses the author's files. Node uses the copy in ts-morph; the browser bundle replaces
 * this file with the editor's copy.
 */
export { ts } from "@ts-morph/common";
