import type { EntityData } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { type Actor, requirePermission } from '../../../../kernel/actor.ts';
import { DomainError } from '../../../../kernel/errors.ts';
import type { Extension } from '../../../../kernel/operation.ts';
import { encodePath } from '../../../../lib/text.ts';
import type { Committed } from '../../../../ports/git-writes.ts';
import { authenticateHolder } from '../../../identity/authenticate.ts';
import type { GrantCache } from '../../../identity/grant-cache.ts';
import type { ProjectContext } from '../../../projects/operation.ts';
import { messageOf } from '../../../studio/changes/write-rules.ts';
import { inTurn } from '../../../studio/in-turn.ts';
import { directBranch } from '../../../studio/repository/branch-rules.ts';
import { mirror } from '../../../studio/upstream/mirror.ts';
import type { CrawlerContext } from '../../crawlers.ts';
import { crawlerOperation } from '../../crawlers.ts';
import { normalise } from '../../urls/normalise.ts';
import type { LinkMapper } from '../rewrite/carrier.ts';
import { siteAddresses } from '../site-addresses.ts';
import { CrawlSnapshot, type SkippedFile, SnapshotImport } from '../snapshot.entity.ts';
import { manifestPath, mapFiles } from './map-files.ts';
import {
  fileFinder,
  type Importing,
  type ImportPlan,
  makeFiles,
  planImport,
  readSite,
  standingOfImports,
} from './plan-import.ts';

interface SiteFiles {
  /** Scheme and host that were crawled. */
  origin: string;
  stripParams: readonly string[];
  /** The file of a URL, over redirects of the snapshot; null when it has none. */
  fileOf(url: string): string | null;
}

/** How one file names another, both relative to the same directory. A page in a directory is named by the directory. */
export function relativeLink(from: string, to: string): string {
  const [here, there] = [from.split('/').slice(0, -1), to.split('/')];
  let common = 0;
  while (common < here.length && common < there.length - 1 && here[common] === there[common]) common += 1;
  const rest = there.slice(common);
  if (rest.at(-1) === 'index.html') rest[rest.length - 1] = '';
  const link = '../'.repeat(here.length - common) + encodePath(rest.join('/'));
  // A name with a colon would be taken for a scheme, and nothing at all for this very document.
  return link === '' || link.startsWith('/') || /^[^/]*:/.test(link) ? `./${link}` : link;
}

/** Links of an imported document: to files beside it where they have been imported, to the site itself where not. @param path of the document */
export function importLinks({ origin, stripParams, fileOf }: SiteFiles, path: string): LinkMapper {
  const primary = new URL(origin);
  return (link, base, role) => {
    // Each link is written anew, so the document needs no other base than itself.
    if (role === 'base') return '';
    const text = link.trim();
    const url = URL.parse(text, base.href);
    if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) return null;
    const isHere = text === '' || text.startsWith('#');
    const target = normalise(url.href, base.href, { origin: primary, stripParams });
    const file = target === null ? null : fileOf(target);
    if (isHere && file === path) return null;
    return file === null ? url.href : relativeLink(path, file) + url.hash;
  };
}

/** An import this process works on. */
interface ImportClaim {
  row: SnapshotImport;
  /** Another process has begun it, and may have committed it. */
  wasBegun: boolean;
  /** @returns false when another process has taken the import over, or is done with it: nothing was written. */
  write(change: EntityData<SnapshotImport>): Promise<boolean>;
}

const claimSql = `
  update snapshot_import set state = 'running', attempt = attempt + 1
  where id = ? and state in ('queued', 'running') returning attempt`;

/**
 * Takes an import that is not done, also from a process that has it: the process may be dead, and when it is not, what it writes from now on
 * counts no longer.
 * @returns null when it is done, or gone
 */
async function claimImport(em: EntityManager, id: number): Promise<ImportClaim | null> {
  const [claimed] = await em.execute<{ attempt: number }[]>(claimSql, [id]);
  if (!claimed) return null;
  const { attempt } = claimed;
  return {
    row: await em.findOneOrFail(SnapshotImport, { id }, { refresh: true }),
    wasBegun: attempt > 1,
    write: async (change) => (await em.nativeUpdate(SnapshotImport, { id, attempt, state: 'running' }, change)) > 0,
  };
}

type PrepareContext = Pick<CrawlerContext, 'git' | 'services' | 'crawlers' | 'em' | 'log' | 'signal'>;

/** Object ids of what a branch holds below a directory, and the paths that earlier imports have there. */
async function presentFiles(
  { git }: Pick<PrepareContext, 'git'>,
  branch: string,
  directory: string,
): Promise<{ present: Map<string, string>; standing: string[] }> {
  const head = await git.snapshot(await git.head(branch));
  const present = new Map((await head.files(directory)).map(({ path, oid }) => [path, oid]));
  return { present, standing: await standingOfImports(head, present) };
}

/**
 * Makes the files of an import from its snapshot.
 * @returns what is to be committed, and what is too large for it
 * @throws DomainError `not_found` when the snapshot is no longer kept
 */
async function prepareImport(
  context: PrepareContext,
  row: SnapshotImport,
  snapshot: CrawlSnapshot,
): Promise<{ importing: Importing; tooLarge: SkippedFile[] }> {
  const { em, crawlers, log, signal } = context;
  const { origin, origins } = snapshot;
  if (origins === null || origins === undefined || snapshot.state === 'expired')
    throw new DomainError('not_found', 'The snapshot is no longer kept');
  const site = await readSite(em, { id: snapshot.id, origins });
  const { branch, directory, rewrite_links } = row.request;
  const { present, standing } = await presentFiles(context, branch, directory);
  const { files, owners, collisions } = await mapFiles(site.captured, siteAddresses(origin, origins), standing);
  if (collisions.length > 0)
    log.info({ import: row.id, collisions: collisions.length, example: collisions[0] }, 'merge_collision');
  const fileOf = fileFinder(files, site.redirects);
  const stripParams = crawlers.limits.strip_params;
  const wanted = site.captured.flatMap((file) => {
    const path = files.get(file.url);
    if (path === undefined || owners.get(path) !== file.url) return [];
    return { path, file, links: rewrite_links ? importLinks({ origin, stripParams, fileOf }, path) : null };
  });
  const made = await makeFiles(context, { wanted, present, signal });
  const about = {
    snapshot: snapshot.id,
    origin,
    files,
    redirects: site.redirects,
  };
  const importing: Importing = { directory, mode: row.request.mode, files: made.files, about };
  return { importing, tooLarge: made.tooLarge };
}

/** Finds who has requested an import; null when their credential has ended. */
interface Requesters {
  requester(id: string): Promise<Actor | null>;
}
const requesters: Extension<'project', { grants: GrantCache }, Requesters> = {
  provide: (services) => ({ requester: (id) => authenticateHolder(services, id) }),
};

type CommitContext = Pick<ProjectContext, 'git' | 'project'> & Requesters;

/**
 * Imports are written one at a time, and rights end while one waits for those before it. The rights of a workflow are its own, and last.
 * @throws DomainError `forbidden`
 */
async function requireRights({ requester, project }: CommitContext, { actor }: SnapshotImport): Promise<void> {
  if (actor.id.startsWith('workflow:')) return;
  const grant = (await requester(actor.id))?.grantFor(project.organization_id) ?? null;
  requirePermission(grant?.projects?.has(project.id) === false ? null : grant, 'manage_studio');
}

const mostTries = 3;

/** What the commit of an import says of itself, so that a process that takes it over finds it. */
const trailer = (id: number) => `Portico-Import: ${id}`;

/** The commit an earlier process has made for this import, before it could say so; null: none. */
async function earlierCommit(
  { git }: Pick<CommitContext, 'git'>,
  { id, request }: SnapshotImport,
): Promise<string | null> {
  const head = await git.head(request.branch);
  if (head === null) return null;
  const path = request.directory === '' ? manifestPath : `${request.directory}/${manifestPath}`;
  const commit = (await git.lastCommits(head, [path])).get(path);
  return commit?.message.split('\n').includes(trailer(id)) ? commit.sha : null;
}

const isMoved = (error: unknown): boolean => error instanceof DomainError && error.code === 'branch_moved';

/**
 * Commits what an import leaves of its files to be written; nothing when all of it is there.
 * @throws DomainError `branch_moved` when the head is not the expected one, or has moved three times; whatever the branch refuses
 */
async function commit(
  context: CommitContext,
  row: SnapshotImport,
  host: string,
  importing: Importing,
  keep: (plan: ImportPlan) => Promise<void>,
): Promise<Committed<ImportPlan>> {
  const { git, project } = context;
  const { branch, message, expected_head } = row.request;
  const subject = messageOf(message ?? undefined, `Import snapshot ${row.snapshot_id} of ${host}`);
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await git.write({
        branch: await directBranch({ git, project }, branch),
        author: { name: row.actor.name, email: row.actor.email },
        async plan(head) {
          await requireRights(context, row);
          if (expected_head !== null && expected_head !== head.commit)
            throw new DomainError('branch_moved', 'expected_head: the branch has moved since it was read');
          const plan = await planImport(head, importing);
          if (plan.changes.length > 0) await keep(plan);
          return { changes: plan.changes, message: `${subject}\n\n${trailer(row.id)}`, result: plan };
        },
      });
    } catch (error) {
      if (!isMoved(error) || expected_head !== null || attempt === mostTries) throw error;
    }
  }
}

/**
 * Commits an import, unless a process that was given up as dead has done it meanwhile.
 * @param host that was captured
 * @param keep stores what is about to be committed, so that a process that takes the import over finds it in the rows
 * @returns the commit; null when nothing was different
 * @throws DomainError `branch_moved` when the head is not the expected one, or has moved three times; whatever the branch refuses
 */
async function commitImport(
  context: CommitContext,
  row: SnapshotImport,
  host: string,
  importing: Importing,
  keep: (plan: ImportPlan) => Promise<void>,
): Promise<string | null> {
  try {
    const { commit: made, result } = await commit(context, row, host, importing, keep);
    const sha = made?.sha ?? (await earlierCommit(context, row));
    if (sha === null) await keep(result);
    return sha;
  } catch (error) {
    const sha = isMoved(error) ? await earlierCommit(context, row) : null;
    if (sha === null) throw error;
    return sha;
  }
}

type Context = Pick<CrawlerContext, 'git' | 'services' | 'crawlers' | 'project' | 'em' | 'log' | 'signal'> & Requesters;

/** Another process has the import now. */
class TakenOver extends Error {}

async function work(context: Context, { row, wasBegun, write }: ImportClaim): Promise<void> {
  const { em, services } = context;
  let commit_sha = wasBegun ? await earlierCommit(context, row) : null;
  if (commit_sha === null) {
    const snapshot = await em.findOneOrFail(CrawlSnapshot, { id: row.snapshot_id }, { refresh: true });
    const { importing, tooLarge } = await prepareImport(context, row, snapshot);
    commit_sha = await commitImport(context, row, snapshot.host, importing, async (plan) => {
      const { added, changed, removed, skipped } = plan;
      const isOurs = await write({ added, changed, removed, skipped: [...skipped, ...tooLarge] });
      // Before the commit: a process that has taken the import over makes it instead.
      if (!isOurs) throw new TakenOver();
    });
  }
  await write({ commit_sha, state: 'completed', completed_at: services.clock.now() });
}

export const writeImport = crawlerOperation.with(inTurn).with(mirror).with(requesters)({
  name: 'crawlers.writeImport',
  kind: 'command',
  effect: 'external',
  permission: 'manage_studio',
  notInSteps: true,
  summary: 'Commit an import',
  input: z.object({ import_id: z.int32() }),
  output: z.object({}),
  audit: ({ import_id }) => ({ type: 'snapshot_import', id: String(import_id) }),
  async execute(context, { import_id }) {
    const { em, services, log } = context;
    const claim = await claimImport(em, import_id);
    if (claim === null) return {};
    try {
      await work(context, claim);
    } catch (error) {
      if (error instanceof TakenOver) return {};
      if (context.signal.aborted) throw error;
      const isKnown = error instanceof DomainError;
      if (!isKnown) log.error({ err: error, import: import_id }, 'import failed');
      await claim.write({
        state: 'failed',
        // Of a commit that did not come about.
        added: 0,
        changed: 0,
        removed: 0,
        skipped: [],
        error: isKnown ? error.message : 'Something went wrong',
        completed_at: services.clock.now(),
      });
    }
    return {};
  },
});
