import type { SiteFiles } from '../../schema/collection-schema.ts';
import type { Warning } from '../../schema/schema.schema.ts';
import { type CandidateRoot, findCandidates, holds, manifestWith } from './candidate-roots.ts';
import type { Manifest } from './dependencies.ts';
import { type Framework, type FrameworkId, frameworks } from './frameworks.ts';
import { lockedVersion } from './versions.ts';

/** A framework as it was found. */
export interface FoundFramework {
  id: FrameworkId;
  /** The locked version, else the range of the manifest; absent when neither is there. */
  version?: string;
  /** From 0 to 1. */
  confidence: number;
  /** Sentences that say what it was told by. */
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

function score(
  framework: Framework,
  root: CandidateRoot,
  site: SiteFiles,
  manifests: ReadonlyMap<string, readonly Manifest[]>,
): Scored | null {
  const config = root.configs.get(framework);
  const manifest = manifestWith(manifests, root.directory, framework.packages);
  if (config === undefined && manifest?.directory !== root.directory) return null;
  if (framework.needsPackage && manifest === undefined) return null;
  const typical = holds(site, root.directory, framework.typical);
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
  const scored = candidates.flatMap((root) => {
    const found = frameworks.flatMap((one) => score(one, root, site, manifests) ?? []);
    const replaced = new Set(found.flatMap(({ framework }) => framework.over ?? []));
    return found.filter(({ framework }) => !replaced.has(framework.id));
  });
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
  const present = new Set(site.paths.map(({ path }) => path));
  const name = named(manifest, framework) ?? '';
  const locked = await lockedVersion(site, present, root.directory, name);
  const range = manifest.dependencies.find((one) => one.name === name)?.range.trim();
  return locked ?? (range?.replace(/^==/, '') || undefined);
}
