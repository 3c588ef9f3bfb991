import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import type { ProjectContext } from '../../../operation.ts';
import type { Change } from '../../../ports/git-writes.ts';
import type { LinkMapper } from '../rewrite/link-mapper.ts';
import { rewritableKind, rewriteContent } from '../rewrite/rewrite-content.ts';
import type { SkippedFile } from '../snapshot.entity.ts';
import type { ImportedFile } from './plan-import.ts';
import type { SiteFile } from './read-site.ts';

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

/** What goes into the file. A document or a sheet that is rewritten becomes UTF-8: that is what those who serve files take text for. */
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
 * Makes the files of an import, each rewritten and stored where it is not there already; of those that are there nothing is kept in memory.
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
