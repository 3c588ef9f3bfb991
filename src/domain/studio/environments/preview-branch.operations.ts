import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { DomainError } from '../../../kernel/errors.ts';
import { foldCase } from '../../../lib/text.ts';
import { holdProject } from '../../projects/project-ref.ts';
import { Deployment } from '../deployments/deployment.entity.ts';
import { queueDeployment } from '../deployments/queue-deployment.ts';
import { headOf } from '../merge/write-merge.ts';
import { checkRefName } from '../ref-name.ts';
import type { StudioContext } from '../studio.ts';
import { studioOperation } from '../studio-operation.ts';
import { areDraftPreviews, copyOf, draftSourceOf, isDraftPreview } from './draft-previews.ts';
import { Environment } from './environment.entity.ts';
import { environmentRecord } from './environment-record.ts';
import { holdNames, slugBeside } from './environments.operations.ts';
import { environment, longestName } from './environments.schema.ts';

const maxDraftPreviews = 10;

/** `Preview of draft/7-frost`, with a number at its end where that is taken. */
function nameFor(branch: string, others: readonly { name: string }[]): string {
  const taken = new Set(others.map(({ name }) => foldCase(name)));
  const plain = `Preview of ${branch}`;
  for (let number = 1; ; number++) {
    const end = number === 1 ? '' : ` ${number}`;
    const name = plain.slice(0, longestName - end.length).toWellFormed() + end;
    if (!taken.has(foldCase(name))) return name;
  }
}

/** @throws DomainError `limit_reached` */
async function makePreview(
  context: Pick<StudioContext, 'em' | 'services' | 'project'>,
  source: Environment,
  branch: string,
): Promise<Environment> {
  const { em, services, project } = context;
  const others = await holdNames(context);
  const previewed = others.filter(isDraftPreview).map((other) => other.branch);
  if (previewed.length >= maxDraftPreviews)
    throw new DomainError(
      'limit_reached',
      `A project has at most ${maxDraftPreviews} draft previews: delete a draft that has one, or one of these environments (manage_studio)`,
      { details: { branches: previewed } },
    );
  const name = nameFor(branch, others);
  const uuid = randomUUID();
  const now = services.clock.now();
  const row = em.create(Environment, {
    ...(await copyOf(context, source, { uuid, version: 1 })),
    uuid,
    project_id: project.id,
    name,
    slug: slugBeside(name, others),
    branch,
    type: 'preview',
    auto_deploy: true,
    cancel_superseded: true,
    visibility: 'members',
    protected: false,
    draft_source: false,
    previewed_at: now,
    version: 1,
    created_at: now,
    updated_at: now,
  });
  em.persist(row);
  return row;
}

export const previewBranch = studioOperation({
  name: 'studio.previewBranch',
  kind: 'command',
  permission: 'edit_studio',
  summary:
    'Preview a branch: deploy its head to an environment of its own, a copy for members of the one that the setting draft_preview names',
  input: z.object({ branch: z.string().describe('One that has a draft preview is answered with it') }),
  output: environment,
  audit: (_input, output) => ({ type: 'environment', id: output ? String(output.id) : null }),
  async execute(context, { branch }) {
    const { em, git, services, project } = context;
    checkRefName('branch', branch);
    // Locked before the head is read, so that no commit older than one that auto_deploy has queued is deployed.
    await holdProject(em, project.id);
    const head = await headOf(context, 'branch', branch);
    const source = await draftSourceOf(context);
    if (!source)
      throw new DomainError(
        'conflict',
        'Drafts cannot be previewed in this project: the setting draft_preview names no environment yet (PATCH …/studio/repository, manage_studio)',
      );
    const previews = { project_id: project.id, branch, ...areDraftPreviews };
    const row =
      (await em.findOne(Environment, previews, { refresh: true })) ?? (await makePreview(context, source, branch));
    row.previewed_at = services.clock.now();
    await em.flush();
    const latest = await em.findOne(Deployment, { environment_id: row.id }, { orderBy: { id: 'desc' } });
    const wasDropped = latest?.conclusion === 'cancelled' || latest?.conclusion === 'skipped';
    if (latest?.commit_sha !== head || wasDropped) {
      row.followed_sha = head;
      await queueDeployment(context, row, { commit: await git.commit(head), trigger: 'manual' });
    }
    return environmentRecord(context, row);
  },
});
