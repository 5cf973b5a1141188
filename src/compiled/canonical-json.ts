/**
 * Plain data as text, which two share only if they are equal: keys of what is kept. JSON alone writes NaN and both
 * infinities as null, and -0 as 0.
 */
export function cacheKey(data: unknown): string {
  return JSON.stringify(data, (_, value: unknown) => {
    if (typeof value !== "number" || isOfJSON(value)) return value;
    return { number: numberText(value) };
  });
}

/**
 * Plain data as JSON for readers: the numbers that JSON lacks are their names, `"NaN"`, `"-Infinity"` or `"-0"`, and
 * bigints their digits.
 */
export function jsonText(data: unknown, indent?: number): string {
  const named = (_: string, value: unknown): unknown =>
    typeof value === "bigint" || (typeof value === "number" && !isOfJSON(value)) ? numberText(value) : value;
  return JSON.stringify(data, named, indent);
}

const isOfJSON = (value: number): boolean => Number.isFinite(value) && !Object.is(value, -0);

/** A number, flag or choice in JavaScript: `String` loses the sign of -0. */
export const numberText = (value: number | bigint | boolean | string): string =>
  Object.is(value, -0) ? "-0" : String(value);

/** A value as JavaScript writes it. */
export const formatLiteral = (value: number | bigint | boolean | string): string =>
  typeof value === "string" ? JSON.stringify(value) : numberText(value);
