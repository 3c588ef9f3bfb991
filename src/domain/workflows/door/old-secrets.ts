import { LRUCache } from 'lru-cache';
import { upTo } from '../../lru-size.ts';
import type { Services } from '../../services.ts';

const minute = 60_000;
const noted = new WeakMap<object, LRUCache<string, true>>();

/** Notes, once a minute, that somebody still uses the previous secret of a webhook. Nobody waits for it. */
export function noteOldSecrets({ orm, clock, log }: Services, trigger: string): void {
  const recent = noted.get(orm) ?? new LRUCache<string, true>({ ...upTo(10_000), ttl: minute });
  noted.set(orm, recent);
  if (recent.has(trigger)) return;
  recent.set(trigger, true);
  orm.em
    .fork()
    .execute('update workflow_trigger set previous_secret_last_used_at = ? where id = ?', [clock.now(), trigger])
    .catch((err: unknown) => log.warn({ err, trigger }, 'the use of a previous secret was not noted'));
}
