import { z } from 'zod';
import { grantsChanged } from '../../identity/grants-changed.ts';
import { type ProjectContext, projectOperation } from '../../operation.ts';
import { Project } from '../../projects/project.entity.ts';
import { checkStoredPath } from '../path-rules.ts';
import { branchInput, snapshotOf } from '../repository/refs.ts';
import { confirmPatterns, defaultsAt, patternsOf, samplesOf, siteAt } from './detect-patterns.ts';
import { routesWith } from './entry-routes.ts';
import { pathOf } from './page-address.ts';
import { detectedRoutes, routePattern, type SavedRoutes } from './routes.schema.ts';
import { readSitemap } from './sitemap/read-sitemap.ts';

export const detectRoutePatterns = projectOperation({
  name: 'studio.detectRoutePatterns',
  kind: 'command',
  effect: 'external',
  permission: 'edit_studio',
  summary: 'Auto-detect route patterns of a static-site framework',
  input: z.object({
    ...branchInput,
    root: z.string().max(4096).optional().describe("Directory of the site, '' for the root; default: found"),
    sitemap_url: z.url('must be an address').max(2048).optional().describe('Compares the predictions with a sitemap'),
    save: z.boolean().default(false).describe('Keeps the patterns for the project: its entries then have addresses'),
  }),
  output: detectedRoutes,
  audit: (_input, _output, { project }) => ({ type: 'route_patterns', id: project }),
  async execute(context, { root, sitemap_url, save, ...at }) {
    const { git, services, project, signal, organization } = context;
    if (root) checkStoredPath('root', root);
    const snapshot = await snapshotOf(git, at);
    const chosen = root ?? project.settings.content_root;
    const routes = await services.routes.at(git, snapshot, chosen);
    const { detected, base } = routes;
    const { site, warnings } = await siteAt(context, snapshot, { given: root, found: detected.root });
    const pool = String(organization.id);
    const listed = sitemap_url === undefined ? null : await readSitemap(sitemap_url, { ...services, pool, signal });
    const found =
      listed === null
        ? { patterns: patternsOf(routes, site) }
        : await confirmPatterns(context, snapshot, { routes, site, listed });
    const { urlOf } = routesWith(found.patterns, routes);
    const samples = await samplesOf(context, snapshot, { site, patterns: found.patterns, urlOf });
    const known = new Set(listed?.map(pathOf));
    if (save) await saveRoutes(context, { root: chosen ?? detected.root, patterns: found.patterns });
    return {
      framework: detected.framework,
      root: detected.root,
      base,
      ...found,
      samples: samples.map((one) => ({ ...one, ...(listed && { verified: known.has(pathOf(one.url)) }) })),
      environment_defaults: await defaultsAt(context, snapshot, routes),
      saved: save,
      warnings: [...routes.warnings, ...warnings],
    };
  },
});

/** Keeps routes for a project. In a transaction of its own, since the sitemap was waited for before. */
async function saveRoutes(context: ProjectContext, routes: SavedRoutes): Promise<void> {
  const { em, services, project, organization } = context;
  await em.transactional(async (within) => {
    const row = await within.findOneOrFail(Project, project.id);
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
