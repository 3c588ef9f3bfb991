import type { SiteFiles } from '../../schema/collection-schema.ts';
import { below } from '../../schema/site-layout.ts';
import { directoriesUp, isManifest, type Manifest, readManifest } from './dependencies.ts';
import { type Framework, frameworks } from './frameworks.ts';

const maxRoots = 50;
const maxManifests = 100;
/** Levels of directories a site can lie below the top. */
const maxDepth = 4;
const notASite = /(^|\/)(node_modules|vendor|fixtures|__tests__|exampleSite)\//;

/** Configuration files by the framework that reads them. */
export interface CandidateRoot {
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
    for (const framework of frameworks) {
      if (!framework.config.test(rest) && !framework.sharedConfig?.test(rest)) continue;
      const root = found.get(directory) ?? { directory, configs: new Map() };
      found.set(directory, root);
      if (!root.configs.has(framework)) root.configs.set(framework, path);
    }
  }
}

const depthOf = (directory: string) => (directory === '' ? 0 : directory.split('/').length);

/** Directories that may be sites and the package manifests of the repository, the shallowest first. */
export async function findCandidates(
  site: SiteFiles,
): Promise<{ roots: CandidateRoot[]; manifests: ReadonlyMap<string, readonly Manifest[]> }> {
  const found = new Map<string, CandidateRoot>();
  const manifestPaths: string[] = [];
  for (const { path } of site.paths) {
    const name = path.slice(path.lastIndexOf('/') + 1);
    const manifest = isManifest(name);
    if ((!manifest && !likely.test(path)) || notASite.test(path)) continue;
    if (manifest && path.split('/').length <= maxDepth + 1) manifestPaths.push(path);
    if (likely.test(path)) addConfig(found, path);
  }
  manifestPaths.sort((a, b) => depthOf(a) - depthOf(b) || (a < b ? -1 : 1));
  const manifests = new Map<string, Manifest[]>();
  for (const path of manifestPaths.slice(0, maxManifests)) {
    const manifest = await readManifest(site, path);
    if (manifest === null) continue;
    manifests.set(manifest.directory, [...(manifests.get(manifest.directory) ?? []), manifest]);
    const framework = frameworks.find(({ packages }) => uses(manifest, packages));
    if (framework && !found.has(manifest.directory))
      found.set(manifest.directory, { directory: manifest.directory, configs: new Map() });
  }
  const roots = [...found.values()].sort(
    (a, b) => depthOf(a.directory) - depthOf(b.directory) || (a.directory < b.directory ? -1 : 1),
  );
  return { roots: roots.slice(0, maxRoots), manifests };
}

/** Whether a manifest names one of the packages. */
export const uses = ({ dependencies }: Manifest, packages: readonly string[]): boolean =>
  dependencies.some(({ name }) => packages.includes(name));

/** The nearest manifest of the ecosystem, in a directory or above it, that names one of the packages. */
export function manifestWith(
  manifests: ReadonlyMap<string, readonly Manifest[]>,
  directory: string,
  packages: readonly string[],
): Manifest | undefined {
  return directoriesUp(directory)
    .flatMap((one) => manifests.get(one) ?? [])
    .find((manifest) => uses(manifest, packages));
}

/** Whether a site's directory holds a file of a kind. */
export const holds = (site: SiteFiles, directory: string, pattern: RegExp): string | undefined =>
  site.paths.find(({ path }) => {
    const rest = below(directory, path);
    return rest !== null && pattern.test(rest);
  })?.path;
