import { setTimeout as sleep } from 'node:timers/promises';
import type { Services } from '../../../services.ts';
import { asUnavailable, isAway } from '../../../unavailable.ts';
import { Census } from '../../frontier/census.ts';
import { LostRun } from '../../frontier/turn/run-row.ts';
import { takeTurn } from '../../frontier/turn/turn.ts';
import type { TurnInput, TurnResult } from '../../frontier/turn/turn-input.ts';

/** Tries of a turn that fails for another reason than a database that is away. */
const mostFaults = 3;
/** Milliseconds between two tries. */
const again = 500;

/**
 * Takes a turn. A database that is away for a moment must cost nothing: the same results are written when it is back.
 * @param isOver whether there is no time to wait for it
 * @returns also the census, which was taken anew when a try was interrupted and nobody knew what had been written
 */
export async function persistTurn(
  services: Services,
  input: TurnInput,
  isOver: () => boolean,
): Promise<{ result: TurnResult; census: Census; wasInterrupted: boolean }> {
  let { census } = input;
  let wasInterrupted = false;
  for (let faults = 0; ; ) {
    try {
      const result = await takeTurn(services.orm.em.fork(), services, { ...input, census });
      return { result, census, wasInterrupted };
    } catch (thrown) {
      if (thrown instanceof LostRun) throw thrown;
      const error = asUnavailable(thrown);
      if (!isAway(error)) faults += 1;
      if (faults >= mostFaults || isOver()) throw thrown;
      services.log.warn({ err: error, run: input.run.id }, 'results of a crawl could not be written; trying again');
      wasInterrupted = true;
      await sleep(again);
      census = await Census.take(services.orm.em.fork(), input.run.id).catch(() => census);
    }
  }
}
