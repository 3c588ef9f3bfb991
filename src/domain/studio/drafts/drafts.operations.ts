/**
 * Drafts: branches that a save makes by itself, where it may not or shall not go to the branch that is edited. The commit is made first, on top of the
 * base; then a row reserves a name, and the branch appears with the commit in it. So no draft is ever seen without its change, and one whose making
 * was cut off is a row without a branch, which the next draft of its project removes.
 */
import { z } from 'zod';
import { DomainError } from '../../../kernel/errors.ts';
import { pageFrom, pageInput, pageOf, windowOf } from '../../../kernel/paging.ts';
import { oneLine, storedText } from '../../../kernel/shapes.ts';
import { normalized } from '../../../lib/text.ts';
import type { Oid } from '../../../ports/git-records.ts';
import { changeActions, changeResult, prepareChanges } from '../changes/commit-changes.operations.ts';
import { authorOf } from '../changes/write-rules.ts';
import { writeInput } from '../entries/entries.schema.ts';
import { conflict } from '../merge/merge.schema.ts';
import { checkRefName, RefNames } from '../ref-name.ts';
import { branchRecord, branchRecords, headsOf } from '../repository/branch-record.ts';
import { checkNewBranch } from '../repository/branch-rules.ts';
import { branch, commit } from '../repository/repository.schema.ts';
import type { StudioContext } from '../studio.ts';
import { studioOperation } from '../studio-operation.ts';
import { sync } from '../upstream/upstream.schema.ts';
import { Draft } from './draft.entity.ts';

/** How long a draft may take to be made, milliseconds; a row without its branch is left over then. */
const longestMaking = 3600_000;
/** Names that are tried, from the plain one on. */
const mostNames = 1000;
const longestSlug = 40;

/** `Über uns!` → `uber-uns`; what no letter or digit is left of is `changes`. */
export function slugOf(text: string): string {
  const plain = normalized(text, 'NFKD').replace(/\p{M}/gu, '').toLowerCase();
  const slug = plain.replace(/[^a-z0-9]+/g, '-').slice(0, longestSlug + 1);
  return slug.slice(0, longestSlug).replace(/^-+|-+$/g, '') || 'changes';
}

/** Whose draft it is, as part of its name: the number of a person's account, `token-<id>` of a token; never an e-mail address. */
const ownerPart = (actor: string) => actor.replace(/^user:/, '').replace(/[^A-Za-z0-9]+/g, '-');

/**
 * Names for a draft, the best first: `draft/7-first-frost`, `draft/7-first-frost-2` … A branch `draft` leaves no room for others below it.
 * @param taken names of branches and drafts
 */
export async function* draftNames(taken: readonly string[], actor: string, title: string): AsyncGenerator<string> {
  const hasRoom = !taken.some((name) => name.toLowerCase() === 'draft');
  const plain = `${hasRoom ? 'draft' : 'portico-draft'}/${ownerPart(actor)}-${slugOf(title)}`;
  const names = await RefNames.of(taken);
  const all = new Set(taken);
  for (let n = 1; n <= mostNames; n += 1) {
    const name = n === 1 ? plain : `${plain}-${n}`;
    if (!all.has(name) && names.rivalry(name) === null) yield name;
  }
}

type Context = Pick<StudioContext, 'em' | 'git' | 'services' | 'project' | 'actor' | 'renewed'>;

/** Removes rows whose branches were never made. @returns names of branches and drafts */
async function takenNames(context: Context): Promise<string[]> {
  const { em, services, project } = context;
  const branches = (await headsOf(context)).map(({ name }) => name);
  const before = new Date(services.clock.now().getTime() - longestMaking);
  await em.nativeDelete(Draft, { project_id: project.id, branch: { $nin: branches }, created_at: { $lt: before } });
  const rows = await em.find(Draft, { project_id: project.id }, { disableIdentityMap: true });
  return [...new Set([...branches, ...rows.map((row) => row.branch)])];
}

/** Takes a name for a draft. @returns false when it belongs to another one */
async function reserve({ em }: Context, row: Draft): Promise<boolean> {
  const inserted = await em
    .createQueryBuilder(Draft)
    .insert(row)
    .onConflict(['project_id', 'branch'])
    .ignore()
    .execute('run');
  return inserted.affectedRows > 0;
}

/**
 * Makes the branch of a draft, whose commit is there already, under the first name that is free.
 * @throws DomainError `branch_protected` where that is a name which the caller may make no branch of
 */
async function makeDraft(context: Context, sha: Oid, { base, title }: Pick<Draft, 'base' | 'title'>): Promise<string> {
  const { em, git, services, project, actor } = context;
  for await (const name of draftNames(await takenNames(context), actor.id, title)) {
    checkNewBranch(await context.renewed(), name);
    const owner = { owner_id: actor.id, owner_name: actor.author.name };
    const row = { project_id: project.id, branch: name, ...owner, base, title, created_at: services.clock.now() };
    if (!(await reserve(context, row))) continue;
    try {
      await git.createBranch(name, sha);
      return name;
    } catch (error) {
      await em.nativeDelete(Draft, { project_id: project.id, branch: name });
      const isTaken = error instanceof DomainError && ['already_exists', 'name_collision'].includes(error.code);
      if (!isTaken) throw error;
    }
  }
  throw new DomainError('limit_reached', `title: ${mostNames} drafts have this name; use another title`);
}

const savedDraft = z
  .object({
    branch: branch.nullable().describe('The draft; null when no byte changed, so that none was made'),
    commit: commit.nullable().describe('null when no byte changed'),
    unchanged: z.boolean(),
    results: z.array(changeResult).describe('In the order of the actions'),
    conflicts: z.array(conflict).optional().describe('GraphQL: why nothing was committed; REST refuses instead'),
    sync: sync.optional().describe('Of a mirror: state of the branch compared with the upstream'),
  })
  .meta({ id: 'SavedDraft' });

export const saveToDraft = studioOperation({
  name: 'studio.saveToDraft',
  kind: 'command',
  effect: 'external',
  permission: 'edit_studio',
  also: {
    delete_studio: 'when it deletes',
    manage_studio:
      'when it names another author, a path outside collections and media roots, as write_file does, or makes a branch of a protected name that only pull requests move',
  },
  mayRequireTag: true,
  // A step makes a branch of a name it knows, which a repetition of the step finds again.
  notInSteps: true,
  summary: 'Save changes as a new draft: a branch made with one commit',
  input: z.object({
    base: z.string().optional().describe('Branch the draft begins on; default: the default branch'),
    actions: changeActions,
    title: oneLine(200).optional().describe('What the draft is called, and its branch after it; default: what is done'),
    message: writeInput.message,
    author: writeInput.author,
  }),
  output: savedDraft,
  audit: (_input, output) => ({ type: 'branch', id: output?.branch?.name ?? null }),
  async execute(context, { actions, message, title, ...input }) {
    const { git } = context;
    const author = authorOf(context, input.author);
    const base = input.base === undefined ? await git.defaultBranch() : checkRefName('base', input.base);
    const start = await git.head(base);
    if (start === null) throw new DomainError('not_found', `base: ${base} does not exist`);
    const plan = await prepareChanges(context, actions, { message });
    const { commit, result: results } = await git.writeOnto(start, { author, plan });
    if (commit === null) return { branch: null, commit, unchanged: true, results };
    const called = title ?? commit.message.split('\n', 1)[0]?.slice(0, 200) ?? '';
    const name = await makeDraft(context, commit.sha, { base, title: called });
    return { branch: await branchRecord(context, { name, oid: commit.sha }), commit, unchanged: false, results };
  },
});

export const listDrafts = studioOperation({
  name: 'studio.listDrafts',
  kind: 'query',
  permission: 'browse_studio',
  summary: 'List drafts, the newest first',
  input: z.object({
    ...pageInput,
    base: storedText(1000).optional().describe('Only those begun on this branch'),
    own: z.boolean().optional().describe("Only the caller's own (true), or those of others (false)"),
    compare: z.boolean().optional().describe('Adds ahead_by and behind_by'),
  }),
  output: pageOf(branch),
  async execute(context, { base, own, compare, ...paging }) {
    const { em, project, actor } = context;
    const window = windowOf(paging);
    const heads = new Map((await headsOf(context)).map((head) => [head.name, head]));
    // Names alone, as they come from the database: of thousands one page is shown.
    const rows = await em
      .createQueryBuilder(Draft)
      .select('branch')
      .where({
        project_id: project.id,
        ...(base !== undefined && { base }),
        ...(own !== undefined && { owner_id: own ? actor.id : { $ne: actor.id } }),
      })
      .orderBy({ created_at: 'desc', branch: 'asc' })
      .execute('all', false);
    const drafts = rows.flatMap((row) => heads.get(row.branch) ?? []);
    const page = drafts.slice(window.offset, window.offset + window.limit);
    return pageFrom(await branchRecords(context, page, { compare }), drafts.length, window);
  },
});
