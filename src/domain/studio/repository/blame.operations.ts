/**
 * The last change of each line of a file, by ranges of lines, so that no file is too long to begin with. Answers are remembered by the commit that last
 * changed the file, which stays the same while others are changed; one for which time was over, for a minute.
 */
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { DomainError, fieldError } from '../../../kernel/errors.ts';
import { timeText } from '../../../kernel/shapes.ts';
import type { Repository } from '../../../ports/git.ts';
import type { Blame, BlameQuery, Oid, Snapshot } from '../../../ports/git-records.ts';
import { checkAddress, checkStoredPath } from '../path-rules.ts';
import type { StudioContext } from '../studio.ts';
import { studioOperation } from '../studio-operation.ts';
import { viewOf } from '../view.ts';
import { refInput, snapshotOf } from './refs.ts';

/** Largest file, bytes: git reads all its versions. */
const maxBytes = 5 * 1024 * 1024;
const mostLines = 5_000;
/** How long git may search for one answer, milliseconds. */
const searchTime = 10_000;
/** Characters of a commit's first line. */
const longestTitle = 200;

const known = new LRUCache<string, Blame>({
  max: 1_000,
  maxSize: 500_000,
  sizeCalculation: ({ lines }) => lines.length + 1,
});
const incompleteFor = 60_000;

const commitOfLines = z
  .object({
    sha: z.string(),
    title: z.string().describe('First line of the message'),
    author: z.object({ name: z.string(), email: z.string(), date: timeText }).meta({ id: 'LineAuthor' }),
  })
  .meta({ id: 'LineCommit' });

const blame = z
  .object({
    path: z.string(),
    sha: z.string().describe('Object id of the file'),
    total_lines: z.int32(),
    complete: z.boolean().describe('false: the search took too long; lines without a range are from older commits'),
    ranges: z
      .array(z.object({ first: z.int32(), last: z.int32(), commit: commitOfLines }).meta({ id: 'LineRange' }))
      .describe('Lines from 1 on, both included, with the commit they are from'),
  })
  .meta({ id: 'Blame' });

/** git counts what follows the last line feed as a line unless it is empty. */
function countLines(content: Buffer): number {
  let lines = content.length > 0 && content.at(-1) !== 10 ? 1 : 0;
  for (let at = content.indexOf(10); at !== -1; at = content.indexOf(10, at + 1)) lines += 1;
  return lines;
}

/** The text of a file. @throws DomainError `not_found`, `too_large`, `validation_failed` for what has no lines */
async function textAt(git: Repository, snapshot: Snapshot, path: string): Promise<{ oid: Oid; content: Buffer }> {
  const { entry } = await snapshot.lookup(path);
  if (!entry) checkStoredPath('path', path);
  if (!entry || entry.mode === '40000' || entry.mode === '160000')
    throw new DomainError('not_found', `path: ${path} is not a file`);
  const [size] = await git.sizes([entry.oid]);
  if ((size ?? 0) > maxBytes)
    throw fieldError('too_large', 'path', `the file has ${size} bytes; the changes of at most ${maxBytes} are found`);
  const content = await snapshot.blob(entry.oid);
  if (content.includes(0)) throw fieldError('validation_failed', 'path', `${path} is not text and has no lines`);
  return { oid: entry.oid, content };
}

/** The commit from which on nothing has changed the file: its history is that of the commit that is read. */
async function lastChange(
  { git, studio }: Pick<StudioContext, 'git' | 'studio'>,
  commit: Oid,
  path: string,
  oid: Oid,
): Promise<Oid> {
  const last = (await studio.content.lastCommits(git, commit, [path])).get(path)?.sha;
  if (last === undefined) return commit;
  const { entry } = await (await git.snapshot(last)).lookup(path);
  return entry?.oid === oid ? last : commit;
}

async function search(git: Repository, query: BlameQuery): Promise<Blame> {
  const key = [git.id, query.commit, query.first, query.last, query.path].join(':');
  const found = known.get(key);
  if (found) return found;
  const answer = await git.blame(query, searchTime);
  known.set(key, answer, answer.isComplete ? {} : { ttl: incompleteFor });
  return answer;
}

export const blameFile = studioOperation({
  name: 'studio.blameFile',
  kind: 'query',
  permission: 'browse_studio',
  summary: 'Last change of each line of a file',
  input: z.object({
    ...refInput,
    path: z.string(),
    first: z.int32().min(1, 'must be at least 1').default(1).describe('First line'),
    lines: z
      .int32()
      .min(1, 'must be at least 1')
      .max(mostLines, `must be at most ${mostLines}`)
      .default(1_000)
      .describe('Number of lines'),
  }),
  output: blame,
  async execute(context, { path: requested, first, lines, ...at }) {
    const { git, tag } = context;
    const path = checkAddress('path', requested);
    const snapshot = await snapshotOf(git, at);
    const { oid, content } = await textAt(git, snapshot, path);
    const total_lines = countLines(content);
    const last = Math.min(total_lines, first + lines - 1);
    if (snapshot.commit === null || first > last) return { path, sha: oid, total_lines, complete: true, ranges: [] };
    const commit = await lastChange(context, snapshot.commit, path, oid);
    const found = await search(git, { commit, path, first, last });
    if (found.isComplete) tag(`"${oid}.${viewOf({ path, commit, first, last })}"`);
    const commits = new Map<Oid, z.output<typeof commitOfLines>>();
    for (const sha of new Set(found.lines.map((line) => line.commit))) {
      const { message, author } = await git.commit(sha);
      commits.set(sha, { sha, title: (message.split('\n', 1)[0] ?? '').slice(0, longestTitle), author });
    }
    const ranges = found.lines.flatMap((line) => {
      const commit = commits.get(line.commit);
      return commit ? [{ first: line.first, last: line.last, commit }] : [];
    });
    return { path, sha: oid, total_lines, complete: found.isComplete, ranges };
  },
});
