import type { EntityManager } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { DomainError } from '../../../../kernel/errors.ts';
import type { Services } from '../../../../kernel/services.ts';
import { timestamp } from '../../../../kernel/shapes.ts';
import type { JobKind } from '../../../../ports/jobs.ts';
import { holdProject } from '../../../projects/project-ref.ts';
import { authorOf } from '../../../studio/changes/write-rules.ts';
import { checkDirectory, pathBytes } from '../../../studio/path-rules.ts';
import { directBranch } from '../../../studio/repository/branch-rules.ts';
import { crawlerName } from '../../config/crawler.schema.ts';
import { findCrawler, locateCrawler, namedCrawler } from '../../config/find-crawler.ts';
import { type CrawlerContext, crawlerOperation } from '../../crawlers.ts';
import { importStates, SnapshotImport } from '../snapshot.entity.ts';
import { findableSnapshots, findSnapshot, namedSnapshot, requireCaptured, requireFiles } from '../snapshot-record.ts';
import { snapshotNumber } from '../snapshots.schema.ts';

const skippedFile = z
  .object({
    path: z.string().describe('Relative to the directory'),
    url: z.string().nullable(),
    reason: z
      .enum(['not_imported', 'edited', 'too_large', 'blocked'])
      .describe('not_imported: somebody else’s file is there; edited: since it was imported'),
  })
  .meta({ id: 'SkippedFile' });

const importMode = z.enum(['mirror', 'add'], 'must be mirror or add').meta({ id: 'SnapshotImportMode' });

const snapshotImport = z
  .object({
    id: z.int32(),
    snapshot_id: z.int32().nullable().describe('Null once it was deleted'),
    state: z.enum(importStates),
    branch: z.string(),
    directory: z.string(),
    mode: importMode,
    rewrite_links: z.boolean(),
    commit: z.string().nullable().describe('Null when nothing was different'),
    added: z.int32(),
    changed: z.int32(),
    removed: z.int32(),
    skipped: z.array(skippedFile),
    error: z.string().nullable(),
    created_at: timestamp,
    completed_at: timestamp.nullable(),
  })
  .meta({ id: 'SnapshotImport' });

/** An import as callers see it. */
async function importRecord(em: EntityManager, row: SnapshotImport): Promise<z.output<typeof snapshotImport>> {
  const snapshots = await findableSnapshots(em, [row.snapshot_id]);
  return {
    id: row.id,
    snapshot_id: snapshots.has(row.snapshot_id) ? row.snapshot_id : null,
    state: row.state,
    branch: row.request.branch,
    directory: row.request.directory,
    mode: row.request.mode,
    rewrite_links: row.request.rewrite_links,
    commit: row.commit_sha ?? null,
    added: row.added,
    changed: row.changed,
    removed: row.removed,
    skipped: row.skipped,
    error: row.error ?? null,
    created_at: row.created_at,
    completed_at: row.completed_at ?? null,
  };
}

/** Copies a snapshot into a branch. Doing it twice changes nothing more, so a process that dies loses it to another. */
export const snapshotImportJob = {
  name: 'snapshot-import',
  payload: z.object({ import_id: z.int() }),
  retries: 3,
  expireSeconds: 4 * 3600,
  policy: 'stately',
} satisfies JobKind;

/** What names an import and whose it is. */
interface WaitingImport {
  id: number;
  organization_id: number;
}

/**
 * Puts the job of an import in with the transaction, among those of its organisation. A queue that is starting loses nothing: the minute's tick
 * looks for what waits.
 */
async function wakeImport(
  em: EntityManager,
  { jobs, log }: Pick<Services, 'jobs' | 'log'>,
  { id, organization_id }: WaitingImport,
): Promise<void> {
  try {
    const options = { em, singletonKey: String(id), group: String(organization_id) };
    await jobs.send(snapshotImportJob, { import_id: id }, options);
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    log.debug({ err: error }, 'an import waits for the next look');
  }
}

const minute = 60_000;

// What lies ahead was written before the clock was set back.
const leftSql = `
  select snapshot_import.id, organization_id
  from snapshot_import join crawler on crawler.id = crawler_id join project on project.id = project_id and project.deleted_at is null
  where state in ('queued', 'running') and (snapshot_import.created_at < ? or snapshot_import.created_at > ?)
  order by snapshot_import.id limit 100`;

/** Wakes imports that wait for longer than a minute, or were left by a process that died. */
export async function tickImports(services: Services): Promise<void> {
  const now = services.clock.now();
  const em = services.orm.em.fork();
  const left = await em.execute<WaitingImport[]>(leftSql, [new Date(now.getTime() - minute), now]);
  for (const one of left) await em.transactional((within) => wakeImport(within, services, one));
}

const longestMessage = 10_000;

const withoutSlashes = (directory: string) => directory.replace(/^(?:\.?\/)+|(?<!\/)\/+$/g, '').replace(/^\.$/, '');

/** Imports of a project that wait or run. */
const mostWaiting = 20;

const waitingSql = `
  select count(*)::int as waiting from snapshot_import join crawler on crawler.id = crawler_id
  where project_id = ? and state in ('queued', 'running')`;

/** Holds the project's row until the transaction ends: no two imports may both be the last there is room for. @throws DomainError `limit_reached` */
async function takePlace({ em, project }: Pick<CrawlerContext, 'em' | 'project'>): Promise<void> {
  await holdProject(em, project.id);
  const [count] = await em.execute<{ waiting: number }[]>(waitingSql, [project.id]);
  if (count && count.waiting >= mostWaiting)
    throw new DomainError(
      'limit_reached',
      `${mostWaiting} imports of this project wait or run already; try again when one has ended`,
    );
}

export const importSnapshot = crawlerOperation({
  name: 'crawlers.importSnapshot',
  kind: 'command',
  permission: 'browse_crawlers',
  also: { manage_studio: 'always: a snapshot holds pages and scripts of strangers' },
  summary: `Copy a snapshot into a branch, as one commit; at most ${mostWaiting} imports of a project wait or run`,
  input: z.object({
    ...snapshotNumber,
    branch: z.string('must be the name of a branch'),
    directory: z
      .string('must be a path')
      .max(pathBytes, `must be at most ${pathBytes} characters`)
      .default('')
      .describe('Where the site goes; default: the root'),
    message: z
      .string('must be a string')
      .max(longestMessage, `must be at most ${longestMessage} characters`)
      .optional()
      .describe('Of the commit'),
    mode: importMode.default('mirror').describe('mirror removes what an earlier import wrote and this one lacks'),
    rewrite_links: z
      .boolean('must be a boolean')
      .default(true)
      .describe('Links between imported files become relative'),
    expected_head: z
      .string()
      .regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/, 'must be a full commit id')
      .optional()
      .describe('Commit the branch must be at'),
  }),
  output: snapshotImport,
  audit: ({ snapshot: id }) => ({ type: 'snapshot', id: String(id) }),
  find: namedSnapshot,
  async execute(context, input) {
    const { em, services, organization } = context;
    context.require('manage_studio');
    await takePlace(context);
    const crawler = await findCrawler(context, input.crawler, { lock: true });
    const snapshot = await findSnapshot(em, crawler.id, input.snapshot);
    requireCaptured(snapshot);
    requireFiles(snapshot);
    const directory = withoutSlashes(input.directory);
    const row = em.create(SnapshotImport, {
      snapshot_id: snapshot.id,
      crawler_id: crawler.id,
      state: 'queued',
      attempt: 0,
      request: {
        branch: await directBranch(context, input.branch),
        directory: directory === '' ? '' : checkDirectory('directory', directory),
        message: input.message ?? null,
        mode: input.mode,
        rewrite_links: input.rewrite_links,
        expected_head: input.expected_head ?? null,
      },
      actor: { id: context.actor.id, ...authorOf(context, undefined) },
      added: 0,
      changed: 0,
      removed: 0,
      skipped: [],
      created_at: services.clock.now(),
    });
    await em.persist(row).flush();
    await wakeImport(em, services, { id: row.id, organization_id: organization.id });
    return importRecord(em, row);
  },
});

export const getImport = crawlerOperation({
  name: 'crawlers.getImport',
  kind: 'query',
  permission: 'browse_crawlers',
  summary: 'Get the state of an import of a snapshot into a branch',
  input: z.object({ ...crawlerName, import: z.int32().min(1, 'must be at least 1') }),
  output: snapshotImport,
  find: namedCrawler,
  async execute(context, input) {
    const crawler = await locateCrawler(context, input.crawler);
    const row = await context.em.findOne(
      SnapshotImport,
      { id: input.import, crawler_id: crawler.id },
      { refresh: true },
    );
    if (!row) throw new DomainError('not_found', 'Import not found');
    return importRecord(context.em, row);
  },
});
