import type { Services } from '../../../services.ts';
import type { Hold } from '../checkpoints/checkpoint.ts';
import { hearWord } from '../claim.ts';
import type { Journal } from '../journal/journal.ts';
import { readStepRows } from '../step-rows.ts';
import { Fenced } from './fenced.ts';

/** Takes in what others have written to an execution while it is advanced: the answers of people. @throws Fenced */
export async function hearAnswers(
  { orm, blobs }: Pick<Services, 'orm' | 'blobs'>,
  hold: Hold,
  journal: Journal,
): Promise<void> {
  const em = orm.em.fork();
  if (!(await hearWord(em, hold))) throw new Fenced();
  const written = await readStepRows(em, { blobs }, [hold.id]);
  for (const row of written.get(hold.id) ?? []) {
    const run = journal.runs.get(row.path);
    if (run?.waits_for?.kind === 'input' && row.status === 'completed') Object.assign(run, row);
  }
}
