import type { EntityManager } from '@mikro-orm/postgresql';
import { vi } from 'vitest';
import type { TestApp } from './app.ts';

const waitingSql = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;

/**
 * Lets one writer overtake another: `first` has changed something in a transaction that is not committed yet when `second` comes, and is
 * committed once `second` waits for it, or has not had to.
 * @returns what came of `second`
 */
export async function overtake<T>(
  { services }: Pick<TestApp, 'services'>,
  first: (em: EntityManager) => Promise<unknown>,
  second: () => Promise<T>,
): Promise<T> {
  const em = services.orm.em.fork();
  await em.begin();
  let isOver = false;
  let acting: Promise<T> | undefined;
  try {
    await first(em);
    acting = second();
    acting
      .catch(() => {})
      .finally(() => {
        isOver = true;
      });
    const look = services.orm.em.fork();
    await vi.waitUntil(async () => isOver || (await look.execute<unknown[]>(waitingSql)).length > 0, {
      timeout: 30_000,
    });
  } finally {
    await em.commit();
  }
  return acting;
}

/** A port, with something that happens right before one of its functions is called for the first time. */
export function withBefore<Port extends object>(port: Port, of: keyof Port, act: () => Promise<unknown>): Port {
  let isDone = false;
  return new Proxy(port, {
    get(target, name) {
      const value = Reflect.get(target, name, target) as unknown;
      if (typeof value !== 'function') return value;
      if (name !== of || isDone) return value.bind(target);
      return async (...args: unknown[]) => {
        if (!isDone) {
          isDone = true;
          await act();
        }
        return value.apply(target, args);
      };
    },
  });
}
