import { DomainError } from '../../kernel/errors.ts';
import { FairSlots } from '../../lib/fair-queue.ts';

interface SlotOptions {
  /** How many may wait; beyond they are refused. */
  waiting?: number;
  /** How many of one owner may wait. */
  waitingEach?: number;
  /** How long one waits at most, milliseconds. */
  patience?: number;
  /** Most slots one owner holds. */
  each?: number;
}

const busy = 'Too many git requests are waiting; try again shortly';

/** Slots of owners, where few may wait, and not for long. Jobs without an owner share one. */
export class Slots extends FairSlots<string> {
  readonly #options: SlotOptions;

  constructor(size: number, options: SlotOptions = {}) {
    const { each = Number.POSITIVE_INFINITY } = options;
    super(size, { keysOf: (owner) => [owner], mayHold: (owner, slots) => slots.heldBy(owner) < each });
    this.#options = options;
  }

  /** @throws DomainError `rate_limited` when too many wait, `unavailable` after a long wait; the signal's reason when it aborts meanwhile */
  protected override async wait(owner: string, signal?: AbortSignal): Promise<void> {
    const { waiting = Number.POSITIVE_INFINITY, waitingEach = waiting, patience } = this.#options;
    if (this.waiting() >= waiting || this.waiting(owner) >= waitingEach) throw new DomainError('rate_limited', busy);
    if (patience === undefined) return super.wait(owner, signal);
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(new DomainError('unavailable', busy)), patience);
    try {
      await super.wait(owner, signal ? AbortSignal.any([signal, late.signal]) : late.signal);
    } finally {
      clearTimeout(timer);
    }
  }
}
