import type { SiteFiles } from '../schema/collection-schema.ts';
import type { Warning } from '../schema/schema.schema.ts';
import { type DetectedSite, detectFramework } from './framework/detect-framework.ts';
import { encodePath } from './rules/paths.ts';
import { ruleReaders } from './rules/read-rule.ts';
import type { PageFile, RouteEvidence, RouteReading } from './rules/rule.ts';

/** Where the site of a repository publishes its files, as its framework and its configuration have it. */
export interface SiteRoutes {
  detected: DetectedSite;
  /** Path of a page's URL with the site's base, percent-encoded; null for what is no page. */
  urlOf(file: PageFile): string | null;
  /** null: there is no rule at all. */
  evidenceOf(path: string): RouteEvidence | null;
  isDue(file: PageFile, now: Date): boolean;
  /** The path all of the site lies below; `''` for none. */
  base: string;
  warnings: readonly Warning[];
  /** Files that were read. */
  dependencies: ReadonlySet<string>;
}

const maxWarnings = 100;

/**
 * Reads the routes of a site from its files alone: nothing of it is run, and whatever is not understood becomes a warning.
 * @param options.root the site's directory, when it is known
 */
export async function readRoutes(site: SiteFiles, options: { root?: string } = {}): Promise<SiteRoutes> {
  const detected = await detectFramework(site, options);
  const paths = site.paths.map(({ path }) => path);
  const reading: RouteReading = {
    site,
    paths,
    present: new Set(paths),
    layout: { root: detected.root, given: false, framework: null, locales: null },
    warnings: [...detected.warnings],
    dependencies: new Set<string>(),
    detected,
  };
  const rule = detected.framework && (await ruleReaders[detected.framework.id](reading));
  const base = rule?.base ?? '';
  return {
    detected,
    base,
    urlOf(file) {
      const path = rule?.urlOf(file) ?? null;
      return path === null ? null : encodePath(base + path);
    },
    evidenceOf: (path) => rule?.evidenceOf(path) ?? null,
    isDue: (file, now) => rule?.isDue?.(file, now) ?? true,
    warnings: reading.warnings.slice(0, maxWarnings),
    dependencies: reading.dependencies,
  };
}
