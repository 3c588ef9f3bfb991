import { crawlerScheduleSource } from '../domain/crawlers/schedules/crawler-schedule-source.ts';
import { dispatchSchedules } from '../domain/schedules/dispatch.ts';
import type { AllServices } from '../domain/services.ts';
import { workflowScheduleSource } from '../domain/workflows/triggers/workflow-schedule-source.ts';
import { everyMinute } from './beat.ts';

/** Fires what is due at once and at every minute, in every worker: none of them leads. @returns how to end it; waits for what is under way */
export function beginSchedules(services: AllServices): () => Promise<void> {
  const ended = new AbortController();
  let underWay: Promise<void> | null = null;
  const fire = async () => {
    try {
      await Promise.all([
        dispatchSchedules(services, crawlerScheduleSource, ended.signal),
        dispatchSchedules(services, workflowScheduleSource, ended.signal),
      ]);
    } catch (err) {
      services.log.error({ err }, 'schedules were not fired; they are looked at again within a minute');
    }
    underWay = null;
  };
  const tick = () => {
    underWay ??= fire();
    return underWay;
  };
  void tick();
  const end = everyMinute(() => void tick());
  return async () => {
    ended.abort();
    end();
    await underWay;
  };
}
