import { Readable } from 'node:stream';
import { z } from 'zod';
import { DomainError, fieldError } from '../../errors.ts';
import { type ProjectContext, projectOperation } from '../../operation.ts';
import type { Snapshot, StoredBlob } from '../../ports/git-records.ts';
import type { SiteIndex } from '../content/site-index.ts';
import { authorOf, checkContentPath, checkFree, checkVersion, messageOf } from '../entries/write-entry.ts';
import { checkPrecondition, directBranch } from '../repository/branch-rules.ts';
import { mediaUpload, savedMedia } from './media.schema.ts';
import { mediaFacts } from './media-facts.ts';
import { mediaPath, numbered } from './media-name.ts';
import { mediaRootOf, publicPath } from './media-roots.ts';
import { checkMediaType, mediaTypeOf } from './media-types.ts';

const mebibyte = 1024 * 1024;
const inlineLimit = 25 * mebibyte;
const maxFiles = 20;
const maxRenames = 1000;

type Input = z.output<typeof mediaUpload>;

/** A file that has been stored and waits for the commit that names it. */
interface Upload {
  path: string;
  blob: StoredBlob;
}

/** Directory or whole path a caller gave, and the file's own name. */
const placeOf = (path: string | undefined, name: string | null): string => {
  if (name === null) return path ?? '';
  if (path === undefined || path === '') return name;
  return path.endsWith('/') ? `${path}${name}` : `${path}/${name}`;
};

async function store(
  { git, services }: Pick<ProjectContext, 'git' | 'services'>,
  path: string,
  content: AsyncIterable<Uint8Array>,
  limit: number,
): Promise<Upload> {
  const checked = mediaPath(path);
  checkContentPath(checked);
  const blob = await git.storeBlob(content, Math.min(limit, services.settings.media_limit)).catch((error: unknown) => {
    if (error instanceof DomainError && error.code === 'too_large')
      throw new DomainError('too_large', `content: ${error.message}`);
    throw error;
  });
  checkMediaType(checked, blob.head);
  return { path: checked, blob };
}

/** Stores what came along: the parts of a multipart body, or the base64 text of a JSON one. */
async function receive(context: ProjectContext<'manage_studio'>, input: Input): Promise<Upload[]> {
  const { uploads } = context;
  if (!uploads) {
    if (input.content === undefined)
      throw fieldError('invalid_request', 'content', 'is required, or a multipart body with files');
    if (input.path === undefined) throw fieldError('invalid_request', 'path', 'is required');
    return [await store(context, input.path, Readable.from([Buffer.from(input.content, 'base64')]), inlineLimit)];
  }
  const stored: Upload[] = [];
  for await (const { name, content } of uploads) {
    if (stored.length >= maxFiles)
      throw new DomainError('too_large', `file: at most ${maxFiles} files can be uploaded at once`);
    stored.push(await store(context, placeOf(input.path, name), content, Number.POSITIVE_INFINITY));
  }
  if (stored.length === 0) throw fieldError('invalid_request', 'file', 'is required');
  return stored;
}

/** Where an upload goes at this head; null when the same bytes are there already. */
async function target(
  head: Snapshot,
  { path, blob }: Upload,
  input: Input,
  taken: ReadonlySet<string>,
): Promise<string | null> {
  for (let at = 0; at <= (input.rename ? maxRenames : 0); at++) {
    const candidate = numbered(path, at);
    if (taken.has(candidate)) continue;
    const { entry, blocked } = await head.lookup(candidate);
    if (blocked)
      throw new DomainError('not_editable', `path: ${blocked} is a symlink or submodule and is never written through`);
    if (!entry) {
      await checkFree(head, candidate, 'path');
      return candidate;
    }
    if (entry.mode === '40000') throw fieldError('already_exists', 'path', `${candidate} is a directory`);
    if (entry.oid === blob.oid) return null;
    if (input.overwrite && at === 0) {
      checkVersion(entry, undefined, input.sha);
      return candidate;
    }
  }
  throw fieldError('already_exists', 'path', `${path} exists; overwrite or rename`);
}

function checkPlace(context: ProjectContext<'manage_studio'>, site: SiteIndex, path: string): void {
  if (!mediaRootOf(site, path)) context.require('manage_studio');
  if (site.discovery.schemas.some((schema) => schema.matches(path))) {
    throw new DomainError('not_editable', `path: ${path} would be an entry of a collection; create it as one`);
  }
}

export const uploadMedia = projectOperation({
  name: 'studio.uploadMedia',
  kind: 'command',
  effect: 'external',
  permission: 'edit_studio',
  also: { manage_studio: 'when it names another author, or a path outside the media roots' },
  summary: 'Upload file',
  input: mediaUpload,
  output: z.object({ files: z.array(savedMedia), unchanged: z.boolean() }).meta({ id: 'UploadedMedia' }),
  audit: ({ path }) => ({ type: 'media', id: path ?? null }),
  async execute(context, input) {
    const { git, services } = context;
    const author = authorOf(context, input.author);
    if (input.overwrite) checkPrecondition(context.project, context.conditions, input.sha);
    const branch = await directBranch(context, input.branch);
    const uploads = await receive(context, input);
    const written = await git.write({
      branch,
      author,
      async plan(head) {
        const site = await services.content.site(git, head);
        const placed: { path: string; blob: StoredBlob; isNew: boolean }[] = [];
        for (const upload of uploads) {
          checkPlace(context, site, upload.path);
          const path = await target(head, upload, input, new Set(placed.map((file) => file.path)));
          placed.push({ path: path ?? upload.path, blob: upload.blob, isNew: path !== null });
        }
        const changes = placed.filter((file) => file.isNew).map(({ path, blob }) => ({ path, content: blob }));
        const message = messageOf(input.message, `Upload ${placed.map((file) => file.path).join(', ')}`.slice(0, 500));
        return { changes, message, result: { placed, site } };
      },
    });
    const { placed, site } = written.result;
    const facts = await mediaFacts(
      git,
      written.snapshot,
      placed.map(({ path, blob }) => ({ path, oid: blob.oid })),
    );
    const files = placed.map(({ path, blob, isNew }) => {
      const url = publicPath(mediaRootOf(site, path), path);
      return {
        path,
        name: path.slice(path.lastIndexOf('/') + 1),
        type: 'file' as const,
        sha: blob.oid,
        ...(mediaTypeOf(path) && { mime: mediaTypeOf(path)?.mime }),
        ...(url !== undefined && { public_path: url }),
        ...facts.get(blob.oid),
        commit: isNew ? written.commit : null,
        unchanged: !isNew,
      };
    });
    return { files, unchanged: written.commit === null };
  },
});
