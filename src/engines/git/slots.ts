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

/** A slot that can be lent to others for a while. */
export interface Lendable {
  /** True from `regain` until it has the slot again. */
  readonly isWaiting: boolean;
  /** Gives the slot to others. */
  lend(): void;
  /**
   * Has the slot again once one is free; at once when it was not lent. Throws the reason of either signal, this or that of the job, that aborts
   * meanwhile.
   */
  regain(gone: AbortSignal): Promise<void>;
}

/** Jobs of one kind at once, of which each client has at most half: what one client keeps busy is never all there is. */
export class Lane {
  readonly #slots: Slots;

  constructor(size: number) {
    this.#slots = new Slots(size, { each: Math.ceil(size / 2) });
  }

  /** Runs the job when a slot is free; the job may lend it while it stands still. */
  async run<T>(client: string, signal: AbortSignal, job: (slot: Lendable) => Promise<T>): Promise<T> {
    let release: (() => void) | null = await this.#slots.take(client, signal);
    let isWaiting = false;
    const slot: Lendable = {
      get isWaiting() {
        return isWaiting;
      },
      lend() {
        release?.();
        release = null;
      },
      regain: async (gone) => {
        if (release !== null) return;
        isWaiting = true;
        try {
          release = await this.#slots.take(client, AbortSignal.any([signal, gone]));
        } finally {
          isWaiting = false;
        }
      },
    };
    try {
      return await job(slot);
    } finally {
      slot.lend();
    }
  }
}
