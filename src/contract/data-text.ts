/**
 * Plain data as text, which two share only if they are equal: keys of what is kept. JSON alone writes NaN and both
 * infinities as null, and -0 as 0.
 */
export function dataText(data: unknown): string {
  return JSON.stringify(data, (_, value: unknown) => {
    if (typeof value !== "number" || (Number.isFinite(value) && !Object.is(value, -0))) return value;
    return { number: numberText(value) };
  });
}

/** The number in JavaScript: `String` loses the sign of -0. */
export const numberText = (value: number): string => (Object.is(value, -0) ? "-0" : String(value));
