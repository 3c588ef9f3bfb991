import { z } from 'zod';
import { DomainError } from '../../../kernel/errors.ts';
import { maxPerPage, pageFrom, pageInput, pageOf, windowOf } from '../../../kernel/paging.ts';
import { timestamp } from '../../../kernel/shapes.ts';
import type { Commit } from '../../../ports/git-records.ts';
import { entryIn } from '../content/collection-index.ts';
import { checkAddress } from '../path-rules.ts';
import type { StudioContext } from '../studio.ts';
import { studioOperation } from '../studio-operation.ts';
import { viewOf } from '../view.ts';
import { commitOf, isOid, refInput } from './refs.ts';
import { commit } from './repository.schema.ts';

const countLimit = 10_000;
/** git counts in 32 bits; a page so far away is past any end. */
const maxSkip = 2 ** 31 - 1;
/** git knows no time before 1970. */
const gitTime = (date: Date) => new Date(Math.max(date.getTime(), 0)).toISOString();

/** Bytes of a commit as JSON, more or less; a name has a thousand characters at most, and as many parents as an object has room for. */
const sizeOf = ({ parents, message }: Commit) =>
  500 + message.length + parents.reduce((sum, parent) => sum + parent.length + 3, 0);

const roomFor = (commits: readonly Commit[], { room }: Pick<StudioContext, 'room'>) =>
  room(commits.reduce((sum, one) => sum + sizeOf(one), 0));

export const listCommits = studioOperation({
  name: 'studio.listCommits',
  kind: 'query',
  permission: 'browse_studio',
  summary: 'Commit history, newest first',
  input: z.object({
    ...pageInput,
    ...refInput,
    path: z.string().optional().describe('Only commits that touch this file or directory'),
    collection: z.string().optional(),
    slug: z.string().optional().describe('Only commits that touch this entry; needs `collection`'),
    author: z.string().max(200).optional().describe('Part of the name or e-mail'),
    since: timestamp.optional(),
    until: timestamp.optional(),
  }),
  output: pageOf(commit),
  async execute({ git, studio, tag, room }, { branch, ref, path, collection, slug, author, since, until, ...paging }) {
    const window = windowOf(paging);
    const from = window.version ?? (await commitOf(git, { branch, ref }));
    if (!from) return pageFrom([], 0, window);
    if (window.version && !(await git.isReachable(from)))
      throw new DomainError('not_found', 'after: the commit it names is gone');
    tag(`"${from}.${viewOf({ path, collection, slug, author, since, until, ...paging })}"`);
    const paths = path === undefined ? [] : [checkAddress('path', path)];
    if (slug !== undefined && collection === undefined)
      throw new DomainError('invalid_request', 'slug: needs collection');
    if (collection !== undefined) {
      const site = await studio.content.site(git, await git.snapshot(from));
      const index = site.collection(collection);
      paths.push(slug === undefined ? index.schema.path || '.' : entryIn(index, slug).path);
    }
    const query = {
      from,
      ...(paths.length > 0 && { paths }),
      ...(author !== undefined && { author }),
      ...(since && { since: gitTime(since) }),
      ...(until && { until: gitTime(until) }),
    };
    const [commits, total] = await Promise.all([
      git.log({ ...query, skip: Math.min(window.offset, maxSkip), limit: window.limit }),
      git.countCommits({ ...query, limit: countLimit }),
    ]);
    await roomFor(commits, { room });
    return pageFrom(commits, total, window, from);
  },
});

export const getCommits = studioOperation({
  name: 'studio.getCommits',
  kind: 'query',
  permission: 'browse_studio',
  notInSteps: true,
  summary: 'Commits by their ids, in the order of the input',
  input: z.object({ shas: z.array(z.string()).max(maxPerPage, `must be at most ${maxPerPage}`) }),
  output: z.array(commit),
  async execute({ git, room }, { shas }) {
    const heads = new Set((await git.branches()).map((ref) => ref.oid));
    const commits = await Promise.all(
      shas.map(async (sha) => {
        if (heads.has(sha) || (isOid(sha) && (await git.isReachable(sha)))) return git.commit(sha);
        throw new DomainError('not_found', `shas: ${sha} is not the full id of a commit that can be reached`);
      }),
    );
    await roomFor(commits, { room });
    return commits;
  },
});
