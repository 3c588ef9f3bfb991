import { Slots } from '../slots.ts';

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
