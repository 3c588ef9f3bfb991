import { z } from 'zod';
import { DomainError } from '../../errors.ts';
import { projectOperation } from '../../operation.ts';
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

const movedRef = z.object({ ref: z.string(), old: z.string().nullable(), new: z.string().nullable() });

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
  output: z.object({ refs: z.array(movedRef) }),
  audit: (_input, output, { project }) => ({
    type: 'repository',
    id: [project, ...(output?.refs.map(({ ref, new: to }) => `${ref}=${to ?? 'deleted'}`) ?? [])].join(' '),
  }),
  async execute(context) {
    const { services, project, pack, signal } = context;
    if (!pack) throw new DomainError('invalid_request', 'A push is made with a git client');
    let refs: z.output<typeof movedRef>[] = [];
    await services.git.serve(project.uuid, {
      ...pack(),
      service: 'git-receive-pack',
      advertise: false,
      signal,
      async authorizePush(commands, pushed) {
        const verdict = await decidePush(context, commands, pushed);
        if (!verdict.allow) return verdict;
        await keepPushedHeads(context, commands);
        refs = commands.map(({ ref, old, new: to }) => ({ ref, old, new: to }));
        return verdict;
      },
    });
    const branches = refs.flatMap(({ ref }) =>
      ref.startsWith('refs/heads/') ? [ref.slice('refs/heads/'.length)] : [],
    );
    // The client has its answer; whether the upstream takes it too is told by the branch.
    if (project.is_mirror && branches.length > 0) void services.upstreams.publish(services, project, branches);
    return { refs };
  },
});
