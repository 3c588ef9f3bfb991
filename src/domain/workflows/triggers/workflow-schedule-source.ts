import type { EntityManager } from '@mikro-orm/postgresql';
import {
  type ScheduleRow,
  type ScheduleSource,
  scheduleOf,
  type TimedSchedule,
} from '../../schedules/schedule-source.ts';
import { beginExecutions } from '../executions/begin-execution.ts';

interface DueRow extends ScheduleRow {
  workflow_id: string;
  project_id: number;
  version: number;
}

type Due = TimedSchedule & Pick<DueRow, 'workflow_id' | 'project_id' | 'version'>;

const dueSql = `
  from workflow_trigger schedule
  join workflow on workflow.id = workflow_id and workflow.deleted_at is null and workflow.enabled
  join project on project.id = workflow.project_id and project.deleted_at is null
  where schedule.enabled and type = 'cron' and schedule.deleted_at is null and next_fire_at <= ?
    and not schedule.id = any(string_to_array(?, ' ')::uuid[])`;

const claimSql = `
  select schedule.id, workflow_id, workflow.project_id, workflow.version, schedule_cron_string, timezone, next_fire_at ${dueSql}
  order by next_fire_at, schedule.id limit ?
  for update of schedule skip locked for share of workflow skip locked`;

const aheadSql = `
  select id, schedule_cron_string, timezone, next_fire_at from workflow_trigger
  where enabled and type = 'cron' and deleted_at is null and next_fire_at > ? and (?::uuid is null or id > ?::uuid)
  order by id limit ? for update`;

const setNextSql = `
  update workflow_trigger set next_fire_at = next.next_fire_at
  from json_to_recordset(?::json) as next (id uuid, next_fire_at timestamptz)
  where workflow_trigger.id = next.id`;

async function claim(em: EntityManager, now: Date, limit: number, without: readonly string[]): Promise<Due[]> {
  return (await em.execute<DueRow[]>(claimSql, [now, without.join(' '), limit])).map(scheduleOf);
}

/** Cron triggers of workflows: a fire begins an execution. How many of them run at once is the definition's affair. */
export const workflowScheduleSource: ScheduleSource<Due> = {
  name: 'workflow',
  claim,
  async anyDue(em, now, without) {
    return (await em.execute<unknown[]>(`select 1 ${dueSql} limit 1`, [now, without.join(' ')])).length > 0;
  },
  async ahead(em, now, limit, beyond) {
    return (await em.execute<ScheduleRow[]>(aheadSql, [now, beyond, beyond, limit])).map(scheduleOf);
  },
  async start(em, services, due) {
    const requests = due.map(({ schedule: { id, workflow_id, project_id, version }, fire_at }) => ({
      workflow: { id: workflow_id, project_id, version },
      trigger: { id, type: 'cron' as const },
      input: { scheduled_for: fire_at.toISOString(), trigger: { id, type: 'cron' } },
    }));
    const ids = await beginExecutions(em, services, requests);
    return ids.map((started_id) => ({ outcome: 'started', started_id }));
  },
  async skipped(_em, services, { id, workflow_id }, { fire_at, reason, missed }) {
    const fields = { workflow: workflow_id, trigger: id, fire_at: fire_at.toISOString(), reason, missed };
    services.log.info(fields, 'a fire of a trigger started no execution');
  },
  async setNext(em, next) {
    await em.execute(setNextSql, [JSON.stringify(next)]);
  },
};
