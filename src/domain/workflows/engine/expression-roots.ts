import type { Settings } from '../../services.ts';
import type { Standing } from './journal.ts';
import type { Claimed } from './lease.ts';

/** What the expressions of an execution see, with what is in sight at one place of it. `now` in milliseconds since 1970. */
export function rootsOf(
  { row, guide, input }: Claimed,
  { started_at, state }: Standing,
  { public_url }: Pick<Settings, 'public_url'>,
  { at, now }: { at: object; now: number },
): Record<string, unknown> {
  const { organization, project, workflow, definition } = guide;
  const path = `${organization.machine_name}/projects/${project.machine_name}/workflows/${workflow.id}/executions/${row.id}`;
  return {
    input,
    vars: definition.variables ?? {},
    execution: {
      id: row.id,
      started_at: new Date(started_at ?? now).toISOString(),
      url: `${public_url}/organizations/${path}`,
    },
    workflow,
    ...(state.failure && { error: state.failure }),
    ...at,
  };
}
