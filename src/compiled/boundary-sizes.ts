/** Sizes that tend to reveal mistakes: one less than a block, a block, one more, and beyond two blocks. */
export const boundarySizes = (block: number): readonly number[] => [block - 1, block, block + 1, 2 * block + 1];
