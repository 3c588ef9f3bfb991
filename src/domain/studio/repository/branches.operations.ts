import { z } from 'zod';
import { DomainError, fieldError } from '../../../kernel/errors.ts';
import { maxPerPage, pageFrom, pageInput, pageOf, windowOf } from '../../../kernel/paging.ts';
import { lookedUp } from '../../../kernel/shapes.ts';
import { filterYielding, KeyedSemaphore } from '../../../lib/concurrency.ts';
import type { Repository } from '../../../ports/git.ts';
import type { Oid } from '../../../ports/git-records.ts';
import { holdProject } from '../../projects/project-ref.ts';
import { namesOid } from '../changes/write-rules.ts';
import { Draft } from '../drafts/draft.entity.ts';
import { Environment } from '../environments/environment.entity.ts';
import { foldText } from '../frontmatter/words.ts';
import { deleteWithPulls, openPullsFrom } from '../pulls/open-pulls.ts';
import type { Pull } from '../pulls/pull.entity.ts';
import { checkNewRefName, checkRefName, RefNames } from '../ref-name.ts';
import { studioOperation } from '../studio-operation.ts';
import { isRescued } from '../upstream/rescued.ts';
import { viewOf } from '../view.ts';
import { branchRecord, branchRecords, type Head, headsOf } from './branch-record.ts';
import { checkNewBranch, isProtected } from './branch-rules.ts';
import { commitNamed, isOid } from './refs.ts';
import { branch, branchDraft } from './repository.schema.ts';

export const listBranches = studioOperation({
  name: 'studio.listBranches',
  kind: 'query',
  permission: 'browse_studio',
  summary: 'List branches, the default one first',
  input: z.object({
    ...pageInput,
    q: z.string().max(200).optional().describe('Part of the name'),
    compare: z.boolean().optional().describe('Adds ahead_by and behind_by'),
  }),
  output: pageOf(branch),
  async execute(context, { q, compare, ...paging }) {
    const window = windowOf(paging);
    const main = await context.git.defaultBranch();
    const wanted = q === undefined ? null : foldText(q);
    const all = await headsOf(context);
    const found = wanted === null ? all : await filterYielding(all, ({ name }) => foldText(name).includes(wanted));
    const [first, others] = [found.filter(({ name }) => name === main), found.filter(({ name }) => name !== main)];
    const heads = [...first, ...others];
    const page = heads.slice(window.offset, window.offset + window.limit);
    return pageFrom(await branchRecords(context, page, { compare }), heads.length, window);
  },
});

export const getBranch = studioOperation({
  name: 'studio.getBranch',
  kind: 'query',
  permission: 'browse_studio',
  notInSteps: true,
  summary: 'Get one branch',
  input: z.object({
    name: z.string(),
    compare: z.boolean().optional().describe('Adds ahead_by and behind_by'),
  }),
  output: branch,
  async execute(context, { name, compare }) {
    const oid = await context.git.head(checkRefName('name', name));
    if (!oid) throw new DomainError('not_found', `name: branch ${name} does not exist`);
    const record = await branchRecord(context, { name, oid }, { compare });
    context.tag(`"${oid}.${viewOf(record)}"`);
    return record;
  },
});

export const readBranchRules = studioOperation({
  name: 'studio.readBranchRules',
  kind: 'query',
  permission: 'browse_studio',
  notInSteps: true,
  summary: 'What holds for a branch of a name, whether it exists or not',
  input: z.object({ name: lookedUp }),
  output: z.object({
    default: z.boolean(),
    protected: z.boolean(),
    environment: z.string().nullable().describe('Name of a production environment that deploys each of its commits'),
  }),
  async execute({ em, git, project }, { name }) {
    const following = { project_id: project.id, branch: name, type: 'production', auto_deploy: true } as const;
    const environment = await em.findOne(Environment, following, { fields: ['name'], orderBy: { id: 'asc' } });
    return {
      default: name === (await git.defaultBranch()),
      protected: isProtected(project, name),
      environment: environment?.name ?? null,
    };
  },
});

export const getBranches = studioOperation({
  name: 'studio.getBranches',
  kind: 'query',
  permission: 'browse_studio',
  notInSteps: true,
  summary: 'Branches by their names, in the order of the input; null for missing ones',
  input: z.object({ names: z.array(z.string()).max(maxPerPage, `must be at most ${maxPerPage}`) }),
  output: z.array(branch.nullable()),
  async execute(context, { names }) {
    const heads = await Promise.all(
      names.map(async (name) => ({ name, oid: await context.git.head(checkRefName('names', name)) })),
    );
    const there = heads.filter((head): head is Head => head.oid !== null);
    const records = new Map((await branchRecords(context, there)).map((record) => [record.name, record]));
    return names.map((name) => records.get(name) ?? null);
  },
});

/** The commit a new branch is to begin at when nothing but a rescue has kept it; else null. */
async function rescuedCommit(git: Repository, from: string | undefined): Promise<Oid | null> {
  if (from === undefined || !isOid(from) || (await git.isReachable(from))) return null;
  return (await isRescued(git, from)) ? from : null;
}

/** By project. A creation that waits in the database for the row of its project takes a connection that others need. */
const creations = new KeyedSemaphore();

export const createBranch = studioOperation({
  name: 'studio.createBranch',
  kind: 'command',
  effect: 'external',
  permission: 'edit_studio',
  also: { manage_studio: 'for a rescued commit, or a protected name that only pull requests move' },
  summary: 'Create a branch',
  input: branchDraft,
  output: branch,
  audit: ({ name }) => ({ type: 'branch', id: name }),
  async execute(context, draft) {
    const { em, git, project, actor, services } = context;
    const name = checkNewRefName('name', draft.name);
    const rescued = await rescuedCommit(git, draft.from);
    const checkRights = (now: typeof context) => {
      checkNewBranch(now, name);
      if (rescued !== null) now.require('manage_studio');
    };
    checkRights(context);
    const start = rescued ?? (await commitNamed(git, 'from', draft.from ?? (await git.defaultBranch())));
    await creations.run(project.uuid, () =>
      em.transactional(async (fork) => {
        // One at a time: a name is held against all others, and what is known of a draft against whose branch it is.
        await holdProject(fork, project.id);
        checkRights(await context.renewed(fork));
        const others = (await headsOf(context)).map((head) => head.name);
        if (others.includes(name)) throw fieldError('already_exists', 'name', `branch ${name} exists`);
        const rivalry = (await RefNames.of(others)).rivalry(name);
        if (rivalry !== null) throw fieldError('name_collision', 'name', rivalry);
        // Of a draft that was never made.
        await fork.nativeDelete(Draft, { project_id: project.id, branch: name });
        if (draft.title !== undefined) {
          const base = draft.from !== undefined && others.includes(draft.from) ? draft.from : await git.defaultBranch();
          const { title } = draft;
          const owner = { owner_id: actor.id, owner_name: actor.author.name };
          await fork.insert(Draft, {
            ...{ project_id: project.id, branch: name, base, title, ...owner },
            created_at: services.clock.now(),
          });
        }
        await git.createBranch(name, start);
      }),
    );
    return branchRecord(context, { name, oid: start });
  },
});

export const deleteBranch = studioOperation({
  name: 'studio.deleteBranch',
  kind: 'command',
  effect: 'external',
  permission: 'delete_studio',
  irreversible: true,
  comparesTag: true,
  summary: 'Delete a branch',
  input: z.object({
    name: z.string(),
    force: z.boolean().optional().describe('Also when it is the head of open pull requests, which it closes'),
  }),
  output: branch,
  audit: ({ name }) => ({ type: 'branch', id: name }),
  async execute(context, { name, force }) {
    const { git, project, conditions } = context;
    const oid = await git.head(checkRefName('name', name));
    if (!oid) throw new DomainError('not_found', `name: branch ${name} does not exist`);
    if (conditions.if_match !== undefined && !namesOid(conditions.if_match, oid)) {
      const details = { current_sha: oid };
      throw new DomainError('precondition_failed', 'If-Match: the branch has moved since it was read', { details });
    }
    const main = await git.defaultBranch();
    if (name === main) throw new DomainError('protected', `name: ${name} is the default branch`);
    if (isProtected(project, name)) throw new DomainError('protected', `name: ${name} is a protected branch`);
    const admit = (pulls: readonly Pull[]) => {
      if (pulls.length === 0 || force) return;
      const details = { pulls: pulls.map(({ number }) => number) };
      const problem = `name: ${name} is the head of an open pull request; close it first, or use force`;
      throw new DomainError('in_use', problem, { details });
    };
    admit(await openPullsFrom(context, name));
    const record = await branchRecord(context, { name, oid });
    await deleteWithPulls(context, name, oid, admit);
    return record;
  },
});
