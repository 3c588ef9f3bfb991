import { createHash, timingSafeEqual } from 'node:crypto';
import express, { type Request, type Router } from 'express';
import { SharedRuns } from '../lib/concurrency.ts';
import { onlyGet } from './errors.ts';

/** What readiness looks at; each resolves to true when it is fine. */
export type Checks = Record<
  'database' | 'migrations' | 'queue' | 'keys' | 'repositories' | 'storage',
  () => Promise<boolean>
>;

/** State of a process: only a ready one should get requests. */
export type Phase = 'starting' | 'ready' | 'draining';

interface HealthOptions {
  checks: Checks;
  phase(): Phase;
  /** What the process does. */
  roles: readonly string[];
}

const checkTimeout = 2_000;

async function passes(check: () => Promise<boolean>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, checkTimeout, false);
  });
  try {
    return await Promise.race([check().catch(() => false), late]);
  } finally {
    clearTimeout(timer);
  }
}

const digest = (text: string) => createHash('sha256').update(text).digest();

/** Compares in constant time, whatever the lengths (RFC 6750 2.1 for the header). */
function hasToken(request: Request, token: string): boolean {
  const given = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1];
  return given !== undefined && timingSafeEqual(digest(given), digest(token));
}

/** `/healthz` and `/readyz`. */
export function createHealth({ checks, phase, roles }: HealthOptions): Router {
  const router = express.Router();
  const names = Object.keys(checks) as (keyof Checks)[];
  // Anybody may request it, any number of times at once; with a service of keys each look is a request to that.
  const looks = new SharedRuns<boolean[]>();
  router.get('/healthz', (_request, response) => void response.json({ status: 'ok' }));
  router.get('/readyz', async (_request, response) => {
    const results = await looks.run('', () => Promise.all(names.map((name) => passes(checks[name]))));
    const ready = results.every(Boolean) && phase() === 'ready';
    response.status(ready ? 200 : 503).json({
      status: phase() !== 'ready' ? phase() : ready ? 'ready' : 'not ready',
      roles,
      checks: Object.fromEntries(names.map((name, at) => [name, results[at] ? 'ok' : 'failed'])),
    });
  });
  router.all(['/healthz', '/readyz'], onlyGet);
  return router;
}

/** What renders the metrics of a process, as Prometheus text. */
type Render = () => Promise<{ type: string; text: string }>;

/**
 * `/metrics`, which belongs to the operator: to requests without the token it does not exist, wherever they come from. Loopback proves nothing,
 * since builds and every proxy of the machine are there too.
 * @param token undefined: nothing is served
 */
export function createMetricsRoute(token: string | undefined, render: Render): Router {
  const router = express.Router();
  if (token === undefined) return router;
  router.use('/metrics', (request, _response, next) => (hasToken(request, token) ? next() : next('router')));
  router.get('/metrics', async (_request, response) => {
    const { type, text } = await render();
    response.set({ 'Content-Type': type, 'Cache-Control': 'no-store' }).send(text);
  });
  router.all('/metrics', onlyGet);
  return router;
}
