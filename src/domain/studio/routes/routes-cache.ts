import { LRUCache } from 'lru-cache';
import type { Repository } from '../../../ports/git.ts';
import type { Snapshot, TreeFile } from '../../../ports/git-records.ts';
import { siteFilesOf } from '../content/site-files.ts';
import { compareListings } from '../content/site-index.ts';
import { type DetectedSite, detectFramework } from '../frameworks/detect-framework.ts';
import { routeReaders } from '../frameworks/route-readers.ts';
import { encodePath } from '../frameworks/routing/paths.ts';
import type { PageFile, RouteContext, RouteEvidence } from '../frameworks/routing/route-rule.ts';
import type { SiteFiles } from '../schema/collection-schema.ts';
import type { Warning } from '../schema/schema.schema.ts';
import { viewOf } from '../view.ts';

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
  const reading: RouteContext = {
    site,
    paths,
    present: new Set(paths),
    layout: { root: detected.root, given: false, framework: null, locales: null },
    warnings: [...detected.warnings],
    dependencies: new Set<string>(),
    detected,
  };
  const rule = detected.framework && (await routeReaders[detected.framework.id](reading));
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

/** Routes with a name: equal keys mean equal routes. */
interface KeyedRoutes extends SiteRoutes {
  key: string;
}

/** Files whose appearance can change where others are published: code, configuration, and the indexes of directories. */
const mayMatter =
  /\.(astro|[cm]?[jt]sx?|svelte|json|ya?ml|toml|lock)$|(^|\/)(_?index(\.[\w-]+)?\.\w+|Gemfile|go\.mod|requirements\.txt|\.\w+ignore)$/;

/** The routes of sites by their trees; read again only when a file they rest on is another one. */
export class RoutesCache {
  readonly #trees = new LRUCache<string, Promise<KeyedRoutes>>({ max: 64 });
  readonly #latest = new LRUCache<string, { files: readonly TreeFile[]; routes: KeyedRoutes }>({ max: 64 });

  /** @param root the site's directory; null: found by its configuration */
  at(git: Repository, snapshot: Snapshot, root: string | null): Promise<KeyedRoutes> {
    const site = JSON.stringify([git.id, root]);
    const key = `${site}:${snapshot.tree}`;
    const known = this.#trees.get(key);
    if (known) return known;
    const made = this.#make(git, snapshot, root, site);
    this.#trees.set(key, made);
    made.catch(() => this.#trees.delete(key));
    return made;
  }

  async #make(git: Repository, snapshot: Snapshot, root: string | null, site: string): Promise<KeyedRoutes> {
    const files = await snapshot.files();
    const latest = this.#latest.get(site);
    const routes =
      latest && !changesRoutes(latest, files)
        ? latest.routes
        : await this.#read(git, snapshot, root === null ? {} : { root });
    this.#latest.set(site, { files, routes });
    return routes;
  }

  async #read(git: Repository, snapshot: Snapshot, options: { root?: string }): Promise<KeyedRoutes> {
    const site = await siteFilesOf(git, snapshot);
    const routes = await readRoutes(site, options);
    const rests = site.paths.filter(({ path }) => routes.dependencies.has(path)).map(({ path, oid }) => [path, oid]);
    const present = site.paths.filter(({ path }) => mayMatter.test(path)).map(({ path }) => path);
    return { ...routes, key: viewOf([rests, present]) };
  }
}

function changesRoutes(
  { files, routes }: { files: readonly TreeFile[]; routes: KeyedRoutes },
  now: readonly TreeFile[],
): boolean {
  const { added, removed, modified } = compareListings(files, now);
  const { dependencies, detected } = routes;
  const read = ({ path }: TreeFile) => dependencies.has(path) || path === detected.manifest?.path;
  return modified.some(read) || [...added, ...removed].some((file) => read(file) || mayMatter.test(file.path));
}
