import { blobPaths } from '../blob-paths.ts';
import { settleJournal } from '../journal/settle-journal.ts';
import { answerJobs } from './answer-jobs.ts';
import type { SettleJob } from './settle-job.ts';

answerJobs(({ journal, root }: SettleJob): void => settleJournal(journal, blobPaths(root)));
