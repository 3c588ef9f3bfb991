import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import type { EntityManager } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { DomainError } from '../../../../kernel/errors.ts';
import { forEachYielding, inPieces, mapYielding, Pace } from '../../../../lib/concurrency.ts';
import { foldCase } from '../../../../lib/text.ts';
import type { Snapshot, TreeFile } from '../../../../ports/git-records.ts';
import type { Change, StagedTree } from '../../../../ports/git-writes.ts';
import type { ProjectContext } from '../../../projects/operation.ts';
import { PlannedContents } from '../../../studio/changes/staged-content.ts';
import { checkFree } from '../../../studio/changes/write-rules.ts';
import type { LinkMapper } from '../rewrite/carrier.ts';
import { rewritableKind, rewriteContent } from '../rewrite/rewrite-content.ts';
import type { SkippedFile, SnapshotOrigins } from '../snapshot.entity.ts';
import { type CapturedFile, directoriesOf, inTextOrder, manifestPath, placeIn, sharedFolders } from './map-files.ts';

const oid = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/);

const manifest = z.object({
  snapshot: z.int(),
  origin: z.string(),
  /** File of each URL. */
  files: z.record(z.string(), z.string()),
  redirects: z.record(z.string(), z.object({ status: z.int(), to: z.string() })),
  /** Object id of every file that imports have written here: what has another one now was edited since. */
  written: z.record(z.string(), oid),
});

/** What imports have written into a directory; paths are relative to it. */
type ImportManifest = z.output<typeof manifest>;

const sorted = <T>(record: Record<string, T>): Record<string, T> =>
  Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)));

/** The same content always gives the same text. */
function manifestText({ snapshot, origin, files, redirects, written }: ImportManifest): Buffer {
  const shown = { snapshot, origin, files: sorted(files), redirects: sorted(redirects), written: sorted(written) };
  return Buffer.from(`${JSON.stringify(shown, null, 2)}\n`);
}

/** @returns null for what no import has written */
function readManifest(content: Buffer): ImportManifest | null {
  try {
    return manifest.safeParse(JSON.parse(content.toString('utf8'))).data ?? null;
  } catch {
    return null;
  }
}

/** Whether two say the same, whichever snapshots they are of. */
const isSameManifest = (one: ImportManifest, other: ImportManifest): boolean =>
  manifestText({ ...one, snapshot: 0 }).equals(manifestText({ ...other, snapshot: 0 }));

/** A file of a snapshot as it is to stand in the repository; `path` is relative to the directory. */
interface ImportedFile {
  path: string;
  url: string;
  oid: string;
  content: Change['content'];
}

export interface ImportPlan {
  changes: Change[];
  added: number;
  changed: number;
  removed: number;
  skipped: SkippedFile[];
}

export interface Importing {
  /** '' is the root. */
  directory: string;
  mode: 'mirror' | 'add';
  files: readonly ImportedFile[];
  /** What the manifest says beside what has been written. */
  about: Omit<ImportManifest, 'written'>;
}

const below = (directory: string, path: string) => (directory === '' ? path : `${directory}/${path}`);

/** Files of the directory by their path; a new one has none. @throws DomainError `not_editable` when it is no directory */
async function standing(head: StagedTree, directory: string): Promise<Map<string, TreeFile>> {
  if (directory !== '') {
    const { entry, blocked } = await head.lookup(directory);
    if (blocked !== null || (entry !== null && entry.mode !== '40000'))
      throw new DomainError('not_editable', `directory: ${blocked ?? directory} is not a directory`);
  }
  return new Map((await head.files(directory)).map((file) => [file.path, file]));
}

/**
 * What an earlier import into the directory has written; null: there was no import.
 * @throws DomainError `not_editable` when another file is at its place, and what `checkFree` throws when no new one can stand there
 */
async function earlierImport(
  head: StagedTree,
  directory: string,
  files: Map<string, TreeFile>,
): Promise<ImportManifest | null> {
  const file = files.get(manifestPath);
  if (!file) {
    await checkFree(head, below(directory, manifestPath), 'directory');
    return null;
  }
  const found = readManifest(await head.blob(file.oid));
  if (found) return found;
  throw new DomainError('not_editable', `directory: ${manifestPath} is there and was not written by an import`);
}

/** What earlier imports have written into a directory, of the files that are there. */
export async function standingOfImports(head: Snapshot, present: ReadonlyMap<string, string>): Promise<string[]> {
  const file = present.get(manifestPath);
  const earlier = file === undefined ? null : readManifest(await head.blob(file));
  return Object.keys(earlier?.written ?? {}).filter((path) => present.has(path));
}

/**
 * Finds whether a new file cannot stand among others: one of its folders is a file, it is a folder, or it differs from one of them, or a folder from
 * one of theirs, only in case or normalisation. Whole paths are compared, for a folder may be there in two spellings, and no folder of theirs is
 * kept: of deep paths they are dozens of times as many.
 */
async function blockedBy(paths: readonly string[]): Promise<(path: string) => boolean> {
  const inOrder = await inTextOrder(paths);
  const isTaken = await directoriesOf(await mapYielding(paths, (path) => `${path}/`));
  return (path) => {
    // Of the folders of a path, one of its neighbours has all that are there.
    const at = placeIn(inOrder, path);
    const known = Math.max(...[at - 1, at].map((beside) => sharedFolders(path, inOrder[beside] ?? '')));
    const end = path.indexOf('/', known);
    return isTaken(foldCase(end < 0 ? path : path.slice(0, end)));
  };
}

/**
 * Finds which of the files that are to go stay after all, for what is to replace them under another spelling cannot stand: the page would be gone.
 * What stays may be in the way of others.
 * @param there what stays in any case
 */
async function replacing(
  there: readonly string[],
  leaving: readonly string[],
  fresh: readonly string[],
): Promise<{ isBlocked: (path: string) => boolean; kept: Set<string> }> {
  const kept = new Set<string>();
  const replaced = new Map(await mapYielding(leaving, (path) => [foldCase(path), path]));
  const replacements =
    leaving.length === 0
      ? []
      : (await mapYielding(fresh, (path) => ({ path, old: replaced.get(foldCase(path)) }))).filter(({ old }) => old);
  for (;;) {
    const isBlocked = await blockedBy([...there, ...kept]);
    const { size } = kept;
    await forEachYielding(replacements, ({ path, old }) => {
      if (old !== undefined && !kept.has(old) && isBlocked(path)) kept.add(old);
    });
    if (kept.size === size) return { isBlocked, kept };
  }
}

/** Decides about every file of a snapshot, and about every one an earlier import has left. */
export async function planImport(head: StagedTree, { directory, mode, files, about }: Importing): Promise<ImportPlan> {
  const there = await standing(head, directory);
  const earlier = await earlierImport(head, directory, there);
  const ours = new Map(Object.entries(earlier?.written ?? {}));
  const plan: ImportPlan = { changes: [], added: 0, changed: 0, removed: 0, skipped: [] };
  const written = new Map<string, string>();
  const wanted = new Set(files.map(({ path }) => path));
  const leaving = new Map<string, string>();
  for (const [path, oid] of ours) {
    const current = there.get(path);
    if (wanted.has(path) || !current) continue;
    if (mode === 'add' || current.oid !== oid) written.set(path, oid);
    if (mode === 'add') continue;
    if (current.oid !== oid) plan.skipped.push({ path, url: null, reason: 'edited' });
    else {
      leaving.set(path, oid);
      there.delete(path);
    }
  }
  const fresh = files.flatMap(({ path }) => (there.has(path) ? [] : [path]));
  const { isBlocked, kept } = await replacing([...there.keys()], [...leaving.keys()], fresh);
  for (const [path, oid] of leaving) {
    if (kept.has(path)) written.set(path, oid);
    else plan.changes.push({ path: below(directory, path), content: null });
  }
  plan.removed = leaving.size - kept.size;
  const pace = new Pace();
  for (const { path, url, oid, content } of files) {
    if (pace.isDue) await pace.yield();
    const current = there.get(path);
    const recorded = ours.get(path);
    if (current?.oid === oid) {
      // Somebody's own file that happens to be the same stays theirs.
      if (recorded !== undefined) written.set(path, oid);
    } else if (current && recorded !== current.oid) {
      plan.skipped.push({ path, url, reason: recorded === undefined ? 'not_imported' : 'edited' });
      if (recorded !== undefined) written.set(path, recorded);
    } else if (!current && isBlocked(path)) plan.skipped.push({ path, url, reason: 'blocked' });
    else {
      plan.changes.push({ path: below(directory, path), content });
      written.set(path, oid);
      plan[current ? 'changed' : 'added'] += 1;
    }
  }
  const manifest = { ...about, written: Object.fromEntries(written) };
  if (plan.changes.length > 0 || !earlier || !isSameManifest(earlier, manifest))
    plan.changes.push({ path: below(directory, manifestPath), content: manifestText(manifest) });
  return plan;
}

/** Files a repository may hold. */
const mostFiles = 200_000;

/** An entry of a snapshot with a content. */
interface SiteFile extends CapturedFile {
  charset: string | null;
  /** Size of the content. */
  bytes: number;
}

/** What a snapshot has captured, hosts that win first. */
interface CapturedSite {
  captured: SiteFile[];
  redirects: Map<string, { status: number; to: string }>;
}

interface Row {
  url: string;
  http_status: number;
  content_type: string | null;
  charset: string | null;
  sha256: string | null;
  bytes: string;
  redirect_to: string | null;
}

/** @throws DomainError `too_large` for more files than a repository may hold */
export async function readSite(
  em: EntityManager,
  { id, origins }: { id: number; origins: SnapshotOrigins },
): Promise<CapturedSite> {
  const rows = await em.execute<Row[]>(
    `select url, http_status, content_type, charset, sha256, bytes, redirect_to from snapshot_entry
     where snapshot_id = ? and (sha256 is not null or redirect_to is not null) order by url collate "C" limit ${mostFiles + 1}`,
    [id],
  );
  if (rows.length > mostFiles) throw new DomainError('too_large', `Snapshot ${id} holds more than ${mostFiles} files`);
  const order = [...origins.tree, ...origins.others];
  const ranks = new Map(order.map((origin, rank) => [origin, rank]));
  const rankOf = ({ url }: Row) => ranks.get(new URL(url).origin) ?? order.length;
  // The sort keeps the order of equals.
  const inOrder = rows.map((row) => ({ row, rank: rankOf(row) })).sort((a, b) => a.rank - b.rank);
  const site: CapturedSite = { captured: [], redirects: new Map() };
  for (const { row } of inOrder) {
    const { url, http_status, content_type, charset, sha256, bytes, redirect_to } = row;
    if (sha256 !== null) site.captured.push({ url, content_type, charset, sha256, bytes: Number(bytes) });
    else if (redirect_to !== null) site.redirects.set(url, { status: http_status, to: redirect_to });
  }
  return site;
}

const mostHops = 20;

/** Finds the file of a URL, over redirects. */
export function fileFinder(files: Map<string, string>, redirects: CapturedSite['redirects']) {
  return (url: string): string | null => {
    let next = url;
    for (let hop = 0; hop <= mostHops; hop += 1) {
      const file = files.get(next);
      if (file !== undefined) return file;
      const redirect = redirects.get(next);
      if (!redirect) return null;
      next = redirect.to;
    }
    return null;
  };
}

/** Documents may become longer when their links are written anew. */
const slack = 2;

interface Making {
  /** The file each content goes to, and what its links become; null: they stay. */
  wanted: Iterable<{ path: string; file: SiteFile; links: LinkMapper | null }>;
  /** Object ids of what is at those paths now: what is there need not be stored again. */
  present: ReadonlyMap<string, string>;
  signal: AbortSignal;
}

async function whole(content: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of content) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** What goes into the file. A rewritten document or style sheet becomes UTF-8, the default of file servers. */
async function contentOf(
  { blobs }: ProjectContext['services'],
  file: SiteFile,
  links: LinkMapper | null,
): Promise<Buffer> {
  const kind = links && rewritableKind(file.content_type);
  const captured = await whole(blobs.read(file.sha256));
  if (!kind) return captured;
  // Where nothing said what it is in, the charset was a guess.
  const rewriting = { url: new URL(file.url), charset: file.charset, toUtf8: !isUtf8(captured), map: links };
  return whole(rewriteContent(kind, inPieces(captured), file.bytes, rewriting).content);
}

/**
 * Makes the files of an import, each rewritten and stored unless it is there already; files that exist take no memory.
 * Files over the limit of Studio are left out.
 */
export async function makeFiles(
  { git, services }: Pick<ProjectContext, 'git' | 'services'>,
  { wanted, present, signal }: Making,
): Promise<{ files: ImportedFile[]; tooLarge: SkippedFile[] }> {
  const format = await git.objectFormat();
  const limit = services.settings.media_limit;
  const files: ImportedFile[] = [];
  const tooLarge: SkippedFile[] = [];
  const contents = new PlannedContents(git);
  for (const { path, file, links } of wanted) {
    signal.throwIfAborted();
    const content = file.bytes > limit * slack ? null : await contentOf(services, file, links);
    if (content === null || content.length > limit) {
      tooLarge.push({ path, url: file.url, reason: 'too_large' });
      continue;
    }
    const oid = createHash(format).update(`blob ${content.length}\0`).update(content).digest('hex');
    files.push({
      path,
      url: file.url,
      oid,
      content: present.get(path) === oid ? { oid } : await contents.keep(content),
    });
  }
  return { files, tooLarge };
}
