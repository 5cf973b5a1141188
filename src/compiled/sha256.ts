/** SHA-256 (FIPS 180-4) of a text in UTF-8, as hex digits. Browsers have no synchronous function for it. */
export function sha256(text: string): string {
  const bytes = padded(new TextEncoder().encode(text));
  const blocks = new DataView(bytes.buffer);
  const state = Uint32Array.from(INITIAL);
  for (let start = 0; start < bytes.length; start += 64) compress(state, blocks, start);
  return Array.from(state, (word) => word.toString(16).padStart(8, "0")).join("");
}

/** The message with a 1 bit, zeros and its length in bits, in whole blocks of 64 bytes. */
function padded(message: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(Math.ceil((message.length + 9) / 64) * 64);
  bytes.set(message);
  bytes[message.length] = 0x80;
  new DataView(bytes.buffer).setBigUint64(bytes.length - 8, BigInt(message.length) * 8n);
  return bytes;
}

function compress(state: Uint32Array, blocks: DataView, start: number): void {
  const words = new Uint32Array(64);
  for (let i = 0; i < 64; i++) {
    if (i < 16) {
      words[i] = blocks.getUint32(start + 4 * i);
      continue;
    }
    const [early, late] = [at(words, i - 15), at(words, i - 2)];
    words[i] =
      at(words, i - 16) +
      (rotate(early, 7) ^ rotate(early, 18) ^ (early >>> 3)) +
      at(words, i - 7) +
      (rotate(late, 17) ^ rotate(late, 19) ^ (late >>> 10));
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
  for (let i = 0; i < 64; i++) {
    const choice = (e & f) ^ (~e & g);
    const first = (h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + choice + at(ROUNDS, i) + at(words, i)) | 0;
    const majority = (a & b) ^ (a & c) ^ (b & c);
    const second = ((rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + majority) | 0;
    [a, b, c, d, e, f, g, h] = [(first + second) | 0, a, b, c, (d + first) | 0, e, f, g];
  }
  [a, b, c, d, e, f, g, h].forEach((word, i) => (state[i] = at(state, i) + word));
}

const at = (words: ArrayLike<number>, i: number): number => words[i] ?? 0;
const rotate = (word: number, by: number): number => (word >>> by) | (word << (32 - by));

const primes: number[] = [];
for (let n = 2; primes.length < 64; n++) if (primes.every((prime) => n % prime !== 0)) primes.push(n);

/** The first 32 bits of the fractions of roots of the first primes. Doubles hold them exactly enough. */
const fraction = (root: number): number => Math.floor((root - Math.floor(root)) * 2 ** 32);
const INITIAL = primes.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)));
const ROUNDS = primes.map((prime) => fraction(Math.cbrt(prime)));
