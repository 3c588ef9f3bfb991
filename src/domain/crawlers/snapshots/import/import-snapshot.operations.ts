import { z } from 'zod';
import { DomainError } from '../../../errors.ts';
import { projectOperation } from '../../../operation.ts';
import { authorOf } from '../../../studio/entries/write-entry.ts';
import { checkPath } from '../../../studio/path-rules.ts';
import { directBranch } from '../../../studio/repository/branch-rules.ts';
import { crawlerName } from '../../config/crawler.schema.ts';
import { findCrawler } from '../../config/find-crawler.ts';
import { findSnapshot, requireCaptured, requireFiles } from '../find-snapshot.ts';
import { SnapshotImport } from '../snapshot.entity.ts';
import { snapshotNumber } from '../snapshots.schema.ts';
import { wakeImport } from './import-job.ts';
import { importRecord } from './import-record.ts';
import { snapshotImport } from './imports.schema.ts';

const longestMessage = 10_000;

const withoutSlashes = (directory: string) => directory.replace(/^(?:\.?\/)+|\/+$/g, '').replace(/^\.$/, '');

export const importSnapshot = projectOperation({
  name: 'crawlers.importSnapshot',
  kind: 'command',
  permission: 'browse_crawlers',
  also: { manage_studio: 'always: a snapshot holds pages and scripts of strangers' },
  summary: 'Copy a snapshot into a branch, as one commit',
  input: z.object({
    ...snapshotNumber,
    branch: z.string('must be the name of a branch'),
    directory: z.string('must be a path').default('').describe('Where the site goes; default: the root'),
    message: z
      .string('must be a string')
      .max(longestMessage, `must be at most ${longestMessage} characters`)
      .optional()
      .describe('Of the commit'),
    mode: z
      .enum(['mirror', 'add'], 'must be mirror or add')
      .default('mirror')
      .describe('mirror removes what an earlier import wrote and this one lacks'),
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
  async execute(context, input) {
    const { em, services } = context;
    context.require('manage_studio');
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
        directory: directory === '' ? '' : checkPath('directory', directory),
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
    await wakeImport(em, services, row.id);
    return importRecord(em, row);
  },
});

export const getImport = projectOperation({
  name: 'crawlers.getImport',
  kind: 'query',
  permission: 'browse_crawlers',
  summary: 'Get the state of an import of a snapshot into a branch',
  input: z.object({ ...crawlerName, import: z.int32().min(1, 'must be at least 1') }),
  output: snapshotImport,
  async execute(context, input) {
    const crawler = await findCrawler(context, input.crawler);
    const row = await context.em.findOne(
      SnapshotImport,
      { id: input.import, crawler_id: crawler.id },
      { refresh: true },
    );
    if (!row) throw new DomainError('not_found', 'Import not found');
    return importRecord(context.em, row);
  },
});
