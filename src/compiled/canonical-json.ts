/**
 * Plain data as a cache key: texts are equal only if the data are equal. Plain JSON writes NaN and both infinities as
 * null, and -0 as 0.
 */
export function cacheKey(data: unknown): string {
  return JSON.stringify(data, (_, value: unknown) => {
    if (typeof value !== "number" || isJsonNumber(value)) return value;
    return { number: formatNumber(value) };
  });
}

/**
 * Plain data as JSON for readers. Numbers that JSON lacks become `"NaN"`, `"-Infinity"` or `"-0"`, and bigints become
 * strings of digits.
 */
export function jsonText(data: unknown, indent?: number): string {
  const replacer = (_: string, value: unknown): unknown =>
    typeof value === "bigint" || (typeof value === "number" && !isJsonNumber(value)) ? formatNumber(value) : value;
  return JSON.stringify(data, replacer, indent);
}

const isJsonNumber = (value: number): boolean => Number.isFinite(value) && !Object.is(value, -0);

/** A number, flag or choice as JavaScript text. `String` would lose the sign of -0. */
export const formatNumber = (value: number | bigint | boolean | string): string =>
  Object.is(value, -0) ? "-0" : String(value);

/** A value as a JavaScript literal. */
export const formatLiteral = (value: number | bigint | boolean | string): string =>
  typeof value === "string" ? JSON.stringify(value) : formatNumber(value);
