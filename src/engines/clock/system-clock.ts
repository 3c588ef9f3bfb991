import type { Clock } from '../../ports/clock.ts';

/** The time of the machine. */
export const systemClock: Clock = { now: () => new Date() };
