import { Turns } from '../lib/turns.ts';
import { DomainError } from './errors.ts';

/** How long a command waits for its turn, milliseconds: as long as for a connection. */
const patience = 10_000;

const share = (connections: number, of: number) => Math.max(1, Math.floor(connections * of));

/**
 * Which commands have a transaction. One that waits for a row keeps its connection for as long as those before it take, so of all connections a
 * caller gets three tenths and an organisation half: what one of them sends at the same time waits without one, and keeps out no other.
 */
export class TransactionTurns {
  readonly #callers: Turns;
  readonly #organizations: Turns;

  /** @param connections what the pool has */
  constructor(connections: number) {
    this.#callers = new Turns(share(connections, 0.3));
    this.#organizations = new Turns(share(connections, 0.5));
  }

  /** @throws DomainError `unavailable` after ten seconds without a turn */
  run<Result>(
    { actor, organization }: { actor: string; organization: number | null },
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
