import { LRUCache } from 'lru-cache';
import { upTo } from '../../lru-size.ts';
import type { Services } from '../../services.ts';

const minute = 60_000;
/** Of one that has gone since nothing is noted: the time would be taken for that of the next. */
const noteSql =
  'update workflow_trigger set previous_secret_last_used_at = ? where id = ? and previous_secret_version = ?';
const noted = new WeakMap<object, LRUCache<string, true>>();

/** Notes, once a minute, that somebody still uses the previous secret of a webhook. Nobody waits for it. */
export function noteOldSecrets({ orm, clock, log }: Services, trigger: string, version: number): void {
  const recent = noted.get(orm) ?? new LRUCache<string, true>({ ...upTo(10_000), ttl: minute });
  noted.set(orm, recent);
  const name = `${trigger} ${version}`;
  if (recent.has(name)) return;
  recent.set(name, true);
  orm.em
    .fork()
    .execute(noteSql, [clock.now(), trigger, version])
    .catch((err: unknown) => log.warn({ err, trigger }, 'the use of a previous secret was not noted'));
}
