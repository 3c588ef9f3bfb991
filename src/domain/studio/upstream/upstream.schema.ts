import { z } from 'zod';
import { addressOf, anyCase, timeText } from '../../../kernel/shapes.ts';
import { foundConflicts, resolution } from '../merge/merge.schema.ts';
import { pushModes } from './upstream.entity.ts';

const at = timeText.nullable();

/** How a branch stands to the same branch of the upstream. */
export const sync = z
  .object({
    state: z
      .enum(['in_sync', 'pending', 'diverged', 'error'])
      .describe('pending: something is still to be pushed or fetched; diverged: the two have to be merged by a person'),
    upstream_sha: z.string().nullable().describe('Its commit there when it was last fetched or pushed'),
    ahead_by: z.int32().describe('Commits the upstream lacks'),
    behind_by: z.int32().describe('Commits of the upstream that are not here'),
    last_fetched_at: at,
    last_pushed_at: at,
    message: z
      .string()
      .optional()
      .describe('What is in the way, happened to the branch, or was left out of the repository'),
  })
  .meta({ id: 'Sync' });
export type Sync = z.output<typeof sync>;

/** A branch both sides have changed in ways that only people can bring together. */
export const divergence = z
  .object({
    branch: z.string(),
    head_sha: z.string().nullable().describe("The upstream's commit; null when the branch was deleted there"),
    base_sha: z.string().describe('The commit here'),
    message: z.string(),
    ...foundConflicts,
    conflicts: foundConflicts.conflicts.describe(
      'To be resolved by `resolutions` of POST /repository/sync; of all branches at most 1000',
    ),
  })
  .meta({ id: 'Divergence' });
export type Divergence = z.output<typeof divergence>;

const addressFault = 'must be https://host/path or ssh://account@host/path';

/** An address on another git host. What it resolves to is checked when it is connected to. */
export const upstreamUrl = z
  .string()
  .max(2000, 'must be at most 2000 characters')
  .regex(addressOf('https|ssh'), { error: addressFault, abort: true })
  .refine((text) => URL.canParse(text), addressFault)
  .regex(/^(?![^/]*\/\/[^/?#:@]*:[^/?#]*@)/, 'must not contain a password')
  .regex(new RegExp(`^(?!${anyCase('https')}:\\/\\/[^/?#]*@)`), 'must not contain a user name; give it in auth');

const secret = (max: number) => z.string().min(1, 'must not be empty').max(max, `must be at most ${max} characters`);

// biome-ignore lint/suspicious/noControlCharactersInRegex: these would end the line of a header
const oneLine = /^[^\u0000-\u001f\u007f]*$/;
const credential = secret(8000).regex(oneLine, 'must not contain control characters');

export const upstreamAuth = z
  .discriminatedUnion('kind', [
    z.object({ kind: z.literal('none') }),
    z.object({ kind: z.literal('token'), token: credential }),
    z.object({
      kind: z.literal('basic'),
      username: credential.regex(/^[^:]*$/, 'must not contain :'),
      password: credential,
    }),
    z.object({ kind: z.literal('ssh_key'), private_key: secret(32_768).describe('OpenSSH or PEM, no passphrase') }),
  ])
  .meta({ id: 'UpstreamAuth' });

const pushMode = z.enum(pushModes).meta({ id: 'UpstreamPush' });

export const remoteDraft = z.object({
  url: upstreamUrl,
  auth: upstreamAuth.default({ kind: 'none' }).describe('Kept encrypted and never shown'),
  push: pushMode.default('on_commit').describe('manual: only POST /repository/sync pushes'),
  new_hook_secret: z.boolean().default(false).describe('Generates another secret for push notices'),
});

export const upstreamRecord = z
  .object({
    url: z.string(),
    auth_kind: z.enum(['none', 'token', 'basic', 'ssh_key']),
    push: pushMode,
    hook_url: z.string().describe('Where the upstream may send push notices, signed like GitHub’s'),
  })
  .meta({ id: 'Upstream' });

export const syncRequest = z.object({
  branch: z.string().optional().describe('Only this branch; default: all'),
  resolutions: z.array(resolution).max(1000).optional().describe('How to resolve the conflicts of a diverged branch'),
});
