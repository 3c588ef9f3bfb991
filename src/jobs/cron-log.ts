import type { Log } from '../domain/ports/log.ts';

/** What node-cron has to say, among the other lines of the log and not on standard error. */
export function cronLog(log: Log) {
  const said =
    (level: 'info' | 'warn' | 'error' | 'debug') =>
    (message: string | Error, err?: Error): void =>
      typeof message === 'string'
        ? log[level]({ ...(err && { err }) }, message)
        : log[level]({ err: message }, 'failed');
  return { info: said('info'), warn: said('warn'), error: said('error'), debug: said('debug') };
}
