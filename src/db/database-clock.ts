import type { SharedClock } from '../domain/ports/clock.ts';

/** The time of the database server, to the millisecond. */
export const databaseClock: SharedClock = {
  async now(em) {
    const [row] = await em.execute<{ now: Date }[]>(`select date_trunc('milliseconds', clock_timestamp()) as now`);
    return new Date(row?.now ?? Number.NaN);
  },
};
