import { filterYielding, findYielding, mapYielding, setYielding } from '../../../lib/concurrency.ts';
import { VersionCache } from '../../../lib/version-cache.ts';
import type { Repository } from '../../../ports/git.ts';
import type { FileChange, Oid, Snapshot } from '../../../ports/git-records.ts';
import { siteFilesOf } from '../content/site-files.ts';
import { type DetectedSite, detectFramework } from '../frameworks/detect-framework.ts';
import { type EnvironmentDefaults, environmentDefaults } from '../frameworks/environment-defaults.ts';
import { routeReaders } from '../frameworks/route-readers.ts';
import { encodePath } from '../frameworks/routing/paths.ts';
import {
  type LinkForms,
  longestAddress,
  mostAliases,
  type PageFile,
  type RouteContext,
  type RouteEvidence,
} from '../frameworks/routing/route-rule.ts';
import type { SiteFiles } from '../schema/collection-schema.ts';
import { budgeted } from '../schema/reader.ts';
import type { Warning } from '../schema/schema.schema.ts';
import { viewOf } from '../view.ts';

/** Where the site of a repository publishes its files, as its framework and its configuration have it. */
export interface SiteRoutes {
  /** Equal keys mean equal routes. */
  key: string;
  detected: DetectedSite;
  /** Path of a page's URL with the site's base, percent-encoded; null for what is no page. */
  urlOf(file: PageFile): string | null;
  /** Further paths of the site that lead on to the page of a file, in the same form. */
  aliasesOf(file: PageFile): string[];
  /** Why a file has no page, where the framework's rule says more than that it has none. */
  whyNone(file: PageFile): string | null;
  /** null: there is no rule at all. */
  evidenceOf(path: string): RouteEvidence | null;
  isDue(file: PageFile, now: Date): boolean;
  /** The path all of the site lies below; `''` for none. */
  base: string;
  /** How it is built. */
  defaults: EnvironmentDefaults;
  /** How texts of entries name what has an address. */
  links: LinkForms;
  warnings: readonly Warning[];
  /** Files that were read. */
  dependencies: ReadonlySet<string>;
  /** How many files the site has, whose paths its rule holds. */
  files: number;
  /** Characters that its rule holds beside them. */
  held: number;
}

const maxWarnings = 100;

/** Files whose appearance can change where others are published: code, configuration, and the indexes of directories. */
const mayMatter =
  /\.(astro|[cm]?[jt]sx?|svelte|json|ya?ml|toml|lockb?)$|(^|\/)(_?index(\.[\w-]+)?\.\w+|Gemfile|go\.mod|requirements\.txt|\.\w+ignore)$/;

/**
 * Reads the routes of a site from its files alone: nothing of it is run, and whatever is not understood becomes a warning.
 * @param options.root the site's directory, when it is known
 */
export async function readRoutes(files: SiteFiles, options: { root?: string } = {}): Promise<SiteRoutes> {
  const site = budgeted(files);
  const detected = await detectFramework(site, options);
  const paths = await mapYielding(site.paths, ({ path }) => path);
  const reading: RouteContext = {
    site,
    paths,
    present: await setYielding(site.paths, ({ path }) => path),
    layout: { root: detected.root, given: false, framework: null, locales: null },
    warnings: [...detected.warnings],
    dependencies: new Set<string>(),
    settings: new Set<string>(),
    detected,
  };
  const rule = detected.framework && (await routeReaders[detected.framework.id](reading));
  const base = rule?.base ?? '';
  const unreadable = reading.warnings.find(
    ({ code, path }) => code === 'config_unreadable' && path === detected.config,
  );
  const unknown = unreadable ? detected.config : (rule?.undetermined ?? null);
  const { dependencies } = reading;
  // By steps of its own: what routes have used up takes nothing from it.
  const defaults = await environmentDefaults({ paths: files.paths, read: files.read }, detected, dependencies);
  const rests = await filterYielding(site.paths, ({ path }) => dependencies.has(path));
  const present = await filterYielding(site.paths, ({ path }) => mayMatter.test(path));
  const addressOf = (path: string): string | null => {
    const whole = base + path;
    return whole.length > longestAddress ? null : encodePath(whole);
  };
  return {
    key: viewOf([rests.map(({ path, oid }) => [path, oid]), present.map(({ path }) => path)]),
    defaults,
    detected,
    base,
    links: rule?.links ?? { files: 'address', pages: 'address' },
    urlOf(file) {
      const path = unknown === null ? (rule?.urlOf(file) ?? null) : null;
      return path === null ? null : addressOf(path);
    },
    aliasesOf(file) {
      const paths = unknown === null ? (rule?.aliasesOf?.(file) ?? []) : [];
      return paths.slice(0, mostAliases).flatMap((path) => addressOf(path) ?? []);
    },
    whyNone(file) {
      if (unknown !== null) return `${unknown} decides about its address and cannot be determined`;
      const path = rule?.urlOf(file);
      if (path != null && addressOf(path) === null) return `Its address is longer than ${longestAddress} characters`;
      return rule?.whyNone?.(file) ?? null;
    },
    evidenceOf: (path) => rule?.evidenceOf(path) ?? null,
    isDue: (file, now) => rule?.isDue?.(file, now) ?? true,
    warnings: reading.warnings.slice(0, maxWarnings),
    dependencies,
    files: paths.length,
    held: rule?.held ?? 0,
  };
}

/** Trees that differ in more files than this are read anew. */
const mostChanges = 10_000;

/** Characters that a rule holds for the path of a file. */
const charactersPerFile = 200;

/** The routes of sites by their trees; read again only when a file they rest on is another one. */
export class RoutesCache {
  readonly #routes = new VersionCache<{ tree: Oid | null; routes: SiteRoutes }>({
    versions: 64,
    subjects: 64,
    weight: { most: 300_000, of: ({ routes }) => routes.files + Math.ceil(routes.held / charactersPerFile) },
  });

  /** @param root the site's directory; null: found by its configuration */
  async at(git: Repository, snapshot: Snapshot, root: string | null): Promise<SiteRoutes> {
    const { tree } = snapshot;
    const site = JSON.stringify([git.id, root]);
    const { routes } = await this.#routes.of(site, tree ?? '', async (latest) => {
      // The last tree may be gone since its branch was moved by force.
      const changes = latest ? await snapshot.changesSince(latest.tree, mostChanges).catch(() => null) : null;
      const isSame =
        latest && changes && !(await findYielding(changes, (change) => changesRoutes(latest.routes, change)));
      if (isSame) return { tree, routes: latest.routes };
      return { tree, routes: await readRoutes(await siteFilesOf(snapshot), root === null ? {} : { root }) };
    });
    return routes;
  }
}

/** Whether a file that came, went or changed may be one that routes rest on. */
function changesRoutes({ dependencies, detected }: SiteRoutes, { path, before, after }: FileChange): boolean {
  if (dependencies.has(path) || path === detected.manifest?.path) return true;
  return (before === null || after === null) && mayMatter.test(path);
}
