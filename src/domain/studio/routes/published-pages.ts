import { DomainError, fieldError } from '../../../kernel/errors.ts';
import { mapYielding } from '../../../lib/concurrency.ts';
import { normalized } from '../../../lib/text.ts';
import { locateDeployment } from '../deployments/deployment-record.ts';
import { readManifest } from '../deployments/manifest.ts';
import { locateEnvironment } from '../environments/environment-record.ts';
import { decodePath } from '../frameworks/routing/paths.ts';
import type { StudioContext } from '../studio.ts';

/** The path of an address, decoded; the origin, query and fragment go. */
export function pathOf(url: string): string {
  const path = url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '').replace(/[?#].*/s, '');
  return normalized(decodePath(path === '' ? '/' : path));
}

/** What addresses of one page share, with a slash at the end or without, with `index.html` or `.html` or without. */
export const pageKey = (url: string): string =>
  pathOf(url)
    .replace(/\/index\.html?$/, '/')
    .replace(/\.html?$/, '')
    .replace(/(?<!\/)\/+$/, '');

/** The pages that a site has, by what it says of itself or by the files it consists of. */
export interface PublishedPages {
  /** Each once, the way it is shown. */
  pages: readonly string[];
  /** Pages by every path they answer at, decoded. */
  addresses: ReadonlyMap<string, string>;
}

/** Pages a sitemap lists. */
export async function listedPages(urls: readonly string[]): Promise<PublishedPages> {
  return { pages: urls, addresses: new Map(await mapYielding(urls, (url) => [pathOf(url), url] as const)) };
}

/** Paths a page answers at beside its own, by the rules of the preview origin. */
function cleanPaths(file: string): string[] {
  const directory = /^(.*\/|)index\.html$/.exec(file)?.[1];
  if (directory !== undefined) return [directory, directory.slice(0, -1)];
  return file.endsWith('.html') ? [file.slice(0, -'.html'.length)] : [];
}

/**
 * Pages of a published output.
 * @param files paths relative to the output directory, not encoded
 * @param base path all of the site lies below, such as `/docs`; files are written without it
 */
export async function outputPages(files: readonly string[], base: string): Promise<PublishedPages> {
  const clean = files.flatMap((file) => cleanPaths(file).map((path) => [path, file] as const));
  // Of two files that answer at one path the exact one counts.
  const all = [...clean, ...files.map((file) => [file, file] as const)];
  return {
    pages: files.filter((file) => /\.html?$/.test(file) && file !== '404.html'),
    addresses: new Map(await mapYielding(all, ([path, file]) => [normalized(`${base}/${path}`), file] as const)),
  };
}

/** Names what is published: an environment, or one of its deployments. */
interface OutputName {
  environment_id?: number | undefined;
  deployment_id?: number | undefined;
}

/**
 * The deployment whose output is meant.
 * @throws DomainError `not_found`, `validation_failed` where there is no output (any more)
 */
export async function findOutput(context: Pick<StudioContext, 'em' | 'project'>, name: OutputName) {
  const field = name.deployment_id === undefined ? 'environment_id' : 'deployment_id';
  const id = name.deployment_id ?? (await publishedIn(context, name.environment_id ?? 0));
  const { manifest_sha256, commit_sha } = await locateDeployment(context, id);
  if (manifest_sha256) return { id, commit_sha, manifest_sha256 };
  throw fieldError(
    'validation_failed',
    field,
    `deployment ${id} has no files here; compare with a sitemap_url instead`,
  );
}

async function publishedIn(context: Pick<StudioContext, 'em' | 'project'>, id: number): Promise<number> {
  const { published_deployment_id: published } = await locateEnvironment(context, id);
  if (published) return published;
  throw fieldError('validation_failed', 'environment_id', `environment ${id} shows nothing yet: deploy to it first`);
}

/** Files of a deployment's output. @throws DomainError `not_found` when they were let go a moment ago */
export async function filesOf({ services }: Pick<StudioContext, 'services'>, manifest: string): Promise<string[]> {
  try {
    return (await readManifest(services.blobs, manifest)).map(([path]) => path);
  } catch (cause) {
    if (!(cause instanceof DomainError) || cause.code !== 'not_found') throw cause;
    throw new DomainError('not_found', 'deployment_id: its files are not kept any more', { cause });
  }
}
