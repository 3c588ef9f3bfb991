import { z } from 'zod';
import { entryChange, entryDraft, renameDetails, writeInput } from '../entries/entries.schema.ts';
import { mediaUpload } from '../media/media.schema.ts';
import { conflict } from '../merge/merge.schema.ts';
import { commit } from '../repository/repository.schema.ts';
import { studioWarning } from '../schema/schema.schema.ts';
import { sync } from '../upstream/upstream.schema.ts';

const ofCommit = { branch: true, message: true, author: true } as const;

const entry = { collection: z.string(), slug: z.string().describe('Slug of the entry') };
const edit = entryChange.omit({ ...ofCommit, slug: true }).extend(entry);
const deletion = {
  sha: z.string().optional().describe('Object id the file must have'),
  force: z.boolean().optional().describe('Delete although entries that are left refer to it'),
};

const changeAction = z
  .discriminatedUnion('op', [
    entryDraft.omit(ofCommit).extend({ op: z.literal('create'), collection: z.string() }),
    edit.extend({ op: z.literal('update') }),
    edit.extend({ op: z.literal('move'), to: z.string().describe('New slug; the entry may be edited as well') }),
    z.object({ op: z.literal('delete'), ...entry, ...deletion }),
    mediaUpload.omit(ofCommit).extend({
      op: z.literal('upload_media'),
      path: z.string().describe('Path of the file, inside a media root'),
      content: z.base64('must be base64').describe('The file, base64; up to 25 MiB'),
    }),
    z.object({ op: z.literal('delete_media'), path: z.string().describe('Path of the file'), ...deletion }),
  ])
  .meta({ id: 'ChangeAction' });
export type ChangeAction = z.output<typeof changeAction>;

const maxActions = 100;

export const changeSet = z.object({
  actions: z
    .array(changeAction)
    .min(1, 'must have at least 1 action')
    .max(maxActions, `must have at most ${maxActions} actions`)
    .describe('Applied in this order, each to the result of those before it; all of them or none'),
  expected_head: z.string().optional().describe('Commit the branch must be at'),
  ...writeInput,
});

const changeResult = z
  .object({
    op: z.enum(['create', 'update', 'move', 'delete', 'upload_media', 'delete_media']),
    collection: z.string().optional(),
    slug: z.string().optional(),
    path: z.string(),
    sha: z.string().nullable().describe('Object id of the file after this action; null: it is gone'),
    unchanged: z.boolean(),
    merged: z.boolean().optional().describe('The save was merged with what happened since the entry was read'),
    renamed_from: z.string().optional(),
    references: z.array(z.string()).optional().describe('Entries whose relations a move rewrote, as collection/slug'),
    details: renameDetails.optional().describe('Of a move: how to keep the old address alive'),
    warnings: z.array(studioWarning),
  })
  .meta({ id: 'ChangeResult' });
export type ChangeResult = z.output<typeof changeResult>;

export const committedChanges = z
  .object({
    commit: commit.nullable().describe('null when no byte changed'),
    unchanged: z.boolean(),
    results: z.array(changeResult).describe('In the order of the actions'),
    conflicts: z.array(conflict).optional().describe('GraphQL: why nothing was committed; REST refuses instead'),
    sync: sync.optional().describe('Of a mirror: state of the branch compared with the upstream'),
  })
  .meta({ id: 'CommittedChanges' });
