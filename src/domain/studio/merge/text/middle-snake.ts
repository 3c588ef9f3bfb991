/** A part of two sequences: `[oldStart, oldEnd)` of one against `[newStart, newEnd)` of the other. */
export interface Box {
  oldStart: number;
  oldEnd: number;
  newStart: number;
  newEnd: number;
}

/** Integer square root to the next power of two, enough to grow a bound with the size of its input. */
export function roughRoot(size: number): number {
  let root = 1;
  for (let rest = size; rest > 0; rest >>= 2) root <<= 1;
  return root;
}

const fewestSteps = 256;
/** Diagonals looked at for one pair of texts: a fraction of a second, far beyond what edits of one text need. */
const mostWork = 2 ** 23;

/**
 * Finds the point where a shortest edit script between two sequences passes its middle: "An O(ND) Difference Algorithm"
 * (Myers 1986), section 4b, searched from both ends at once. Diagonal k holds the points with old - new = k.
 *
 * Ties are broken as git does, so that ambiguous texts are cut alike. Where the sequences differ in more than `limit` places the
 * furthest point reached is returned: the script is then longer than needed, but the time is bounded.
 */
export class SnakeFinder {
  readonly #old: Int32Array;
  readonly #new: Int32Array;
  /** Furthest old position per diagonal, seen from the start and from the end; `#zero` is diagonal 0. */
  readonly #ahead: Int32Array;
  readonly #back: Int32Array;
  readonly #zero: number;
  readonly #limit: number;
  #work = 0;

  constructor(old: Int32Array, fresh: Int32Array) {
    const diagonals = old.length + fresh.length + 3;
    this.#old = old;
    this.#new = fresh;
    this.#ahead = new Int32Array(diagonals + 2);
    this.#back = new Int32Array(diagonals + 2);
    this.#zero = fresh.length + 2;
    this.#limit = Math.max(roughRoot(diagonals), fewestSteps);
  }

  /**
   * @param box neither side empty, and neither first nor last lines alike.
   * @returns null when the texts have cost so much that the box is better called changed from end to end.
   */
  find(box: Box): [old: number, fresh: number] | null {
    if (this.#work > mostWork) return null;
    const [ahead, back, zero] = [this.#ahead, this.#back, this.#zero];
    const { oldStart, oldEnd, newStart, newEnd } = box;
    const [lowest, highest] = [oldStart - newEnd, oldEnd - newStart];
    const [first, last] = [oldStart - newStart, oldEnd - newEnd];
    const odd = ((first - last) & 1) !== 0;
    let [aheadLow, aheadHigh, backLow, backHigh] = [first, first, last, last];
    ahead[zero + first] = oldStart;
    back[zero + last] = oldEnd;
    for (let steps = 1; ; steps++) {
      this.#work += aheadHigh - aheadLow + backHigh - backLow;
      if (aheadLow > lowest) ahead[zero + --aheadLow - 1] = -1;
      else aheadLow++;
      if (aheadHigh < highest) ahead[zero + ++aheadHigh + 1] = -1;
      else aheadHigh--;
      for (let k = aheadHigh; k >= aheadLow; k -= 2) {
        const at = this.#stepAhead(k, box);
        if (odd && backLow <= k && k <= backHigh && (back[zero + k] as number) <= at) return [at, at - k];
      }
      if (backLow > lowest) back[zero + --backLow - 1] = unreached;
      else backLow++;
      if (backHigh < highest) back[zero + ++backHigh + 1] = unreached;
      else backHigh--;
      for (let k = backHigh; k >= backLow; k -= 2) {
        const at = this.#stepBack(k, box);
        if (!odd && aheadLow <= k && k <= aheadHigh && at <= (ahead[zero + k] as number)) return [at, at - k];
      }
      if (steps >= this.#limit) return this.#furthest(box, [aheadLow, aheadHigh], [backLow, backHigh]);
    }
  }

  // Positions in the typed arrays are within bounds by construction, hence the casts.
  #stepAhead(k: number, { oldEnd, newEnd }: Box): number {
    const [below, above] = [this.#ahead[this.#zero + k - 1] as number, this.#ahead[this.#zero + k + 1] as number];
    let old = below >= above ? below + 1 : above;
    while (old < oldEnd && old - k < newEnd && this.#old[old] === this.#new[old - k]) old++;
    this.#ahead[this.#zero + k] = old;
    return old;
  }

  #stepBack(k: number, { oldStart, newStart }: Box): number {
    const [below, above] = [this.#back[this.#zero + k - 1] as number, this.#back[this.#zero + k + 1] as number];
    let old = below < above ? below : above - 1;
    while (old > oldStart && old - k > newStart && this.#old[old - 1] === this.#new[old - k - 1]) old--;
    this.#back[this.#zero + k] = old;
    return old;
  }

  #furthest(box: Box, aheadRange: [number, number], backRange: [number, number]): [number, number] {
    let forward: [number, number] = [box.oldStart, box.newStart];
    for (let k = aheadRange[1]; k >= aheadRange[0]; k -= 2) {
      const fresh = Math.min(Math.min(this.#ahead[this.#zero + k] as number, box.oldEnd) - k, box.newEnd);
      if (fresh + k + fresh > forward[0] + forward[1]) forward = [fresh + k, fresh];
    }
    let backward: [number, number] = [box.oldEnd, box.newEnd];
    for (let k = backRange[1]; k >= backRange[0]; k -= 2) {
      const fresh = Math.max(Math.max(this.#back[this.#zero + k] as number, box.oldStart) - k, box.newStart);
      if (fresh + k + fresh < backward[0] + backward[1]) backward = [fresh + k, fresh];
    }
    const gained = forward[0] + forward[1] - box.oldStart - box.newStart;
    return box.oldEnd + box.newEnd - backward[0] - backward[1] < gained ? forward : backward;
  }
}

const unreached = 0x7fffffff;
