import { findYielding, forEachYielding, setYielding, sortYielding } from '../../../lib/concurrency.ts';
import { literally } from '../../../lib/text.ts';
import type { SiteFiles } from '../schema/collection-schema.ts';
import type { Warning } from '../schema/schema.schema.ts';
import { below, isConfigDirectory } from '../schema/site-layout.ts';
import { directoriesUp, isManifest, type Manifest, nearestFile, readManifest } from './dependencies.ts';
import { type Framework, type FrameworkId, frameworks } from './frameworks.ts';

const maxRoots = 50;
const maxManifests = 100;
/** Levels of directories a site can lie below the top. */
const maxDepth = 4;
const notASite = /(^|\/)(node_modules|vendor|fixtures|__tests__|exampleSite)\//;

/** Configuration files by the framework that reads them. */
interface CandidateRoot {
  directory: string;
  configs: Map<Framework, string>;
}

/** Names a configuration may have, so that most paths are passed over without a pattern. */
const likely = /config|mkdocs\.ya?ml$|hugo\.(toml|ya?ml|json)$|\.eleventy\.|gatsby-node\./;

function addConfig(found: Map<string, CandidateRoot>, path: string): void {
  const parts = path.split('/');
  // Configurations lie at most two directories below their site.
  for (let depth = Math.max(0, parts.length - 3); depth < parts.length && depth <= maxDepth; depth++) {
    const rest = parts.slice(depth).join('/');
    const directory = parts.slice(0, depth).join('/');
    if (isConfigDirectory(directory)) continue;
    for (const framework of frameworks) {
      if (!framework.config.test(rest) && !framework.sharedConfig?.test(rest)) continue;
      const root = found.get(directory) ?? { directory, configs: new Map() };
      found.set(directory, root);
      if (!root.configs.has(framework)) root.configs.set(framework, path);
    }
  }
}

const depthOf = (directory: string) => (directory === '' ? 0 : directory.split('/').length);

const shallowFirst = (a: string, b: string) => depthOf(a) - depthOf(b) || (a < b ? -1 : 1);

/** Directories that may be sites and the package manifests of the repository, the shallowest first. */
async function findCandidates(
  site: SiteFiles,
): Promise<{ roots: CandidateRoot[]; manifests: ReadonlyMap<string, readonly Manifest[]> }> {
  const found = new Map<string, CandidateRoot>();
  const manifestPaths: string[] = [];
  await forEachYielding(site.paths, ({ path }) => {
    const name = path.slice(path.lastIndexOf('/') + 1);
    const manifest = isManifest(name);
    if ((!manifest && !likely.test(path)) || notASite.test(path)) return;
    if (manifest && path.split('/').length <= maxDepth + 1) manifestPaths.push(path);
    if (likely.test(path)) addConfig(found, path);
  });
  const manifests = new Map<string, Manifest[]>();
  for (const path of (await sortYielding(manifestPaths, shallowFirst)).slice(0, maxManifests)) {
    const manifest = await readManifest(site, path);
    if (manifest === null) continue;
    manifests.set(manifest.directory, [...(manifests.get(manifest.directory) ?? []), manifest]);
    const framework = frameworks.find(({ packages }) => uses(manifest, packages));
    if (framework && !found.has(manifest.directory))
      found.set(manifest.directory, { directory: manifest.directory, configs: new Map() });
  }
  const roots = await sortYielding([...found.values()], (a, b) => shallowFirst(a.directory, b.directory));
  return { roots: roots.slice(0, maxRoots), manifests };
}

/** Whether a manifest names one of the packages. */
const uses = ({ dependencies }: Manifest, packages: readonly string[]): boolean =>
  dependencies.some(({ name }) => packages.includes(name));

/** The nearest manifest of the ecosystem, in a directory or above it, that names one of the packages. */
function manifestWith(
  manifests: ReadonlyMap<string, readonly Manifest[]>,
  directory: string,
  packages: readonly string[],
): Manifest | undefined {
  return directoriesUp(directory)
    .flatMap((one) => manifests.get(one) ?? [])
    .find((manifest) => uses(manifest, packages));
}

/** Whether a site's directory holds a file of a kind. */
async function holds(site: SiteFiles, directory: string, pattern: RegExp): Promise<string | undefined> {
  const found = await findYielding(site.paths, ({ path }) => {
    const rest = below(directory, path);
    return rest !== null && pattern.test(rest);
  });
  return found?.path;
}

/** Finds the locked version of a package in the text of a lock file. */
const lockFiles: Record<string, (text: string, name: string) => string | undefined> = {
  'package-lock.json': (text, name) =>
    new RegExp(`"node_modules/${literally(name)}":\\s*\\{\\s*"version":\\s*"([^"]{1,100})"`).exec(text)?.[1],
  'pnpm-lock.yaml': (text, name) => new RegExp(`^ {2}['"]?/?${literally(name)}@(\\d[^('":\\s]*)`, 'm').exec(text)?.[1],
  'yarn.lock': (text, name) =>
    new RegExp(`^"?${literally(name)}@[^\\n]*:\\n {2}version:? "?(\\d[^"\\n]*)`, 'm').exec(text)?.[1],
  'bun.lock': (text, name) => new RegExp(`"${literally(name)}": \\["${literally(name)}@(\\d[^"]*)"`).exec(text)?.[1],
  'Gemfile.lock': (text, name) => new RegExp(`^ {4}${literally(name)} \\((\\d[^)]*)\\)`, 'm').exec(text)?.[1],
};

/** The version of a package that the nearest lock file names; undefined without one, or when it is too large to read. */
async function lockedVersion(
  site: SiteFiles,
  present: ReadonlySet<string>,
  directory: string,
  name: string,
): Promise<string | undefined> {
  const path = nearestFile(present, directory, Object.keys(lockFiles));
  const text = path === undefined ? null : await site.read(path);
  const find = path === undefined ? undefined : lockFiles[path.slice(path.lastIndexOf('/') + 1)];
  return text === null ? undefined : find?.(text.replaceAll('\r\n', '\n'), name);
}

/** A framework as it was found. */
interface FoundFramework {
  id: FrameworkId;
  /** The locked version, else the range of the manifest; absent when neither is there. */
  version?: string;
  /** From 0 to 1. */
  confidence: number;
  /** Sentences that name the evidence. */
  evidence: string[];
}

/** The site of a repository; `root` is its directory, '' for the top. */
export interface DetectedSite {
  framework: FoundFramework | null;
  root: string;
  /** Its configuration file, from the repository's root. */
  config: string | null;
  /** The package manifest that names it, or the nearest of its ecosystem. */
  manifest: Manifest | null;
  warnings: Warning[];
}

interface Scored {
  framework: Framework;
  root: CandidateRoot;
  score: number;
  evidence: string[];
  manifest: Manifest | undefined;
}

const points = { config: 3, dependency: 3, typical: 1 };
const most = points.config + points.dependency + points.typical;

async function score(
  framework: Framework,
  root: CandidateRoot,
  site: SiteFiles,
  manifests: ReadonlyMap<string, readonly Manifest[]>,
): Promise<Scored | null> {
  const config = root.configs.get(framework);
  const manifest = manifestWith(manifests, root.directory, framework.packages);
  if (config === undefined && manifest?.directory !== root.directory) return null;
  if (framework.needsPackage && manifest === undefined) return null;
  const typical = await holds(site, root.directory, framework.typical);
  const rest = config?.slice(root.directory === '' ? 0 : root.directory.length + 1) ?? '';
  if (config !== undefined && framework.sharedConfig?.test(rest) && !typical) return null;
  const evidence = [
    config === undefined ? [] : [`${config} is its configuration`],
    manifest === undefined ? [] : [`${manifest.path} depends on ${named(manifest, framework)}`],
    typical === undefined ? [] : [`${typical} lies where it expects files`],
  ].flat();
  const total =
    (config === undefined ? 0 : points.config) +
    (manifest === undefined ? 0 : points.dependency) +
    (typical === undefined ? 0 : points.typical);
  return { framework, root, score: total, evidence, manifest };
}

const named = ({ dependencies }: Manifest, { packages }: Framework) =>
  packages.find((name) => dependencies.some((one) => one.name === name)) ?? packages[0];

/**
 * Finds the framework that builds a repository's site, from its files alone: configurations, dependencies and typical directories of
 * every directory that may be a site. The highest score wins, then the shallowest directory.
 * @param options.root the site's directory, when it is known; nothing else is looked at then
 */
export async function detectFramework(site: SiteFiles, options: { root?: string } = {}): Promise<DetectedSite> {
  const { roots, manifests } = await findCandidates(site);
  const given = options.root;
  const candidates =
    given === undefined
      ? roots
      : [roots.find(({ directory }) => directory === given) ?? { directory: given, configs: new Map() }];
  const scored: Scored[] = [];
  for (const root of candidates) {
    const found: Scored[] = [];
    for (const one of frameworks) found.push(...[(await score(one, root, site, manifests)) ?? []].flat());
    const replaced = new Set(found.flatMap(({ framework }) => framework.over ?? []));
    scored.push(...found.filter(({ framework }) => !replaced.has(framework.id)));
  }
  // The sort is stable: the first of equals is in the shallowest directory, and earlier in the table.
  const [best, ...others] = scored.sort((a, b) => b.score - a.score);
  if (best === undefined) return { framework: null, root: given ?? '', config: null, manifest: null, warnings: [] };
  const { framework, root, evidence, manifest } = best;
  const directories = new Set(others.map((one) => one.root.directory).filter((one) => one !== root.directory));
  const version = await versionOf(site, best);
  return {
    framework: {
      id: framework.id,
      ...(version !== undefined && { version }),
      confidence: Math.round((best.score / most) * 100) / 100,
      evidence,
    },
    root: root.directory,
    config: root.configs.get(framework) ?? null,
    manifest: manifest ?? null,
    warnings: severalSites(root.directory, [...directories]),
  };
}

function severalSites(root: string, others: readonly string[]): Warning[] {
  if (others.length === 0) return [];
  const list = others.slice(0, 10).map((one) => one || '/');
  const message = `The repository has several sites; "${root || '/'}" is taken, name one by "root": ${list.join(', ')}`;
  return [{ code: 'several_sites', message }];
}

async function versionOf(site: SiteFiles, { framework, root, manifest }: Scored): Promise<string | undefined> {
  if (manifest === undefined) return undefined;
  const present = await setYielding(site.paths, ({ path }) => path);
  const name = named(manifest, framework) ?? '';
  const locked = await lockedVersion(site, present, root.directory, name);
  const range = manifest.dependencies.find((one) => one.name === name)?.range.trim();
  return locked ?? (range?.replace(/^==/, '') || undefined);
}
