import type { Services } from '../../../services.ts';
import type { Worker } from '../deployment.entity.ts';
import { Deployment } from '../deployment.entity.ts';

/** Of all processes one claims at a time: who may begin depends on what runs. Any constant of our own. */
const claimLock = 0x6465706c;

/**
 * Takes the deployment whose turn it is: of an environment where none runs, of the project that has the fewest running and has waited
 * longest, the oldest first.
 * @returns null when none may begin
 */
export async function claimDeployment({ orm, clock }: Services, worker: Worker): Promise<Deployment | null> {
  return orm.em.fork().transactional(async (em) => {
    await em.execute('select pg_advisory_xact_lock(?)', [claimLock]);
    // The row itself is asked again for its state: whoever ends it at this moment is waited for.
    const [claimed] = await em.execute<{ id: number }[]>(
      `update deployment set status = 'in_progress', worker = ?::json, heartbeat_at = now(), started_at = ?
       where id = (
         select waiting.id from deployment as waiting
         left join lateral (
           select count(*) filter (where status = 'in_progress') as running, max(started_at) as last
           from deployment where project_id = waiting.project_id and settings ->> 'provider' <> 'webhook'
         ) as project on true
         where waiting.status = 'queued' and waiting.settings ->> 'provider' <> 'webhook'
           and not exists (select 1 from deployment as other
             where other.environment_id = waiting.environment_id and other.status = 'in_progress')
         order by project.running, project.last nulls first, waiting.id
         limit 1)
         and status = 'queued'
       returning id`,
      [JSON.stringify(worker), clock.now()],
    );
    return claimed ? em.findOneOrFail(Deployment, claimed.id, { disableIdentityMap: true }) : null;
  });
}
