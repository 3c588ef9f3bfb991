import { z } from 'zod';
import { DomainError } from '../../../errors.ts';
import { type ProjectContext, projectOperation } from '../../../operation.ts';
import type { Committed } from '../../../ports/git-writes.ts';
import { messageOf } from '../../../studio/entries/write-entry.ts';
import { directBranch } from '../../../studio/repository/branch-rules.ts';
import { siteAddresses } from '../serve/site-addresses.ts';
import { CrawlSnapshot, SnapshotImport } from '../snapshot.entity.ts';
import { importLinks } from './import-links.ts';
import { makeFiles } from './make-files.ts';
import { manifestPath, mapFiles } from './map-files.ts';
import { type Importing, type ImportPlan, planImport } from './plan-import.ts';
import { fileFinder, readSite } from './read-site.ts';

type Context = Pick<ProjectContext, 'git' | 'services' | 'project' | 'em' | 'log' | 'signal'>;

const mostTries = 3;

/** What the commit of an import says of itself, so that a process that takes it over finds it. */
const trailer = (id: number) => `Portico-Import: ${id}`;

/** Object ids of what a branch holds below a directory. */
async function presentFiles({ git }: Context, branch: string, directory: string): Promise<Map<string, string>> {
  const head = await git.snapshot(await git.head(branch));
  return new Map((await head.files(directory)).map(({ path, oid }) => [path, oid]));
}

async function prepare(context: Context, row: SnapshotImport, snapshot: CrawlSnapshot) {
  const { em, services, log, signal } = context;
  const { origin, origins } = snapshot;
  if (origins === null || origins === undefined || snapshot.state === 'expired')
    throw new DomainError('not_found', 'The snapshot is no longer kept');
  const site = await readSite(em, { id: snapshot.id, origins });
  const { files, owners, collisions } = mapFiles(site.captured, siteAddresses(origin, origins));
  if (collisions.length > 0)
    log.info({ import: row.id, collisions: collisions.length, example: collisions[0] }, 'merge_collision');
  const { branch, directory, rewrite_links } = row.request;
  const fileOf = fileFinder(files, site.redirects);
  const stripParams = services.settings.crawl.strip_params;
  const wanted = site.captured.flatMap((file) => {
    const path = files.get(file.url);
    if (path === undefined || owners.get(path) !== file.url) return [];
    return { path, file, links: rewrite_links ? importLinks({ origin, stripParams, fileOf }, path) : null };
  });
  const present = await presentFiles(context, branch, directory);
  const made = await makeFiles(context, { wanted, present, signal });
  const about = {
    snapshot: snapshot.id,
    origin,
    files: Object.fromEntries(files),
    redirects: Object.fromEntries(site.redirects),
  };
  const importing: Importing = { directory, mode: row.request.mode, files: made.files, about };
  return { importing, tooLarge: made.tooLarge };
}

/** The commit an earlier process has made for this import, before it could say so; null: none. */
async function earlierCommit({ git }: Context, { id, request }: SnapshotImport): Promise<string | null> {
  const head = await git.head(request.branch);
  if (head === null) return null;
  const path = request.directory === '' ? manifestPath : `${request.directory}/${manifestPath}`;
  const commit = (await git.lastCommits(head, [path])).get(path);
  return commit?.message.split('\n').includes(trailer(id)) ? commit.sha : null;
}

async function commit(
  { git, project }: Context,
  row: SnapshotImport,
  host: string,
  importing: Importing,
): Promise<Committed<ImportPlan>> {
  const { branch, message, expected_head } = row.request;
  const subject = messageOf(message ?? undefined, `Import snapshot ${row.snapshot_id} of ${host}`);
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await git.write({
        branch: await directBranch({ git, project }, branch),
        author: { name: row.actor.name, email: row.actor.email },
        async plan(head) {
          if (expected_head !== null && expected_head !== head.commit)
            throw new DomainError('branch_moved', 'expected_head: the branch has moved since it was read');
          const plan = await planImport(head, importing);
          return { changes: plan.changes, message: `${subject}\n\n${trailer(row.id)}`, result: plan };
        },
      });
    } catch (error) {
      const isMoved = error instanceof DomainError && error.code === 'branch_moved';
      if (!isMoved || expected_head !== null || attempt === mostTries) throw error;
    }
  }
}

async function work(context: Context, row: SnapshotImport): Promise<void> {
  const { em, services } = context;
  const wasBegun = row.state === 'running';
  row.state = 'running';
  await em.flush();
  const done = wasBegun ? await earlierCommit(context, row) : null;
  const snapshot = await em.findOneOrFail(CrawlSnapshot, { id: row.snapshot_id }, { refresh: true });
  const { importing, tooLarge } = await prepare(context, row, snapshot);
  if (done !== null) em.assign(row, { commit_sha: done });
  else {
    const { commit: made, result } = await commit(context, row, snapshot.host, importing);
    const { added, changed, removed } = result;
    em.assign(row, {
      commit_sha: made?.sha ?? null,
      added,
      changed,
      removed,
      skipped: [...result.skipped, ...tooLarge],
    });
  }
  em.assign(row, { state: 'completed', completed_at: services.clock.now() });
  await em.flush();
}

export const writeImport = projectOperation({
  name: 'crawlers.writeImport',
  kind: 'command',
  effect: 'external',
  permission: 'manage_studio',
  summary: 'Commit what an import has been asked for',
  input: z.object({ import_id: z.int32() }),
  output: z.object({}),
  audit: ({ import_id }) => ({ type: 'snapshot_import', id: String(import_id) }),
  async execute(context, { import_id }) {
    const { em, services, log } = context;
    const row = await em.findOne(SnapshotImport, { id: import_id }, { refresh: true });
    if (!row || row.state === 'completed' || row.state === 'failed') return {};
    try {
      await work(context, row);
    } catch (error) {
      if (context.signal.aborted) throw error;
      const isKnown = error instanceof DomainError;
      if (!isKnown) log.error({ err: error, import: import_id }, 'import failed');
      await services.orm.em.fork().nativeUpdate(
        SnapshotImport,
        { id: import_id },
        {
          state: 'failed',
          error: isKnown ? error.message : 'Something went wrong',
          completed_at: services.clock.now(),
        },
      );
    }
    return {};
  },
});
