import { DomainError } from '../kernel/errors.ts';
import type { Transactions } from '../kernel/services.ts';
import { KeyedSemaphore } from '../lib/concurrency.ts';

/** How long a command waits for its transaction, milliseconds: as long as for a connection. */
const patience = 10_000;

const share = (connections: number, of: number) => Math.max(1, Math.floor(connections * of));

/**
 * Bounds the transactions of commands. One that waits for a row keeps its connection for as long as those before it take, so a caller gets three
 * tenths of all connections and an organisation half: what one of them sends at the same time waits without one, and keeps out no other.
 */
export class TransactionLimit implements Transactions {
  readonly #callers: KeyedSemaphore;
  readonly #organizations: KeyedSemaphore;

  /** @param connections what the pool has */
  constructor(connections: number) {
    this.#callers = new KeyedSemaphore(share(connections, 0.3));
    this.#organizations = new KeyedSemaphore(share(connections, 0.5));
  }

  run<Result>(
    { actor, organization }: Parameters<Transactions['run']>[0],
    work: () => Promise<Result>,
  ): Promise<Result> {
    const began = performance.now();
    const timely = async () => {
      if (performance.now() - began > patience)
        throw new DomainError('unavailable', 'Too much is being changed at the moment; try again in a few seconds');
      return work();
    };
    return this.#callers.run(actor, () => this.#organizations.run(String(organization ?? ''), timely));
  }
}
