import { Readable } from 'node:stream';
import { z } from 'zod';
import { fieldError } from '../../../kernel/errors.ts';
import { commitStep } from '../changes/staged-content.ts';
import { authorOf } from '../changes/write-rules.ts';
import { isContent } from '../content/admission.ts';
import { checkPrecondition, directBranch } from '../repository/branch-rules.ts';
import { entryRoutes } from '../routes/entry-routes.ts';
import type { StudioContext } from '../studio.ts';
import { studioOperation } from '../studio-operation.ts';
import { mediaUpload, savedMedia } from './media.schema.ts';
import { mediaFacts, mediaRecord } from './media-facts.ts';
import { cleanName } from './media-types.ts';
import { planUpload, storeUpload, type Upload, uploadPath } from './plan-media.ts';

type Input = z.output<typeof mediaUpload>;

/** Directory or whole path a caller gave, and the file's own name. */
const placeOf = (path: string | undefined, name: string | null): string => {
  if (name === null) return path ?? '';
  if (path === undefined || path === '') return cleanName(name);
  return `${path.replace(/\/$/, '')}/${cleanName(name)}`;
};

/** Stores what came along: the parts of a multipart body, or the base64 text of a JSON one. */
async function receive(context: StudioContext<'manage_studio'>, input: Input): Promise<Upload[]> {
  const { uploads } = context;
  if (!uploads) {
    if (input.content === undefined)
      throw fieldError('invalid_request', 'content', 'is required, or a multipart body with files');
    if (input.path === undefined) throw fieldError('invalid_request', 'path', 'is required');
    const content = Readable.from([Buffer.from(input.content, 'base64')]);
    return [await storeUpload(context, { path: input.path, content, field: 'content' })];
  }
  const stored: Upload[] = [];
  for (const { name, content } of uploads) {
    stored.push(await storeUpload(context, { path: placeOf(input.path, name), content, field: 'file' }));
  }
  if (stored.length === 0) throw fieldError('invalid_request', 'file', 'is required');
  return stored;
}

export const uploadMedia = studioOperation({
  name: 'studio.uploadMedia',
  kind: 'command',
  effect: 'external',
  permission: 'edit_studio',
  also: {
    manage_studio: 'when it names another author, or a path that is outside the media roots or code by its name',
  },
  mayRequireTag: true,
  comparesTag: true,
  notInSteps: true,
  summary: 'Upload file',
  input: mediaUpload,
  output: z.object({ files: z.array(savedMedia), unchanged: z.boolean() }).meta({ id: 'UploadedMedia' }),
  audit: ({ path }) => ({ type: 'media', id: path ?? null }),
  async admit(context, { author, branch, path }, file) {
    if (author) authorOf(context, author);
    const target = uploadPath(placeOf(path, file));
    if (branch === undefined) return;
    const { git, studio } = context;
    const head = await git.head(await directBranch(context, branch));
    if (path === undefined || head === null) return;
    const site = await studio.content.site(git, await git.snapshot(head));
    if (!isContent(site, target, '100644')) context.require('manage_studio');
  },
  async execute(context, input) {
    const { git, studio } = context;
    const author = authorOf(context, input.author);
    if (input.overwrite) checkPrecondition(context.project, context.conditions, input.sha);
    const branch = await directBranch(context, input.branch);
    const uploads = await receive(context, input);
    const { commit, snapshot, result } = await commitStep(
      context,
      { branch, author, message: input.message },
      (staged) => planUpload(context, staged, uploads, input),
    );
    const { placed } = result;
    const site = await studio.content.site(git, snapshot);
    const routes = await entryRoutes(context, snapshot);
    const facts = await mediaFacts(
      git,
      snapshot,
      placed.map(({ path, blob }) => ({ path, oid: blob.oid })),
    );
    const files = placed.map(({ path, blob: { oid }, isNew }) => ({
      ...mediaRecord(site, { path, oid }, facts, routes),
      commit: isNew ? commit : null,
      unchanged: !isNew,
    }));
    return { files, unchanged: commit === null };
  },
});
