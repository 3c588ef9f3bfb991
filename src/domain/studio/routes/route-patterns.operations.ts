import { z } from 'zod';
import { grantsChanged } from '../../identity/grants-changed.ts';
import { type ProjectContext, projectOperation } from '../../operation.ts';
import { holdProject } from '../../projects/hold-project.ts';
import { checkStoredPath } from '../path-rules.ts';
import { branchInput, snapshotOf } from '../repository/refs.ts';
import { confirmPatterns, defaultsAt, patternsOf, samplesOf, siteAt } from './detect-patterns.ts';
import { routesWith } from './entry-routes.ts';
import { pathOf } from './page-address.ts';
import { filesOf, findOutput, listedPages, outputPages, type PublishedPages } from './published-pages.ts';
import { detectedRoutes, routePattern, type SavedRoutes } from './routes.schema.ts';
import { readSitemap } from './sitemap/read-sitemap.ts';

const number = z.int32().min(1, 'must be at least 1');
const compared = ['sitemap_url', 'environment_id', 'deployment_id'] as const;
const twoOf = (names: readonly string[]) =>
  names.flatMap((one, index) => names.slice(index + 1).map((other) => ({ required: [one, other] })));

export const detectRoutePatterns = projectOperation({
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
    const { git, services, project } = context;
    if (root) checkStoredPath('root', root);
    const isOutput = environment_id !== undefined || deployment_id !== undefined;
    const output = isOutput ? await findOutput(context, { environment_id, deployment_id }) : null;
    // Pages are compared with the entries they were made of, unless a branch is named.
    const snapshot = await (output && at.branch === undefined ? git.snapshot(output.commit_sha) : snapshotOf(git, at));
    const chosen = root ?? project.settings.content_root;
    const routes = await services.routes.at(git, snapshot, chosen);
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
      warnings: [...routes.warnings, ...warnings],
    };
  },
});

const ofDeployment = ({ id, commit_sha }: { id: number; commit_sha: string }) => ({ deployment_id: id, commit_sha });

async function sitemapPages(
  { services, organization, signal }: ProjectContext,
  url: string | undefined,
): Promise<PublishedPages | null> {
  if (url === undefined) return null;
  return listedPages(await readSitemap(url, { ...services, pool: String(organization.id), signal }));
}

/** Keeps routes for a project. In a transaction of its own, since the sitemap was waited for before. */
async function saveRoutes(context: ProjectContext, routes: SavedRoutes): Promise<void> {
  const { em, services, project, organization } = context;
  await em.transactional(async (within) => {
    const row = await holdProject(within, project.id);
    row.settings = { ...row.settings, routes };
    row.updated_at = services.clock.now();
    await within.flush();
    await grantsChanged(within, organization.id);
  });
  services.grants.evict(organization.id);
}

export const listRoutePatterns = projectOperation({
  name: 'studio.listRoutePatterns',
  kind: 'query',
  permission: 'browse_studio',
  summary: 'The route patterns the project has saved',
  input: z.object({}),
  output: z.array(routePattern),
  execute: async ({ project }) => project.settings.routes?.patterns ?? [],
});
