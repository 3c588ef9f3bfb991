import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { z } from 'zod';
import { DomainError, fieldError } from '../../../kernel/errors.ts';
import type { GuardedHttp } from '../../../ports/http.ts';
import { grantsChanged } from '../../identity/grant-cache.ts';
import { holdProject } from '../../projects/project-ref.ts';
import { checkStoredPath } from '../path-rules.ts';
import { branchInput, refInput, snapshotOf } from '../repository/refs.ts';
import type { StudioContext } from '../studio.ts';
import { studioOperation } from '../studio-operation.ts';
import { confirmPatterns, defaultsAt, duplicateAddresses, patternsOf, samplesOf, siteAt } from './detect-patterns.ts';
import { entryAtUrl } from './entries-by-url.ts';
import { entryRoutes, routesWith } from './entry-routes.ts';
import { filesOf, findOutput, listedPages, outputPages, type PublishedPages, pathOf } from './published-pages.ts';
import { detectedRoutes, routePattern, type SavedRoutes } from './routes.schema.ts';

/** What one file of a sitemap lists. */
interface SitemapFile {
  /** `index`: the addresses are those of further files. */
  kind: 'index' | 'urls';
  locations: string[];
}

const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function decode(text: string): string {
  const plain = text.replace(/^\s*<!\[CDATA\[([\s\S]*?)\]\]>\s*$/, '$1').trim();
  return plain.replace(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(\w{2,4}));/gi, (whole, hex, decimal, name) => {
    if (name) return entities[String(name).toLowerCase()] ?? whole;
    const code = hex ? Number.parseInt(hex, 16) : Number(decimal);
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}

/** Reads the `<loc>` elements of a sitemap, at most `limit`; in one pass, whatever the text holds. */
function parseSitemap(text: string, limit: number): SitemapFile {
  const kind = /<sitemapindex[\s>]/.test(text.slice(0, 4096)) ? 'index' : 'urls';
  const locations: string[] = [];
  let at = text.indexOf('<loc>');
  while (at !== -1 && locations.length < limit) {
    const end = text.indexOf('</loc>', at);
    if (end === -1) break;
    if (end - at < 4096) locations.push(decode(text.slice(at + '<loc>'.length, end)));
    at = text.indexOf('<loc>', end);
  }
  return { kind, locations };
}

/** The protocol's own bounds: 50,000 addresses and 50 MiB in a file; all files together may not be larger here. */
const sitemapLimits = { urls: 50_000, files: 50, wire: 10 * 1024 * 1024, bytes: 50 * 1024 * 1024 };

const inflate = promisify(gunzip);

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
export async function readSitemap(url: string, request: SitemapRequest): Promise<string[]> {
  const found = new Set<string>();
  const open = [url];
  let bytes = 0;
  for (let file = 0; file < open.length && file < sitemapLimits.files && found.size < sitemapLimits.urls; file++) {
    const text = await fetchText(open[file] ?? '', request, sitemapLimits.bytes - bytes);
    bytes += text.length;
    const { kind, locations } = parseSitemap(text, sitemapLimits.urls - found.size);
    if (file === 0 && locations.length === 0)
      throw fieldError('invalid_request', 'sitemap_url', 'is not a sitemap: it lists no address');
    if (kind === 'urls') for (const one of locations) found.add(one);
    // An index of indexes is not part of the protocol.
    else if (file === 0) open.push(...locations);
  }
  return [...found];
}

async function fetchText(url: string, { http, pool, signal }: SitemapRequest, left: number): Promise<string> {
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
  const body = Buffer.from(await response.bytes());
  // Compressed by the server, or a file that is stored so.
  if (body[0] !== 0x1f || body[1] !== 0x8b) return body.toString('utf8');
  try {
    return (await inflate(body, { maxOutputLength: left })).toString('utf8');
  } catch (cause) {
    if ((cause as { code?: string }).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge();
    throw fieldError('invalid_request', 'sitemap_url', `${url} is no sound gzip`);
  }
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
      ? outputPages(await filesOf(context, output.manifest_sha256), base)
      : await sitemapPages(context, sitemap_url);
    const found = published
      ? await confirmPatterns(context, snapshot, { routes, site, published })
      : { patterns: patternsOf(routes, site), check: null };
    const { patterns, check } = found;
    const { urlOf } = routesWith(patterns, routes);
    const samples = await samplesOf(context, snapshot, { site, patterns, urlOf });
    const duplicates = await duplicateAddresses(context, snapshot, { site, patterns, urlOf });
    if (save) await saveRoutes(context, { root: chosen ?? detected.root, patterns });
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
      environment_defaults: await defaultsAt(context, snapshot, routes),
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
  return listedPages(await readSitemap(url, { ...services, pool: String(organization.id), signal }));
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
