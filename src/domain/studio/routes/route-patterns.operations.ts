import { z } from 'zod';
import { DomainError, fieldError } from '../../../kernel/errors.ts';
import type { GuardedHttp } from '../../../ports/http.ts';
import { readSitemap } from '../../crawlers/pages/read-sitemap.ts';
import type { SitemapFault } from '../../crawlers/pages/sitemap-item.ts';
import { grantsChanged } from '../../identity/grant-cache.ts';
import { holdProject } from '../../projects/project-ref.ts';
import { checkStoredPath } from '../path-rules.ts';
import { branchInput, refInput, snapshotOf } from '../repository/refs.ts';
import type { StudioContext } from '../studio.ts';
import { studioOperation } from '../studio-operation.ts';
import { confirmPatterns, patternsOf, samplesOf, siteAt } from './detect-patterns.ts';
import { duplicateAddresses, entryAtUrl } from './entry-addresses.ts';
import { entryRoutes, routesWith } from './entry-routes.ts';
import { filesOf, findOutput, listedPages, outputPages, type PublishedPages, pathOf } from './published-pages.ts';
import { detectedRoutes, routePattern, type SavedRoutes } from './routes.schema.ts';

/** The protocol's own bounds: 50,000 addresses and 50 MiB in a file; all files together may not be larger here. */
const sitemapLimits = { urls: 50_000, files: 50, wire: 10 * 1024 * 1024, bytes: 50 * 1024 * 1024 };

/** Where the addresses come from, and for whom. */
interface SitemapRequest {
  http: GuardedHttp;
  /** Connections are shared within one organisation only. */
  pool: string;
  signal: AbortSignal;
}

/**
 * Reads all addresses of a sitemap, those of an index's files included.
 * @throws DomainError `invalid_request` for an address that may not be reached or is no sitemap, `upstream_unavailable`, `too_large`
 */
async function listedAddresses(url: string, request: SitemapRequest): Promise<string[]> {
  const found = new Set<string>();
  const open = [url];
  let bytes = 0;
  for (let file = 0; file < open.length && file < sitemapLimits.files && found.size < sitemapLimits.urls; file++) {
    const address = open[file] ?? '';
    const left = sitemapLimits.bytes - bytes;
    const content = fetchSitemap(address, request, left);
    const bounds = { urls: sitemapLimits.urls - found.size, bytes: left };
    const reading = readSitemap(content, address, { stripParams: [] }, bounds);
    let next = await reading.next();
    for (; !next.done; next = await reading.next()) {
      const item = next.value;
      if (item.kind === 'fault') checkFault(item.fault, address);
      else if (item.kind === 'page') found.add(item.url);
      // An index of indexes is not part of the protocol.
      else if (file === 0) open.push(item.url);
    }
    bytes += next.value;
    if (file === 0 && found.size === 0 && open.length === 1)
      throw fieldError('invalid_request', 'sitemap_url', 'is not a sitemap: it lists no address');
  }
  return [...found];
}

/** @throws DomainError `too_large`, `invalid_request` for broken gzip; of a file with another fault, the addresses before it count */
function checkFault(fault: SitemapFault, url: string): void {
  if (fault === 'too_large') throw tooLarge();
  if (fault === 'gzip') throw fieldError('invalid_request', 'sitemap_url', `${url} is no sound gzip`);
}

async function* fetchSitemap(
  url: string,
  { http, pool, signal }: SitemapRequest,
  left: number,
): AsyncGenerator<Uint8Array> {
  if (left <= 0) throw tooLarge();
  const response = await http.request(url, {
    headers: { accept: 'application/xml, text/xml', 'accept-encoding': 'gzip, identity' },
    policy: { pool },
    signal,
    maxBytes: Math.min(sitemapLimits.wire, left),
    maxRedirections: 5,
    timeouts: { total: 30_000 },
  });
  if (response.status !== 200) {
    response.discard();
    throw fieldError('invalid_request', 'sitemap_url', `${url} answered ${response.status}`);
  }
  yield await response.bytes();
}

const tooLarge = () =>
  new DomainError('too_large', `sitemap_url: is larger than ${sitemapLimits.bytes / 1024 / 1024} MiB`);

export const findEntryByUrl = studioOperation({
  name: 'studio.findEntryByUrl',
  kind: 'query',
  permission: 'browse_studio',
  notInSteps: true,
  summary: 'The entry whose page an address shows',
  input: z.object({ url: z.string().min(1, 'must not be empty').max(4096), ...refInput }),
  output: z.object({ collection: z.string(), slug: z.string(), path: z.string() }).nullable(),
  async execute(context, { url, ...at }) {
    const snapshot = await snapshotOf(context.git, at);
    return entryAtUrl(context, snapshot, await entryRoutes(context, snapshot), url);
  },
});

const number = z.int32().min(1, 'must be at least 1');
const compared = ['sitemap_url', 'environment_id', 'deployment_id'] as const;
const twoOf = (names: readonly string[]) =>
  names.flatMap((one, index) => names.slice(index + 1).map((other) => ({ required: [one, other] })));

export const detectRoutePatterns = studioOperation({
  name: 'studio.detectRoutePatterns',
  kind: 'command',
  effect: 'external',
  permission: 'edit_studio',
  summary: 'Auto-detect route patterns of a static-site framework',
  input: z
    .object({
      ...branchInput,
      root: z.string().max(4096).optional().describe("Directory of the site, '' for the root; default: found"),
      sitemap_url: z.url('must be an address').max(2048).optional().describe('Compares the predictions with a sitemap'),
      environment_id: number.optional().describe('Compares them with the pages an environment shows'),
      deployment_id: number.optional().describe('Compares them with the pages of one deployment'),
      save: z.boolean().default(false).describe('Keeps the patterns for the project: its entries then have addresses'),
    })
    .superRefine((input, context) => {
      const [, second] = compared.filter((name) => input[name] !== undefined);
      const message = `only one of ${compared.join(', ')} may be given`;
      if (second) context.addIssue({ code: 'custom', path: [second], message });
    })
    .meta({ not: { anyOf: twoOf(compared) } }),
  output: detectedRoutes,
  audit: (_input, _output, { project }) => ({ type: 'route_patterns', id: project }),
  async execute(context, { root, sitemap_url, environment_id, deployment_id, save, ...at }) {
    const { git, studio, project } = context;
    if (root) checkStoredPath('root', root);
    const isOutput = environment_id !== undefined || deployment_id !== undefined;
    const output = isOutput ? await findOutput(context, { environment_id, deployment_id }) : null;
    // Pages are compared with the entries they were made of, unless a branch is named.
    const snapshot = await (output && at.branch === undefined ? git.snapshot(output.commit_sha) : snapshotOf(git, at));
    const chosen = root ?? project.settings.content_root;
    const routes = await studio.routes.at(git, snapshot, chosen);
    const { detected, base } = routes;
    const { site, warnings } = await siteAt(context, snapshot, { given: root, found: detected.root });
    const published = output
      ? await outputPages(await filesOf(context, output.manifest_sha256), base)
      : await sitemapPages(context, sitemap_url);
    const found = published
      ? await confirmPatterns(context, snapshot, { routes, site, published })
      : { patterns: patternsOf(routes, site), check: null };
    const { patterns, check } = found;
    const entries = routesWith(patterns, routes);
    const samples = await samplesOf(context, snapshot, { site, patterns, routes: entries });
    const routed = new Set(patterns.flatMap(({ collection }) => site.collections.get(collection) ?? []));
    const duplicates = await duplicateAddresses(context, snapshot, [...routed], entries);
    // The host of a sitemap can take many minutes to answer.
    const now = await context.renewed();
    if (save) await saveRoutes(now, { root: chosen ?? detected.root, patterns });
    return {
      framework: detected.framework,
      root: detected.root,
      base,
      patterns,
      ...(check && (output ? { output: { ...check, ...ofDeployment(output) } } : { sitemap: check })),
      samples: samples.map((one) => ({
        ...one,
        ...(published && { verified: published.addresses.has(pathOf(one.url)) }),
      })),
      environment_defaults: routes.defaults,
      saved: save,
      warnings: [...routes.warnings, ...warnings, ...duplicates],
    };
  },
});

const ofDeployment = ({ id, commit_sha }: { id: number; commit_sha: string }) => ({ deployment_id: id, commit_sha });

async function sitemapPages(
  { services, organization, signal }: StudioContext,
  url: string | undefined,
): Promise<PublishedPages | null> {
  if (url === undefined) return null;
  return listedPages(await listedAddresses(url, { ...services, pool: String(organization.id), signal }));
}

/** Keeps routes for a project. In a transaction of its own, since the sitemap was waited for before. */
async function saveRoutes(context: StudioContext, routes: SavedRoutes): Promise<void> {
  const { em, services, project, organization } = context;
  await em.transactional(async (within) => {
    const row = await holdProject(within, project.id);
    row.settings = { ...row.settings, routes };
    row.updated_at = services.clock.now();
    await within.flush();
    await grantsChanged(within, organization.id);
  });
  services.grants.evict(`organization:${organization.id}`);
}

export const listRoutePatterns = studioOperation({
  name: 'studio.listRoutePatterns',
  kind: 'query',
  permission: 'browse_studio',
  notInSteps: true,
  summary: 'The route patterns the project has saved',
  input: z.object({}),
  output: z.array(routePattern),
  execute: async ({ project }) => project.settings.routes?.patterns ?? [],
});
