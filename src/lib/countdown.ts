/** Milliseconds that a standstill counts for at most. */
const longest = 125;

/**
 * Acts when this process has been running for so many milliseconds. A machine that stands still for seconds stops others as well, and what they
 * have answered meanwhile is heard before the next part is counted.
 * @returns stops it
 */
export function countdown(milliseconds: number, act: () => void): () => void {
  let left = milliseconds;
  const next = (): NodeJS.Timeout => {
    const part = Math.min(left, longest);
    return setTimeout(() => {
      left -= part;
      if (left > 0) timer = next();
      else act();
    }, part);
  };
  let timer = next();
  return () => clearTimeout(timer);
}
