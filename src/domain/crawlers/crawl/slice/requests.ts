import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Bell } from '../../../bell.ts';
import { NotSent } from '../../../ports/exchange.ts';
import { putBack } from '../../frontier/outcome.ts';
import type { Slot } from '../../frontier/turn/turn-input.ts';
import { takeSlotAgain } from '../../hosts/host-rows.ts';
import { withBase } from '../fetch/base-entries.ts';
import type { FetchContext } from '../fetch/fetch-context.ts';
import { fetchUrl } from '../fetch/fetch-url.ts';
import type { Ending } from './ending.ts';
import { ownFault } from './own-fault.ts';
import type { SliceOptions } from './slice-options.ts';
import { isLate, SlotQueue, type Waiting } from './slot-queue.ts';
import type { Unwritten } from './unwritten.ts';

/** Milliseconds until a process that has all its requests under way is asked for another one. */
const enterAgain = 10;

interface Parts {
  ending: Ending;
  unwritten: Unwritten;
  bell: Bell;
  context: FetchContext;
  /** An answer has come: the next is asked for at once, also while a turn waits for the database. */
  answered(): void;
}

/** The leased URLs of a slice: asks for each when its slot has come, and no more at once than there are workers. */
export class Requests {
  readonly #options: SliceOptions;
  readonly #parts: Parts;
  readonly #queue: SlotQueue;
  #inFlight = 0;
  #reading = 0;
  #preparing = 0;
  /** When the next leased URL may be asked for. */
  #slotAt = Number.POSITIVE_INFINITY;

  constructor(options: SliceOptions, parts: Parts) {
    this.#options = options;
    this.#parts = parts;
    this.#queue = new SlotQueue((host) => options.open.limitsOf(host).inFlight);
  }

  /** Leased URLs that wait for their slots, or for what is known of them. */
  get waiting(): number {
    return this.#queue.size + this.#preparing;
  }

  /** Requests whose answers are not there yet, or not read. */
  get underWay(): number {
    return this.#inFlight + this.#reading;
  }

  /** More could be asked for at once, and nothing is leased that might be. */
  get isStarved(): boolean {
    return this.waiting === 0 && this.#inFlight < this.#options.open.limits.workers;
  }

  /** When the next may begin, if it is known; milliseconds on this process's clock. */
  get slotAt(): number {
    return this.#slotAt;
  }

  /**
   * Has leased URLs asked for once it is known whether what the newest sealed snapshot holds of them is there; the next turn need not wait for
   * that.
   */
  async prepare(slots: readonly Slot[]): Promise<void> {
    if (slots.length === 0) return;
    const { blobs } = this.#options.services;
    const { outlinks } = this.#parts.context;
    this.#preparing += slots.length;
    // The database has its next turn first, and works meanwhile.
    await nextTurn();
    this.#queue.add(await withBase({ blobs, outlinks }, slots));
    this.#preparing -= slots.length;
    this.#parts.answered();
    this.#parts.bell.ring();
  }

  /** Puts back what waits for some hosts, or for all. */
  putBack(isMeant: (host: string) => boolean = () => true): void {
    for (const of of this.#queue.drop(isMeant)) this.#parts.unwritten.add(putBack(of));
  }

  /** Starts what may start. @param room how many results may still come in unwritten */
  pump(room: () => boolean): void {
    const { crawling, open } = this.#options;
    const { context } = this.#parts;
    this.#slotAt = Number.POSITIVE_INFINITY;
    while (this.#queue.size > 0 && this.#inFlight < open.limits.workers && room()) {
      const next = this.#queue.next(crawling.clock.now());
      if (next.kind === 'wait') {
        this.#slotAt = performance.now() + next.for;
        return;
      }
      if (next.kind === 'connect') void context.fetcher.connect({ url: next.waiting.of.url, policy: context.policy });
      else if (next.kind === 'late') void this.#again(next.waiting);
      else if (crawling.enter()) void this.#fetch(next.waiting);
      else {
        this.#queue.leave(next.waiting.of.host);
        this.#queue.add([next.waiting]);
        this.#slotAt = performance.now() + enterAgain;
        return;
      }
    }
  }

  async #again(waiting: Waiting): Promise<void> {
    const { services, open } = this.#options;
    this.#reading += 1;
    try {
      const em = services.orm.em.fork();
      const start = await takeSlotAgain(em, open.run.project_id, waiting.of.host, waiting.gap);
      if (start === null) this.#parts.unwritten.add(putBack(waiting.of));
      else this.#queue.add([{ ...waiting, start }]);
    } catch (err) {
      services.log.debug({ err, run: open.run.id }, 'a slot could not be taken');
      this.#parts.unwritten.add(putBack(waiting.of));
    }
    this.#reading -= 1;
    this.#parts.bell.ring();
  }

  async #fetch(waiting: Waiting): Promise<void> {
    const { of, base, start, wasSlow } = waiting;
    const { context, unwritten, bell, ending } = this.#parts;
    const { clock } = this.#options.crawling;
    const mayStart = start === 0 || wasSlow ? undefined : () => !isLate(waiting, clock.now());
    this.#inFlight += 1;
    let isUnderWay = true;
    const received = () => {
      if (!isUnderWay) return;
      isUnderWay = false;
      this.#inFlight -= 1;
      this.#reading += 1;
      this.#options.crawling.leave();
      this.#queue.leave(of.host);
      this.#parts.answered();
      bell.ring();
    };
    const outcome = await fetchUrl(context, of, base, { received, mayStart }).catch((error: unknown) =>
      error instanceof NotSent ? null : ownFault(this.#options, ending, of, error),
    );
    received();
    this.#reading -= 1;
    if (outcome === null) return this.#again({ ...waiting, wasSlow: true });
    unwritten.add(outcome);
    bell.ring();
  }
}
