import type { ErrorCode } from '../../../kernel/errors.ts';
import { maxEntryBytes } from '../entries/saved-entry.ts';
import { directoryOf, nameOf } from '../frameworks/routing/paths.ts';
import { mediaRootOf } from '../media/media-facts.ts';
import { mediaNameProblem, mediaTypeProblem } from '../media/media-types.ts';
import { gitSettings, nameProblem, pathProblem } from '../path-rules.ts';
import type { CollectionSchema } from '../schema/collection-schema.ts';
import { isBelowContent } from '../schema/inferred-groups.ts';
import { lists } from '../schema/path-set.ts';
import { below, dataExtensions, extensionOf, isSettings, joinPath, markdownExtensions } from '../schema/site-layout.ts';
import { schemaAt } from './collection-index.ts';
import type { SiteIndex } from './site-index.ts';

/**
 * What edit_studio alone may bring into a repository: entries and media. The endpoints and pushes judge by the same rule, `refusalOf`; with
 * manage_studio a push may bring anything. The rule is about rights, so it does not hold an entry against its schema; and what the endpoints
 * only tidy up in a name (spaces, Unicode forms) is no reason to refuse a push.
 */

/** A file as it is to be stored. */
export interface OfferedFile {
  path: string;
  /** Bytes. */
  size: number;
  /** The first 4 KiB, or all of a shorter one. */
  head: Buffer;
}

/** Why a file is not admitted: what is wrong with its path or content, as a sentence part. */
export interface Refusal {
  code: Extract<ErrorCode, 'forbidden' | 'invalid_path' | 'invalid_name' | 'too_large' | 'unsupported_media'>;
  of: 'path' | 'content';
  problem: string;
}

/** Files by which git itself treats others differently are code, wherever they lie. */
function steersGit(path: string): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1);
  return /^\.(?:git[a-z]*|lfsconfig)$/i.test(name) || gitSettings(name) !== null;
}

export const isRegular = (mode: string) => mode === '100644' || mode === '100755';

/** Names of text by which package managers install, and CMake builds. */
const textOfPrograms =
  /(?:^|\/)(?:(?:[\w.-]+[._-])?(?:requirements|constraints)(?:[._-][\w.-]+)?|requirements\/[^/]+|CMakeLists)\.txt$/i;

/** Names of data by which packages are installed, sites are built and code is compiled, in whatever directory they lie. */
const dataOfPrograms =
  /^(?:package(?:-lock)?|npm-shrinkwrap|composer|lerna|nx|turbo|rush|vercel|netlify|wrangler|deno|bunfig|import-map|[jt]sconfig(?:\.[\w.-]+)?|cargo|pyproject|pnpm-(?:lock|workspace)|nixpacks|mise|rust-toolchain|docker-compose(?:\.[\w.-]+)?|[\w.-]+\.config)\.(?:json|ya?ml|toml)$/i;
/** Names that mean a program's configuration at the top of a site or a repository, and elsewhere may be any data. */
const dataAtTop =
  /^(?:_?config(?:\.[\w.-]+)?|hugo|mkdocs|theme|compose(?:\.[\w.-]+)?|app|project|render|fly|railway|heroku|static|now|firebase|environment|amplify|buildspec|appspec|cloudbuild|azure-pipelines|bitbucket-pipelines|appveyor|readthedocs|taskfile(?:\.[\w.-]+)?|lefthook|moon|uv|renovate)\.(?:json|ya?ml|toml)$/i;
/** Data of MkDocs that is hidden from the site and is content. */
const hiddenContent = /^\.(?:authors|meta)\.ya?ml$/;

/**
 * Whether data is what programs are configured by, as its name says: a pattern that is as wide as a repository has it, too. What a configuration
 * lists as a file is content all the same.
 */
function configuresPrograms({ path: directory, paths }: CollectionSchema, path: string, root: string): boolean {
  if (!dataExtensions.some((one) => one === extensionOf(path)) || lists(paths, path)) return false;
  const name = nameOf(path);
  if (dataOfPrograms.test(name)) return true;
  const place = directoryOf(path);
  if ((place === '' || place === root) && dataAtTop.test(name)) return true;
  const inside = (below(directory, path) ?? path).split('/');
  return inside.some((segment) => segment.startsWith('.') && !hiddenContent.test(segment));
}

/**
 * Whether data is in a collection only because pages lie beside it, or because a framework takes its values from wherever it is. Programs may read it,
 * and who adds pages could have it become content: with Eleventy `app.json` gives values to `app.md`; what is called `.11tydata.json` is for nothing
 * else.
 */
function isLoose(schema: CollectionSchema, path: string, root: string): boolean {
  const { kind, source, path: directory, paths, extensions, matches } = schema;
  if (kind !== 'data') return false;
  if (source.kind === 'inference') return !isBelowContent(directory, root);
  const isBeside = source.kind === 'eleventy' && paths.kind === 'listed';
  if (isBeside && path.endsWith('.11tydata.json')) return false;
  // No file that is listed has this name, which stands for any at the top.
  const isAnywhere = () => extensions.some((one) => ['', root].some((top) => matches(joinPath(top, `-.${one}`))));
  return (isBeside || isAnywhere()) && !isBelowContent(directoryOf(path), root);
}

/**
 * Whether a file is code although a collection or a directory of media has it: what says which files are content, data that only lies beside pages,
 * and text that programs are installed by.
 * @param schema of the collection that has the file
 * @returns why, as a sentence part; null: it is as its place says
 */
export function codeProblem(
  { discovery }: SiteIndex,
  path: string,
  schema: ReturnType<typeof schemaAt>,
): string | null {
  if (isSettings(discovery, path)) return 'says which files are content';
  if (textOfPrograms.test(path)) return 'is what programs are installed or built by';
  if (schema === undefined) return null;
  if (configuresPrograms(schema, path, discovery.contentRoot)) return 'is what programs are configured by';
  return isLoose(schema, path, discovery.contentRoot) ? 'is data that no configuration declares as content' : null;
}

/**
 * Whether a file of this name and mode is content or media of a site, which may be changed and deleted without manage_studio. What it holds is
 * `refusalOf`'s matter.
 */
export function isContent(site: SiteIndex, path: string, mode: string): boolean {
  if (!isRegular(mode) || steersGit(path)) return false;
  const schema = schemaAt(site, path);
  if (codeProblem(site, path, schema) !== null) return false;
  if (schema) return true;
  return mediaRootOf(site, path) !== null && mediaNameProblem(path) === null && mediaTypeProblem(path, null) === null;
}

/**
 * Whether a site says of a file that it is content, beyond what follows from files that lie together: pages are, wherever others are, but data
 * beside them may be what programs read.
 */
export function isDeclaredContent(site: SiteIndex, path: string, mode: string): boolean {
  if (!isContent(site, path, mode)) return false;
  return schemaAt(site, path)?.inferred !== true || markdownExtensions.some((one) => path.endsWith(`.${one}`));
}

/** What no new name of an entry or a file may be; null when it may. */
export function refusalOfName(path: string): Refusal | null {
  const fault = pathProblem(path);
  if (fault !== null) return { code: 'invalid_path', of: 'path', problem: fault };
  if (steersGit(path))
    return { code: 'invalid_path', of: 'path', problem: 'is a file that configures git, not content' };
  const unwise = nameProblem(path);
  return unwise === null ? null : { code: 'invalid_name', of: 'path', problem: unwise };
}

/**
 * What a file of media may not be, wherever it lies; null when it is one.
 * @param limit of the instance, bytes
 */
export function refusalOfMedia({ path, size, head }: OfferedFile, limit: number): Refusal | null {
  const unwise = mediaNameProblem(path);
  if (unwise !== null) return { code: 'invalid_name', of: 'path', problem: unwise };
  if (size > limit) return { code: 'too_large', of: 'content', problem: `must be at most ${limit} bytes` };
  const type = mediaTypeProblem(path, head);
  return type === null ? null : { code: 'unsupported_media', ...type };
}

/**
 * Why a file is not admitted with edit_studio alone; null when it is, as an entry or as media of the site.
 * @param mediaLimit of the instance, bytes
 */
export function refusalOf(site: SiteIndex, file: OfferedFile, mediaLimit: number): Refusal | null {
  const { path, size } = file;
  const schema = schemaAt(site, path);
  const isEntry = schema !== undefined;
  const problem = codeProblem(site, path, schema);
  if (problem !== null) return { code: 'forbidden', of: 'path', problem };
  if (steersGit(path) || (!isEntry && mediaRootOf(site, path) === null))
    return { code: 'forbidden', of: 'path', problem: 'is outside collections and media' };
  const refused = refusalOfName(path);
  if (refused !== null || !isEntry) return refused ?? refusalOfMedia(file, mediaLimit);
  if (size <= maxEntryBytes) return null;
  return { code: 'too_large', of: 'content', problem: `must be at most ${maxEntryBytes} bytes, as every entry` };
}
