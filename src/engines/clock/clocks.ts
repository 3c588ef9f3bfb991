import type { Clock, SharedClock } from '../../ports/clock.ts';

/** The time of the machine. */
export const systemClock: Clock = { now: () => new Date() };

/** The time of the database server, to the millisecond; before the first reading, that of this machine. */
export function createDatabaseClock(): SharedClock {
  let known: { now: number; at: number } | null = null;
  return {
    async now(em) {
      const [row] = await em.execute<{ now: Date }[]>(`select date_trunc('milliseconds', clock_timestamp()) as now`);
      const now = new Date(row?.now ?? Number.NaN);
      known = { now: now.getTime(), at: performance.now() };
      return now;
    },
    recent: () => new Date(known === null ? Date.now() : Math.floor(known.now + performance.now() - known.at)),
  };
}
