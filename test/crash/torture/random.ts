/** Random numbers from 0 (inclusive) to 1 (exclusive) that a seed repeats: xorshift with a multiplication. */
export function randomOf(seed: number): () => number {
  let state = seed | 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (Math.imul(state, 0x9e3779b1) >>> 0) / 2 ** 32;
  };
}
