import { DomainError } from '../../../../kernel/errors.ts';
import type { Services } from '../../../../kernel/services.ts';
import { forEachConcurrently } from '../../../../lib/concurrency.ts';
import type { Sha256 } from '../../../../ports/blobs.ts';
import { isEncodable, readManifest } from '../manifest.ts';

/** Files requested at the same time, so that the next one is there when one is done. */
const together = 2;

/**
 * Compresses published files in the background, one output after another: publishing does not wait for it, and until it is done they are
 * sent as they are. What a crash leaves undone is found by the next publication of the same file, or by the nightly look.
 */
export class Encodings {
  readonly #waiting = new Set<Sha256>();
  readonly #closing = new AbortController();
  #work: Promise<void> | null = null;

  /** Queues the files of an output for compression; files that are compressed already cost one look-up. */
  add(services: Pick<Services, 'blobs' | 'log'>, manifest: Sha256): void {
    if (this.#closing.signal.aborted) return;
    this.#waiting.add(manifest);
    this.#work ??= this.#run(services);
  }

  /** Resolves when nothing waits. */
  async settled(): Promise<void> {
    while (this.#work) await this.#work;
  }

  /** Ends after the files in hand. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.settled();
  }

  async #run({ blobs, log }: Pick<Services, 'blobs' | 'log'>): Promise<void> {
    const { signal } = this.#closing;
    for (const digest of this.#waiting) {
      try {
        const files = (await readManifest(blobs, digest)).filter(isEncodable);
        await forEachConcurrently(files, together, async ([, sha256]) => {
          if (!signal.aborted) await blobs.encode(sha256);
        });
      } catch (err) {
        const isGone = err instanceof DomainError && err.code === 'not_found';
        log[isGone ? 'debug' : 'warn']({ err, output: digest }, 'published files were not all compressed');
      }
      this.#waiting.delete(digest);
    }
    this.#work = null;
  }
}

/** Why a run ends before its time: somebody cancelled it, the server stops, or another worker has taken it over. */
export type StopReason = 'cancelled' | 'stopping' | 'lost';

/** The deployments that run in this process. */
export class Building {
  readonly #running = new Map<number, { stop: AbortController; done: Promise<void> }>();
  #closing = false;
  /** What is done to their outputs afterwards. */
  readonly encodings = new Encodings();

  get closing(): boolean {
    return this.#closing;
  }

  /** Runs one; `work` gets a signal whose reason is a `StopReason`. */
  async run(
    id: number,
    work: (signal: AbortSignal, stop: (reason: StopReason) => void) => Promise<void>,
  ): Promise<void> {
    const stop = new AbortController();
    const done = work(stop.signal, (reason) => stop.abort(reason));
    this.#running.set(id, { stop, done: done.catch(() => {}) });
    await done.finally(() => this.#running.delete(id));
  }

  /** Ends a deployment if it runs here; elsewhere its worker reads of it within a second. */
  cancel(id: number): void {
    this.#running.get(id)?.stop.abort('cancelled' satisfies StopReason);
  }

  /** Ends all running deployments; the next process begins them again. */
  async close(): Promise<void> {
    this.#closing = true;
    for (const { stop } of this.#running.values()) stop.abort('stopping' satisfies StopReason);
    await Promise.all([...this.#running.values()].map(({ done }) => done));
    await this.encodings.close();
  }
}
