import { z } from 'zod';
import { DomainError } from '../../errors.ts';
import { projectOperation } from '../../operation.ts';
import type { PushResult } from '../../ports/git-transfer.ts';
import { keepPushedHeads } from '../pulls/open-pulls.ts';
import { decidePush } from './push-rules.ts';

const access = z.object({ repository: z.uuid() });

/** A git client's fetch or clone: what it needs is the right to read. */
export const fetchRepository = projectOperation({
  name: 'studio.fetchRepository',
  kind: 'query',
  permission: 'browse_studio',
  summary: 'Fetch or clone with a git client',
  input: z.object({}),
  output: access,
  execute: async ({ project }) => ({ repository: project.uuid }),
});

/** What a git client asks before a push: which refs are there. Nothing happens yet. */
export const preparePush = projectOperation({
  name: 'studio.preparePush',
  kind: 'query',
  permission: 'edit_studio',
  summary: 'Read the refs before a push with a git client',
  input: z.object({}),
  output: access,
  execute: async ({ project }) => ({ repository: project.uuid }),
});

const outcomes = ['ok', 'denied', 'failed'] as const;
const pushedRef = z.object({ ref: z.string(), new: z.string().nullable(), outcome: z.enum(outcomes) });
/** Of the whole push: `refused` when it was not to be, by the rules, a limit or git; `failed` when git then did not carry it out. */
const pushOutcomes = ['ok', 'refused', 'failed'] as const;

/** A git client's push, decided on when its objects have come in and before any ref moves. */
export const pushRepository = projectOperation({
  name: 'studio.pushRepository',
  kind: 'command',
  effect: 'external',
  permission: 'edit_studio',
  also: {
    delete_studio: 'when it deletes entries, media or branches',
    manage_studio: 'when it brings files outside collections and media, or rewrites a branch',
  },
  summary: 'Push with a git client',
  input: z.object({}),
  output: z.object({ refs: z.array(pushedRef), outcome: z.enum(pushOutcomes) }),
  audit: (_input, output, { project }) => {
    if (output === null) return { type: 'repository', id: project };
    return outcomes.flatMap((outcome) => {
      const refs = output.refs.filter((ref) => ref.outcome === outcome);
      const id = [project, ...refs.map(({ ref, new: to }) => `${ref}=${to ?? 'deleted'}`)].join(' ');
      return refs.length > 0 ? [{ type: 'repository', id, outcome }] : [];
    });
  },
  outcome: ({ outcome }) => outcome,
  async execute(context) {
    const { services, project, pack, signal, log } = context;
    if (!pack) throw new DomainError('invalid_request', 'A push is made with a git client');
    let denied = false;
    let allowed = false;
    let result: PushResult = { asked: [], moved: [] };
    const served = services.git.serve(project.uuid, {
      ...pack(),
      service: 'git-receive-pack',
      advertise: false,
      signal,
      async authorizePush(commands, pushed) {
        const verdict = await decidePush(context, commands, pushed);
        denied = !verdict.allow;
        if (verdict.allow) await keepPushedHeads(context, commands);
        allowed = verdict.allow;
        return verdict;
      },
      settledPush(ended) {
        result = ended;
      },
    });
    // What has moved has moved, also when the client is gone before it reads so.
    await served.catch((error: unknown) => {
      if (result.moved.length === 0) throw error;
      log.warn({ err: error }, 'the answer to a push ended early');
    });
    const moved = new Set(result.moved.map(({ ref }) => ref));
    const refs = result.asked.map(({ ref, new: to }) => {
      const outcome = moved.has(ref) ? 'ok' : denied ? 'denied' : 'failed';
      return { ref, new: to, outcome } as const;
    });
    const branches = [...moved].flatMap((ref) =>
      ref.startsWith('refs/heads/') ? [ref.slice('refs/heads/'.length)] : [],
    );
    // The client has its answer; whether the upstream takes it too is told by the branch.
    if (project.is_mirror && branches.length > 0) void services.upstreams.publish(services, project, branches);
    const isDone = refs.every(({ outcome }) => outcome === 'ok');
    const undone = allowed ? 'failed' : 'refused';
    return { refs, outcome: isDone ? 'ok' : undone } as const;
  },
});
