import { timingSafeEqual } from 'node:crypto';
import express, { type Request, type Response, type Router } from 'express';
import ipaddr from 'ipaddr.js';
import { DomainError } from '../domain/errors.ts';
import { errorBody, statusOf } from './errors.ts';

/** What readiness looks at; each resolves to true when it is fine. */
export type Checks = Record<'database' | 'migrations' | 'queue' | 'keys' | 'repositories', () => Promise<boolean>>;

/** Where a process stands: only a ready one wants requests. */
export type Phase = 'starting' | 'ready' | 'draining';

interface HealthOptions {
  checks: Checks;
  phase(): Phase;
  /** What the process does. */
  roles: readonly string[];
  metrics(): Promise<{ type: string; text: string }>;
  metricsToken: string | undefined;
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

/** Loopback by the socket's address: a forwarded header must not open the metrics. */
const isLocal = (request: Request) =>
  ipaddr.process(request.socket.remoteAddress ?? '0.0.0.0').range() === 'loopback' &&
  !request.headers['x-forwarded-for'];

function hasToken(request: Request, token: string | undefined): boolean {
  const given = Buffer.from(/^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '');
  const wanted = Buffer.from(token ?? '');
  return wanted.length > 0 && given.length === wanted.length && timingSafeEqual(given, wanted);
}

/** Answers a method that none of these paths knows. */
function onlyGet(_request: Request, response: Response): void {
  const error = new DomainError('method_not_allowed', 'This path knows GET, HEAD');
  response.status(statusOf[error.code]).set('Allow', 'GET, HEAD');
  response.json(errorBody(error, String(response.getHeader('X-Request-Id'))));
}

/** `/healthz`, `/readyz`, `/metrics`. */
export function createHealth({ checks, phase, roles, metrics, metricsToken }: HealthOptions): Router {
  const router = express.Router();
  router.get('/healthz', (_request, response) => void response.json({ status: 'ok' }));
  router.get('/readyz', async (_request, response) => {
    const names = Object.keys(checks) as (keyof Checks)[];
    const results = await Promise.all(names.map((name) => passes(checks[name])));
    const ready = results.every(Boolean) && phase() === 'ready';
    response.status(ready ? 200 : 503).json({
      status: phase() !== 'ready' ? phase() : ready ? 'ready' : 'not ready',
      roles,
      checks: Object.fromEntries(names.map((name, at) => [name, results[at] ? 'ok' : 'failed'])),
    });
  });
  // Of metrics not even the path is known to everybody.
  router.use('/metrics', (request, _response, next) =>
    isLocal(request) || hasToken(request, metricsToken) ? next() : next('router'),
  );
  router.get('/metrics', async (_request, response) => {
    const { type, text } = await metrics();
    response.set('Content-Type', type).send(text);
  });
  router.all(['/healthz', '/readyz', '/metrics'], onlyGet);
  return router;
}
