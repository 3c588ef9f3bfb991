// Which execution kills its processes, when many act in each? What was acting in a process that died is a suspect. The suspects of a process act
// in a group beside all other work, one at first and more while none of them kills it. A group that dies halves: each of its members may act
// from then on in groups of half that size at most, until it acts alone. Only the loss of one that acted alone counts, so no bystander is blamed,
// and one that kills every process it acts in is alone after few losses. A checkpoint clears a suspect: it is an execution like others again.

/** Suspects that act at the same time at most in one process. */
export const largestGroup = 32;

/** How often an execution may have been taken up and lost before it is suspected though it was not seen to act. */
const mostTaken = 5;

/** How long a group acts without a loss before it may have twice as many members, though none is cleared; milliseconds. */
const trial = 3_000;

/** `waiting` for its turn, or `acting`; null: no suspect. */
export type Suspicion = 'waiting' | 'acting' | null;

/** An execution that was lost with its process. */
export interface LostExecution {
  attempt: number;
  /** A step of it was noted as acting on the outside or on the project; otherwise it had only been taken up. */
  has_acted: boolean;
  suspect: Suspicion;
  /** Suspects of a group it may be a member of at most; null: nothing is known against it beside that it is one. */
  suspect_group: number | null;
}

/** What becomes of it. */
export type Loss<T extends LostExecution> = T & {
  /** It was under way; otherwise it only waited for its turn. */
  wasActing: boolean;
  /** It counts against this execution. */
  counts: boolean;
};

/**
 * Which executions were acting in a process that died, and whether its end counts against one: the suspect that acted alone, or the only
 * execution that acted. What had only been taken up did not act and is not suspected, whether others acted or none did: a process that is
 * killed while it starts leaves hundreds of those. One that was taken up and lost time and again is suspected after all, since something may
 * kill its processes before a step of it is noted; so is one that was all its process had.
 */
export function lossesOf<T extends LostExecution>(rows: readonly T[]): Loss<T>[] {
  const moved = rows.filter(({ suspect }) => suspect !== 'waiting');
  const group = moved.filter(({ suspect }) => suspect === 'acting').length;
  const hasActed = (row: T) => row.has_acted || row.suspect === 'acting' || moved.length === 1;
  const acting = moved.filter((row) => hasActed(row) || row.attempt > mostTaken);
  return rows.map((row) => {
    const wasActing = acting.includes(row);
    const wasOnly = acting.length === 1 && hasActed(row);
    const counts = wasActing && (row.suspect === 'acting' ? group === 1 : wasOnly);
    return { ...row, suspect_group: groupAfter(row, { counts, group }), wasActing, counts };
  });
}

function groupAfter({ suspect, suspect_group }: LostExecution, { counts, group }: { counts: boolean; group: number }) {
  if (counts) return 1;
  if (suspect !== 'acting') return suspect_group;
  return Math.max(1, Math.floor(Math.min(group, suspect_group ?? largestGroup) / 2));
}

type Member = { id: string; suspect_group?: number | null | undefined };

const limitOf = ({ suspect_group }: Member): number => suspect_group ?? largestGroup;

/** The suspects one process holds: whose turn it is, and who waits. */
export class Suspects<T extends Member> {
  /** Those that may only act in small groups first, and of the same ones those accepted first. */
  #waiting: T[] = [];
  readonly #acting = new Map<string, T>();
  /** How many may act at the same time, as far as no member may act among fewer only. */
  #size = 1;
  /** When the group last grew, or had its first member. */
  #grown = 0;
  readonly #now: () => number;

  /** @param now milliseconds of a clock that nobody sets */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Those that wait for their turn. */
  get waiting(): readonly T[] {
    return this.#waiting;
  }

  /** Holds suspects until it is their turn. */
  add(rows: readonly T[]): void {
    this.#waiting = [...this.#waiting, ...rows].sort((a, b) => limitOf(a) - limitOf(b) || (a.id < b.id ? -1 : 1));
  }

  /** @returns the next one whose turn it is, which acts from then on; null: none may act now */
  next(): T | null {
    const [first] = this.#waiting;
    if (first === undefined) return null;
    this.#growInTime();
    const most = Math.min(this.#size, limitOf(first), ...[...this.#acting.values()].map(limitOf));
    if (this.#acting.size >= most) return null;
    this.#waiting.shift();
    if (this.#acting.size === 0) this.#grown = this.#now();
    this.#acting.set(first.id, first);
    return first;
  }

  /**
   * Ends the turn of one that acted.
   * @param isCleared it has come past a checkpoint, and so has proved that more may act at the same time
   * @returns false: it had no turn
   */
  end(row: T, isCleared: boolean): boolean {
    if (this.#acting.get(row.id) !== row) return false;
    this.#acting.delete(row.id);
    if (isCleared) this.#grow(this.#size + 1);
    // Who comes later comes from another loss.
    if (this.#acting.size === 0 && this.#waiting.length === 0) this.#size = 1;
    return true;
  }

  /** Takes one away that waits. */
  remove(id: string): void {
    this.#waiting = this.#waiting.filter((row) => row.id !== id);
  }

  /** Takes away all that wait. */
  clear(): T[] {
    return this.#waiting.splice(0);
  }

  /** Long calls keep suspects from being cleared, and what waits behind them need not wait for all of them one after another. */
  #growInTime(): void {
    if (this.#acting.size > 0 && this.#now() - this.#grown >= trial) this.#grow(2 * this.#size);
  }

  #grow(size: number): void {
    this.#size = Math.min(size, largestGroup);
    this.#grown = this.#now();
  }
}
