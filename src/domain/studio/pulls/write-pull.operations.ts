import { DomainError, fieldError } from '../../../kernel/errors.ts';
import { defined } from '../../../lib/objects.ts';
import type { Oid } from '../../../ports/git-records.ts';
import { holdProject } from '../../projects/project-ref.ts';
import { headOf } from '../merge/write-merge.ts';
import { checkRefName } from '../ref-name.ts';
import type { StudioContext } from '../studio.ts';
import { studioOperation } from '../studio-operation.ts';
import { isMerging } from './claim-merge.ts';
import { Pull, pullBaseRef, pullRef } from './pull.entity.ts';
import { checkTag, findPull, headsOf, showPull } from './pull-record.ts';
import { pull, pullChange, pullDraft } from './pulls.schema.ts';

type Context = StudioContext;
type Pair = { head: string; base: string };

/** @throws DomainError `nothing_to_merge`, `no_common_ancestor` */
async function checkProposal({ git }: Pick<StudioContext, 'git'>, head: Oid, base: Oid): Promise<void> {
  if ((await git.mergeBase(base, head)) === null)
    throw new DomainError('no_common_ancestor', 'head: has no commit in common with the base');
  if (await git.isAncestor(head, base)) throw fieldError('nothing_to_merge', 'head', 'has nothing the base lacks');
}

/**
 * Holds the project's row until the transaction ends, so that numbers are taken and pairs opened one after another.
 * @throws DomainError `already_exists` when a pull request of the same branches is open.
 */
async function lockPulls({ em, project }: Pick<StudioContext, 'em' | 'project'>, { head, base }: Pair): Promise<void> {
  await holdProject(em, project.id);
  const open = await em.findOne(Pull, { project_id: project.id, head_branch: head, base_branch: base, state: 'open' });
  if (!open) return;
  throw new DomainError('already_exists', `head: pull request ${open.number} of these branches is open`, {
    details: { number: open.number },
  });
}

/**
 * Does what holds rows in a transaction of its own, by the rights of now. What is shown of a pull request is found out after it: to merge its
 * branches and to count their lines takes as long as they are large, and all that is opened in the project would wait for that.
 */
function inTransaction<Result>(context: Context, work: (within: Context) => Promise<Result>): Promise<Result> {
  const { em, services, actor, organization } = context;
  return services.transactions.run({ actor: actor.id, organization: organization.id }, () =>
    em.transactional(async (fork) => {
      await context.renewed(fork);
      return work({ ...context, em: fork });
    }),
  );
}

export const createPull = studioOperation({
  name: 'studio.createPull',
  kind: 'command',
  effect: 'external',
  permission: 'edit_studio',
  givesTag: true,
  summary: 'Create pull request',
  input: pullDraft,
  output: pull,
  audit: (_input, output) => ({ type: 'pull', id: output ? String(output.number) : null }),
  async execute(context, { title, body, draft, ...branches }) {
    const { git, services, project, actor } = context;
    const head = checkRefName('head', branches.head);
    const base = branches.base === undefined ? await git.defaultBranch() : checkRefName('base', branches.base);
    const [head_sha, base_sha] = [await headOf(context, 'head', head), await headOf(context, 'base', base)];
    await checkProposal(context, head_sha, base_sha);
    const opened = await inTransaction(context, async ({ em }) => {
      await lockPulls({ em, project }, { head, base });
      const [last] = await em.find(Pull, { project_id: project.id }, { orderBy: { number: 'desc' }, limit: 1 });
      const now = services.clock.now();
      const row = em.create(Pull, {
        project_id: project.id,
        number: (last?.number ?? 0) + 1,
        title,
        body,
        state: 'open',
        draft,
        head_branch: head,
        base_branch: base,
        head_sha,
        base_sha,
        author_id: actor.id,
        author_name: actor.author.name,
        version: 1,
        created_at: now,
        updated_at: now,
      });
      await em.persist(row).flush();
      // Of a transaction that is rolled back a ref is left that the next pull request of this number moves.
      await git.updateRefs([
        { name: pullRef(row.number), to: head_sha },
        { name: pullBaseRef(row.number), to: base_sha },
      ]);
      return row;
    });
    return showPull(context, opened, true);
  },
});

export const updatePull = studioOperation({
  name: 'studio.updatePull',
  kind: 'command',
  effect: 'external',
  permission: 'edit_studio',
  comparesTag: true,
  givesTag: true,
  summary: 'Change, close or reopen a pull request',
  input: pullChange,
  output: pull,
  audit: ({ number }) => ({ type: 'pull', id: String(number) }),
  async execute(context, { number, state, ...change }) {
    const { services, conditions, project } = context;
    const changed = await inTransaction(context, async (within) => {
      const { em } = within;
      await em.execute('select id from pull where project_id = ? and number = ? for update', [project.id, number]);
      const row = await findPull(within, number);
      checkTag(conditions.if_match, row, await headsOf(within, row));
      if (isMerging(row, await services.sharedClock.now(em)))
        throw new DomainError('busy', `Pull request ${number} is being merged`);
      if (state !== undefined && state !== row.state) await moveTo(within, row, state);
      em.assign(row, { ...defined(change), updated_at: services.clock.now(), version: row.version + 1 });
      await em.flush();
      return row;
    });
    return showPull(context, changed, true);
  },
});

/** Closes an open pull request or opens a closed one; a merged one stays so. */
async function moveTo(context: Context, row: Pull, state: 'open' | 'closed'): Promise<void> {
  const { git, services } = context;
  if (row.state === 'merged') throw new DomainError('not_mergeable', `Pull request ${row.number} has been merged`);
  if (state === 'open') {
    const head = await headOf(context, 'head', row.head_branch);
    await checkProposal(context, head, await headOf(context, 'base', row.base_branch));
    await lockPulls(context, { head: row.head_branch, base: row.base_branch });
    Object.assign(row, { state, closed_at: null });
    return;
  }
  const { head, base, live } = await headsOf(context, row);
  await git.updateRefs([
    { name: pullRef(row.number), to: head },
    // Of a branch that has gone the commit may be gone too.
    ...(live ? [{ name: pullBaseRef(row.number), to: base }] : []),
  ]);
  Object.assign(row, { state, head_sha: head, base_sha: base, closed_at: services.clock.now() });
}
