import type { EntityManager } from '@mikro-orm/postgresql';
import { completeUrls } from '../complete.ts';
import { insertUrls } from '../insert-urls.ts';
import type { Ledger } from '../ledger.ts';
import type { Outcome } from '../outcome.ts';
import { recordUrls } from '../record.ts';
import { endRedirectLoop } from '../redirect-loops.ts';
import { urlHash } from '../url-draft.ts';
import type { TurnInput } from './turn-input.ts';

/** Writes outcomes with all they lead to. @returns those that still counted */
export async function writeOutcomes(
  em: EntityManager,
  { run, outcomes }: TurnInput,
  ledger: Ledger,
): Promise<Outcome[]> {
  const of = { run_id: run.id, snapshot_id: run.snapshot_id };
  const finished = await completeUrls(em, of, outcomes, ledger);
  const completed = [...finished, ...(await recordUrls(em, of, finished, ledger))];
  const drafts = completed.flatMap((outcome) => outcome.drafts);
  const known = await insertUrls(em, run.id, drafts, ledger);
  for (const { of: from, redirect_to } of completed)
    if (redirect_to !== null && (redirect_to === from.url || known.has(urlHash(redirect_to).toString('hex'))))
      await endRedirectLoop(em, of, from.id, ledger);
  return completed;
}
