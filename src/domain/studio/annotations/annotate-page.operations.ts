import { createHash } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { DomainError } from '../../../kernel/errors.ts';
import { forEachYielding, mapYielding, Pace } from '../../../lib/concurrency.ts';
import { comparableText } from '../../../lib/text.ts';
import { VersionCache } from '../../../lib/version-cache.ts';
import type { Repository } from '../../../ports/git.ts';
import type { Snapshot } from '../../../ports/git-records.ts';
import {
  AnnotationError,
  type PageReading,
  type PageSource,
  pageBlockKinds,
  shownText,
} from '../../../ports/page-annotator.ts';
import { type CollectionIndex, earlierPlaces, type IndexedEntry } from '../content/collection-index.ts';
import { unreadable } from '../content/entry-facts.ts';
import { locateDeployment } from '../deployments/deployment-record.ts';
import { deploymentNumber } from '../deployments/deployments.schema.ts';
import { locateEnvironment } from '../environments/environment-record.ts';
import { environmentNumber } from '../environments/environments.schema.ts';
import { bodyPlace, splitFile } from '../frontmatter/split.ts';
import { lookUp } from '../previews/outputs.ts';
import { patternsOf } from '../routes/detect-patterns.ts';
import { type EntryPlace, entriesAtUrl, entryAtUrl } from '../routes/entry-addresses.ts';
import { type EntryRoutes, entryRoutes, routesWith, siteRootOf } from '../routes/entry-routes.ts';
import type { SiteRoutes } from '../routes/routes-cache.ts';
import type { StudioContext } from '../studio.ts';
import { studioOperation } from '../studio-operation.ts';
import { leastAligned, mostBlocks } from './annotate.ts';
import { longestSelector } from './page-leaves.ts';

/**
 * Which lines of which file a page shows. The page is the one a deployment has built, the file that of its commit; lines are carried to the head of
 * the branch, where an edit would go, and what has been changed there since is marked.
 */

const line = z.int32().min(1).nullable();
const pageBlock = z
  .object({
    kind: z.enum(pageBlockKinds).describe('field: a value of the frontmatter; the others are blocks of the body'),
    selector: z.string().describe('CSS selector on the page as it was built'),
    text: z
      .string()
      .describe(
        `The first ${shownText} letters, digits and spaces of what it shows, in lower case; the selector finds another text where a script has changed the page`,
      ),
    start_line: line.describe('First line in the file as the branch has it now; null: the file is gone'),
    end_line: line,
    field: z
      .string()
      .nullable()
      .describe('JSON Pointer of the frontmatter value that is shown; null: a block of the body'),
    confidence: z
      .number()
      .min(0)
      .max(1)
      .describe('1: by a text of its own; less: by its neighbours, or by most of its words'),
    is_changed: z
      .boolean()
      .describe('The branch has changed it since the deployment: the page does not show it any more'),
    has_template: z.boolean().describe('It holds what only a build can render: shortcodes, components, interpolations'),
  })
  .meta({ id: 'PageBlock' });

const pageAnnotations = z
  .object({
    url: z.string().describe('Path of the page on the site'),
    deployment_id: z.int32(),
    commit_sha: z.string().describe('Commit that was built'),
    branch: z.string(),
    head_sha: z
      .string()
      .nullable()
      .describe('Head of the branch, which the lines are those of; null: the branch is gone'),
    entry: z
      .object({
        collection: z.string(),
        slug: z.string(),
        path: z.string(),
        sha: z.string().nullable().describe('Its blob at the head, whose lines these are; null: it is gone'),
        body_line: z
          .int32()
          .min(1)
          .nullable()
          .describe('Line of the file with which its body begins, at the head; null: it is gone'),
      })
      .nullable(),
    aligned: z.number().min(0).max(1).describe('Share of the blocks of the file that were found on the page'),
    is_editable: z
      .boolean()
      .describe(`Enough of the file was found (${leastAligned * 100} %) for its blocks to be edited on the page`),
    blocks: z
      .array(pageBlock)
      .describe(`At most ${mostBlocks}; one that no selector of ${longestSelector} characters leads to is left out`),
  })
  .meta({ id: 'PageAnnotations' });

const url = z
  .string()
  .min(1, 'must not be empty')
  .max(8_192, 'must be at most 8192 characters')
  .describe('Address of the page, or its path on the site');

/** Larger pages and files are not read, bytes. */
const most = { page: 4 * 1024 * 1024, file: 1024 * 1024 };

interface BuiltOutput {
  id: number;
  branch: string;
  commit_sha: string;
  manifest_sha256?: string | null | undefined;
}

async function annotate(context: StudioContext, deployment: BuiltOutput, url: string) {
  const { git, studio, project } = context;
  const { id, branch, commit_sha, manifest_sha256 } = deployment;
  if (!manifest_sha256) throw new DomainError('not_found', `Deployment ${id} has no files here any more`);
  const built = await git.snapshot(commit_sha);
  const site = await studio.routes.at(git, built, siteRootOf(project.settings));
  const { path, html } = await builtPage(context, manifest_sha256, url, site.base);
  const head = await git.head(branch);
  const current = await git.snapshot(head);
  const read = async (entry: EntryPlace | null) => {
    const source = entry && (await sourceOf(git, entry, built, current, site));
    return { entry, source, reading: await readingOf(context, html, source) };
  };
  const routes = await routesOf(context, built, site);
  const found = await pageOfEntry(context, built, routes, { url, read });
  const { aligned, blocks } = found.reading.annotated ?? { aligned: 0, blocks: [] };
  return {
    url: path,
    deployment_id: id,
    commit_sha,
    branch,
    head_sha: head,
    entry: found.entry && {
      ...found.entry,
      sha: found.source?.sha ?? null,
      body_line:
        found.source?.current == null ? null : bodyPlace(splitFile(found.source.current, found.entry.path)).line,
    },
    aligned,
    is_editable: found.entry !== null && aligned >= leastAligned,
    blocks,
  };
}

/** The source of a page, with its blob at the head of the branch; null where that is gone. */
type HeadSource = PageSource & { sha: string | null };
type Read = (
  entry: EntryPlace | null,
) => Promise<{ entry: EntryPlace | null; source: HeadSource | null; reading: PageReading }>;

/**
 * The entry of a page: the one that its marks name, or by its address, of several there the one whose text it has, by the address it gives itself, or the one
 * entry of that title whose text it has.
 */
async function pageOfEntry(
  context: StudioContext,
  built: Snapshot,
  routes: EntryRoutes,
  { url, read }: { url: string; read: Read },
): ReturnType<Read> {
  const [byUrl = null, ...others] = await entriesAtUrl(context, built, routes, url);
  const first = await read(byUrl);
  const { marked } = first.reading;
  const byMark = marked === null || isNamed(byUrl, marked) ? null : await entryNamed(context, built, marked);
  if (byMark) return read(byMark);
  if (byUrl) {
    const all = [first, ...(await Promise.all(others.map(read)))];
    return all.reduce((best, one) => (similarity(one) > similarity(best) ? one : best));
  }
  const unknown = first;
  const { canonical, headings } = unknown.reading;
  const byCanonical = canonical && (await entryAtUrl(context, built, routes, canonical));
  if (byCanonical) return read(byCanonical);
  const candidates = await Promise.all((await entriesTitled(context, built, headings)).map(read));
  const [best, second] = candidates.sort((a, b) => alignedIn(b) - alignedIn(a));
  const isClear = best && alignedIn(best) >= leastAligned && (!second || alignedIn(second) < leastAligned);
  return isClear ? best : unknown;
}

/** Whether a mark names an entry: by its collection and slug, or by its path. */
const isNamed = (entry: EntryPlace | null, name: string): boolean =>
  entry !== null && (entry.path === name || `${entry.collection}/${entry.slug}` === name);

async function entryNamed({ git, studio }: StudioContext, built: Snapshot, name: string): Promise<EntryPlace | null> {
  const site = await studio.content.site(git, built);
  for (const [collection, index] of site.collections)
    for (const { slug, path } of index.entries)
      if (isNamed({ collection, slug, path }, name)) return { collection, slug, path };
  return null;
}

/** How well an entry explains a page, which of several have all of their text on it: those that also have more of their fields there. */
const similarity = ({ reading }: { reading: PageReading }) =>
  (reading.annotated?.aligned ?? 0) +
  (reading.annotated?.blocks.reduce((sum, { confidence }) => sum + confidence, 0) ?? 0) / 1e6;

const alignedIn = ({ reading }: { reading: PageReading }) => reading.annotated?.aligned ?? 0;

/** Digests of the titles in the frontmatter of all entries of a collection, in their order; empty without one. */
interface CollectionTitles {
  entries: readonly IndexedEntry[];
  titles: readonly string[];
  isWhole: boolean;
}

const collections = new VersionCache<CollectionTitles>({
  versions: 32,
  subjects: 16,
  weight: { most: 1_000_000, of: ({ entries }) => entries.length },
});

/** A title as it is compared, all of one length: some are as long as a file may be. */
const titleDigest = (comparable: string) => createHash('sha256').update(comparable).digest('base64').slice(0, 22);

/** Digests of the titles of all entries of a collection, in their order; those of entries that have not changed are taken from the version before. */
async function titlesIn(
  { git, studio }: StudioContext,
  built: Snapshot,
  index: CollectionIndex,
): Promise<readonly string[]> {
  const derive = async (latest: CollectionTitles | undefined): Promise<CollectionTitles> => {
    const { entries } = index;
    const before = latest && (await earlierPlaces(entries, latest.entries));
    const titles = await mapYielding(entries, (_, at) => before && latest.titles[before[at] ?? -1]);
    const missing = entries.filter((_, at) => titles[at] === undefined);
    const made: string[] = [];
    const pace = new Pace();
    let isWhole = true;
    for await (const facts of studio.content.eachListed(git, built, missing)) {
      if (facts === unreadable) isWhole = false;
      const title = facts.frontmatter?.title;
      made.push(typeof title === 'string' ? titleDigest(comparableText(title)) : '');
      if (pace.isDue) await pace.yield();
    }
    let next = 0;
    return { entries, titles: await mapYielding(titles, (title) => title ?? made[next++] ?? ''), isWhole };
  };
  const subject = JSON.stringify([git.id, index.schema.collection]);
  // An object that is damaged now may come back.
  const { titles } = await collections.of(subject, String(index.version), derive, ({ isWhole }) => isWhole);
  return titles;
}

/** Entries whose title is one of some comparable texts; more than five say nothing. */
async function entriesTitled(
  context: StudioContext,
  built: Snapshot,
  titles: readonly string[],
): Promise<EntryPlace[]> {
  const found: EntryPlace[] = [];
  if (titles.length === 0) return found;
  const wanted = new Set(titles.map(titleDigest));
  const site = await context.studio.content.site(context.git, built);
  for (const [collection, index] of site.collections) {
    const known = await titlesIn(context, built, index);
    await forEachYielding(index.entries.entries(), ([at, { slug, path }]) => {
      if (wanted.has(known[at] ?? '')) found.push({ collection, slug, path });
    });
  }
  return found.length > 5 ? [] : found;
}

/** The project's saved routes, or without any those of its framework. */
async function routesOf(context: StudioContext, built: Snapshot, detected: SiteRoutes): Promise<EntryRoutes> {
  const saved = await entryRoutes(context, built);
  if (saved.key !== '') return saved;
  const site = await context.studio.content.site(context.git, built);
  return routesWith(patternsOf(detected, site), detected);
}

/** The file behind an address, with or without the path that all of the site lies below. */
async function builtPage({ studio, services, signal }: StudioContext, manifest: string, url: string, base: string) {
  const output = await studio.previews.outputs.get(manifest);
  const given = url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '').replace(/[?#].*/s, '') || '/';
  let found = lookUp(output, given, { base });
  // The address of a directory without its slash.
  if (found.kind === 'redirect' && found.status === 308) found = lookUp(output, found.location, { base });
  if (found.kind !== 'file' || found.status !== 200 || found.entry[3] !== 'text/html')
    throw new DomainError('not_found', `url: ${given} is no page of this deployment`);
  const [, sha256, size] = found.entry;
  if (size > most.page)
    throw new DomainError('too_large', `url: the page is larger than ${most.page / 1024 / 1024} MiB`);
  const html = await text(services.blobs.read(sha256));
  signal.throwIfAborted();
  return { path: given, html };
}

async function sourceOf(
  git: Repository,
  { path, collection, slug }: EntryPlace,
  built: Snapshot,
  current: Snapshot,
  site: SiteRoutes,
): Promise<HeadSource | null> {
  const framework = site.detected.framework?.id ?? null;
  const textIn = async (snapshot: Snapshot) => {
    const { entry } = await snapshot.lookup(path);
    const [size] = entry ? await git.sizes([entry.oid]) : [];
    return entry && size != null && size <= most.file
      ? { oid: entry.oid, text: (await snapshot.blob(entry.oid)).toString('utf8') }
      : null;
  };
  const [before, now] = await Promise.all([textIn(built), textIn(current)]);
  if (!before) return null;
  const entry = `${collection}/${slug}`;
  return { path, entry, framework, built: before.text, current: now?.text ?? null, sha: now?.oid ?? null };
}

async function readingOf(
  { services, signal }: StudioContext,
  html: string,
  source: PageSource | null,
): Promise<PageReading> {
  try {
    return await services.annotator.read(html, source, signal);
  } catch (cause) {
    if (!(cause instanceof AnnotationError)) throw cause;
    if (cause.fault === 'unavailable')
      throw new DomainError('unavailable', 'The page cannot be read now; try again later', { cause });
    throw new DomainError('too_large', 'url: the page or its source takes too long to read', { cause });
  }
}

export const annotatePage = studioOperation({
  name: 'studio.annotatePage',
  kind: 'query',
  permission: 'browse_studio',
  notInSteps: true,
  summary: 'Which lines of which entry the pieces of a page show, on the site an environment publishes',
  input: z.object({ ...environmentNumber, url }),
  output: pageAnnotations,
  async execute(context, { environment, url }) {
    const { published_deployment_id: published } = await locateEnvironment(context, environment);
    if (!published)
      throw new DomainError('not_found', `Environment ${environment} shows nothing yet: deploy to it first`);
    return annotate(context, await locateDeployment(context, published), url);
  },
});

export const annotateDeploymentPage = studioOperation({
  name: 'studio.annotateDeploymentPage',
  kind: 'query',
  permission: 'browse_studio',
  notInSteps: true,
  summary: 'Which lines of which entry the pieces of a page show, as one deployment has built it',
  input: z.object({ ...deploymentNumber, url }),
  output: pageAnnotations,
  execute: async (context, { deployment, url }) => annotate(context, await locateDeployment(context, deployment), url),
});
