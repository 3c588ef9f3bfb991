import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import type { EntityManager } from '@mikro-orm/postgresql';
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

/** Files a repository may hold. */
const mostFiles = 200_000;

/** What imports have written into a directory; paths are relative to it. */
interface ImportManifest {
  snapshot: number;
  origin: string;
  /** File of each URL. */
  files: ReadonlyMap<string, string>;
  redirects: ReadonlyMap<string, { status: number; to: string }>;
  /** Object id of every file that imports have written here: what has another one now was edited since. */
  written: ReadonlyMap<string, string>;
}

/** A member of the manifest that is an object, with its members in order. */
async function memberText(name: string, members: ReadonlyMap<string, unknown>): Promise<string> {
  const lines = await mapYielding(await inTextOrder([...members.keys()]), (key) => {
    const value = JSON.stringify(members.get(key), null, 2).replaceAll('\n', '\n    ');
    return `    ${JSON.stringify(key)}: ${value}`;
  });
  return `  "${name}": ${lines.length === 0 ? '{}' : `{\n${lines.join(',\n')}\n  }`}`;
}

/** A manifest as it is kept: indented JSON, written and read line by line, for it may have hundreds of thousands. The same content gives the same text. */
async function manifestText({ snapshot, origin, ...objects }: ImportManifest): Promise<string> {
  const members = [`  "snapshot": ${snapshot}`, `  "origin": ${JSON.stringify(origin)}`];
  for (const name of ['files', 'redirects', 'written'] as const) members.push(await memberText(name, objects[name]));
  return `{\n${members.join(',\n')}\n}\n`;
}

/** A manifest up to this many bytes may be formatted in another way. */
const formattable = 1024 * 1024;
const firstLine = /^\{\n {2}"snapshot": \d{1,15},\n/;
const writtenLine = /^ {4}("(?:[^"\\]|\\.)*"): "([0-9a-f]{40}|[0-9a-f]{64})",?$/;
/** Characters of a line: every byte of a path may be escaped. */
const longestLine = 6 * 4_096 + 100;

interface KeptManifest {
  written: Map<string, string>;
  /** As `manifestText` makes it. */
  text: string;
}

/** The text of a manifest that was formatted in another way, or by an earlier version, which had names of digits first. */
function formatted(kept: string): Promise<string> {
  const { snapshot, origin, ...objects } = JSON.parse(kept) as Record<string, object>;
  const [files, redirects, written] = [objects.files, objects.redirects, objects.written].map(
    (members) => new Map(Object.entries(members as object)),
  ) as [Map<string, string>, Map<string, { status: number; to: string }>, Map<string, string>];
  return manifestText({ snapshot: Number(snapshot), origin: String(origin), files, redirects, written });
}

/** @returns null for what no import has written */
async function readManifest(content: Buffer): Promise<KeptManifest | null> {
  try {
    const kept = content.toString('utf8');
    const text = content.length > formattable ? kept : await formatted(kept);
    const start = text.lastIndexOf('\n  "written": {');
    if (!firstLine.test(text) || start < 0) return null;
    const written = new Map<string, string>();
    if (text.startsWith('\n  "written": {}', start)) return { written, text };
    const pace = new Pace();
    for (let at = text.indexOf('\n', start + 1) + 1; ; ) {
      if (pace.isDue) await pace.yield();
      if (text.startsWith('  }\n', at)) return { written, text };
      const end = text.indexOf('\n', at);
      if (end < 0 || end - at > longestLine || written.size === mostFiles) return null;
      const [, path, oid] = writtenLine.exec(text.slice(at, end)) ?? [];
      if (path === undefined || oid === undefined) return null;
      written.set(JSON.parse(path), oid);
      at = end + 1;
    }
  } catch {
    return null;
  }
}

/** Whether two texts of manifests say the same, whichever snapshots they are of. */
const isSameManifest = (one: string, other: string): boolean =>
  one.replace(firstLine, '') === other.replace(firstLine, '');

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
): Promise<KeptManifest | null> {
  const file = files.get(manifestPath);
  if (!file) {
    await checkFree(head, below(directory, manifestPath), 'directory');
    return null;
  }
  const found = await readManifest(await head.blob(file.oid));
  if (found) return found;
  throw new DomainError('not_editable', `directory: ${manifestPath} is there and was not written by an import`);
}

/** What earlier imports have written into a directory, of the files that are there. */
export async function standingOfImports(head: Snapshot, present: ReadonlyMap<string, string>): Promise<string[]> {
  const file = present.get(manifestPath);
  const earlier = file === undefined ? null : await readManifest(await head.blob(file));
  return [...(earlier?.written.keys() ?? [])].filter((path) => present.has(path));
}

/** Paths in order, by which new ones are placed. */
interface Placed {
  /** Characters of a path's folders that are among them, in the same spelling. */
  known(path: string): number;
  isTaken(folded: string): boolean;
}

/** Whole paths are kept: of deep ones their folders would be dozens of times as many. */
async function placed(paths: readonly string[]): Promise<Placed> {
  const inOrder = await inTextOrder(paths);
  return {
    // Of the folders of a path, one of its neighbours has all that are there.
    known(path) {
      const at = placeIn(inOrder, path);
      return Math.max(...[at - 1, at].map((beside) => sharedFolders(path, inOrder[beside] ?? '')));
    },
    isTaken: await directoriesOf(await mapYielding(paths, (path) => `${path}/`)),
  };
}

/**
 * Whether a new file cannot stand among others: one of its folders is a file, it is a folder, or it differs from one of them, or a folder from one of
 * theirs, only in case or normalisation. A folder may be there in two spellings.
 */
function isBlockedBy(others: readonly Placed[], path: string): boolean {
  const known = Math.max(...others.map((some) => some.known(path)));
  const end = path.indexOf('/', known);
  const folded = foldCase(end < 0 ? path : path.slice(0, end));
  return others.some((some) => some.isTaken(folded));
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
  const stays = await placed(there);
  for (;;) {
    const others = kept.size === 0 ? [stays] : [stays, await placed([...kept])];
    const isBlocked = (path: string) => isBlockedBy(others, path);
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
  const ours = earlier?.written ?? new Map<string, string>();
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
  const manifest = await manifestText({ ...about, written });
  if (plan.changes.length > 0 || !earlier || !isSameManifest(earlier.text, manifest))
    plan.changes.push({ path: below(directory, manifestPath), content: Buffer.from(manifest) });
  return plan;
}

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
