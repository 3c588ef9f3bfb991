import type { EntityManager } from '@mikro-orm/postgresql';
import { together } from '../../../together.ts';
import { completeUrls } from '../complete.ts';
import { insertUrls } from '../insert-urls.ts';
import type { Ledger } from '../ledger.ts';
import type { Outcome } from '../outcome.ts';
import { recordUrls } from '../record.ts';
import { endRedirectLoop } from '../redirect-loops.ts';
import { urlHash } from '../url-draft.ts';
import type { TurnInput } from './turn-input.ts';

const draftsOf = (outcomes: readonly Outcome[]) => outcomes.flatMap(({ drafts }) => drafts);

/**
 * Writes outcomes with all they lead to. What they lead to is sent along with them, unless browsers have asked for more, which comes between:
 * an outcome that was written before, by a turn nobody heard the end of, leads to what is there already.
 * @returns those that still counted
 */
export async function writeOutcomes(
  em: EntityManager,
  { run, outcomes }: TurnInput,
  ledger: Promise<Ledger>,
): Promise<Outcome[]> {
  const of = { run_id: run.id, snapshot_id: run.snapshot_id, base_id: run.base_id, epoch: run.epoch };
  const isPlain = outcomes.every(({ beside }) => beside === null);
  const insert = (from: readonly Outcome[]) => insertUrls(em, run.id, draftsOf(from), ledger, run.epoch);
  const [finished, inserted] = await together([
    completeUrls(em, of, outcomes, ledger),
    isPlain ? insert(outcomes) : null,
  ]);
  const completed = isPlain ? finished : [...finished, ...(await recordUrls(em, of, finished, await ledger))];
  const known = inserted ?? (await insert(completed));
  for (const { of: from, redirect_to } of completed)
    if (redirect_to !== null && (redirect_to === from.url || known.has(urlHash(redirect_to).toString('hex'))))
      await endRedirectLoop(em, of, from.id, await ledger);
  return completed;
}
