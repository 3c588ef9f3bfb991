import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import type { EntityManager } from '@mikro-orm/postgresql';
import { DomainError } from '../../../../kernel/errors.ts';
import type { Change } from '../../../../ports/git-writes.ts';
import type { ProjectContext } from '../../../projects/operation.ts';
import type { LinkMapper } from '../rewrite/carrier.ts';
import { rewritableKind, rewriteContent } from '../rewrite/rewrite-content.ts';
import type { SkippedFile, SnapshotOrigins } from '../snapshot.entity.ts';
import type { CapturedFile } from './map-files.ts';
import type { ImportedFile } from './plan-import.ts';

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

/** Contents up to this size wait in memory for the commit, and so much of them in all; bytes. */
const inlineFile = 1024 * 1024;
const inlineTotal = 64 * 1024 * 1024;
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

async function* once(content: Buffer) {
  yield content;
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
  return whole(rewriteContent(kind, once(captured), file.bytes, rewriting).content);
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
  let inline = 0;
  const keep = async (content: Buffer): Promise<Change['content']> => {
    if (content.length > inlineFile || inline + content.length > inlineTotal)
      return { oid: (await git.storeBlob(once(content), limit)).oid };
    inline += content.length;
    return content;
  };
  for (const { path, file, links } of wanted) {
    signal.throwIfAborted();
    const content = file.bytes > limit * slack ? null : await contentOf(services, file, links);
    if (content === null || content.length > limit) {
      tooLarge.push({ path, url: file.url, reason: 'too_large' });
      continue;
    }
    const oid = createHash(format).update(`blob ${content.length}\0`).update(content).digest('hex');
    files.push({ path, url: file.url, oid, content: present.get(path) === oid ? { oid } : await keep(content) });
  }
  return { files, tooLarge };
}
