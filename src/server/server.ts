import { readFileSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import path from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { DataDirInUse } from '../db/postgres/lock.ts';
import { ConfigError, readConfig } from './config.ts';
import { openDatabase } from './database.ts';
import { type EndingPart, endInOrder } from './end-in-order.ts';
import type { FirstRun } from './first-run-record.ts';
import { createLog } from './log.ts';
import { StartError } from './start-error.ts';

/** Root of the package, seen from `dist/src`. */
const packageRoot = path.resolve(import.meta.dirname, '../../..');
const { version } = JSON.parse(readFileSync(path.join(packageRoot, 'package.json'), 'utf8')) as { version: string };

/** How long a stop may take; renewed when the settings are read. */
let shutdownSeconds = 25;

/** What a person needs after a start, on standard output beside the log. */
function greet(record: FirstRun, isNew: boolean, dataDir: string): void {
  const { url, setup_url, token, organization, project } = record;
  const lines = ['', `Portico is ready at ${url}`];
  if (setup_url !== undefined)
    lines.push('', '  Make the first account (this link works once, for 24 hours):', '', `    ${setup_url}`);
  if (isNew) {
    lines.push(
      '',
      `  API token (shown once, also in ${path.join(dataDir, 'first-run.json')}):`,
      '',
      `    ${token}`,
      '',
      '  Try it:',
      '',
    );
    lines.push(`    curl -H 'Authorization: Bearer ${token}' \\`);
    lines.push(`      ${url}/api/v2/organizations/${organization}/projects/${project}/studio/collections`, '');
    lines.push(`    git clone ${url.replace('://', `://token:${token}@`)}/git/${organization}/${project}.git`);
  } else if (token === undefined) {
    lines.push('', '  For an API token, create an organisation, unless there is one, and a token for it:', '');
    lines.push('    npm run portico -- organization create <name>');
    lines.push('    npm run portico -- token create --organization <name> --preset owner');
  }
  process.stdout.write(`${lines.join('\n')}\n\n`);
}

/**
 * Lets the heap grow by a quarter at a time, which keeps a server with 10,000 entries within its memory. Not before all is loaded: compiled code,
 * node's own too, is taken from a cache only under the flags it was kept with.
 */
function limitGrowth(): void {
  flushCompileCache();
  setFlagsFromString('--heap-growing-percent=25');
}

/** Starts the server; resolves when it is ready. @returns how to stop it. */
async function start(signal: AbortSignal): Promise<() => Promise<void>> {
  const { config, warnings } = readConfig(process.env);
  const log = createLog({ level: config.PORTICO_LOG_LEVEL, redactHeaders: config.PORTICO_REDACT_HEADERS });
  for (const warning of warnings) log.warn({}, warning);
  shutdownSeconds = config.PORTICO_SHUTDOWN_TIMEOUT;
  const parts: EndingPart[] = [];
  const stop = async () => {
    log.info({}, 'stopping');
    await endInOrder(log, parts.splice(0).reverse());
    log.info({}, 'stopped');
  };
  // The rest of the program is loaded while PostgreSQL comes up in a process of its own.
  const load = () => import('./serve.ts');
  try {
    const database = await openDatabase(config, log, { signal, onLaunch: () => void load() });
    parts.push(['PostgreSQL', () => database.stop()]);
    signal.throwIfAborted();
    const { serve } = await load();
    const { url, first } = await serve({
      ...{ config, log, version, signal },
      databaseUrl: database.url,
      demoDirectory: path.join(packageRoot, 'demo'),
      onBegun: (part) => parts.push(part),
    });
    if (first) greet(first.record, first.isNew, config.PORTICO_DATA_DIR);
    else
      process.stdout.write(
        `\nPortico is ready at ${url} as a worker: it executes, and answers /healthz, /readyz, /metrics\n\n`,
      );
    limitGrowth();
    log.info({ url, roles: config.PORTICO_ROLES, milliseconds: Math.round(performance.now()) }, 'ready');
    return stop;
  } catch (error) {
    await stop();
    throw error;
  }
}

const stopping = new AbortController();
const started = start(stopping.signal);

started.catch((error: unknown) => {
  // Stopped before it was up: what it had begun is undone.
  if (stopping.signal.aborted) process.exit(0);
  const forPeople = error instanceof ConfigError || error instanceof StartError || error instanceof DataDirInUse;
  process.stderr.write(
    forPeople ? `${error.message}\n` : `Portico could not start: ${error instanceof Error ? error.message : error}\n`,
  );
  if (!forPeople && process.env.PORTICO_LOG_LEVEL === 'debug' && error instanceof Error)
    process.stderr.write(`${error.stack}\n`);
  process.exit(1);
});

/** A terminal and a process manager in between may both pass on one Ctrl-C; milliseconds. */
const sameSignal = 500;
let firstSignal = 0;

/** The first signal stops in order, a second one at once. */
async function shutDown(): Promise<void> {
  if (stopping.signal.aborted) {
    if (performance.now() - firstSignal > sameSignal) process.exit(1);
    return;
  }
  firstSignal = performance.now();
  stopping.abort();
  setTimeout(() => process.exit(1), shutdownSeconds * 1000).unref();
  try {
    await (await started)();
    process.exit(0);
  } catch (error) {
    process.stderr.write(`Portico did not stop in order: ${error instanceof Error ? error.message : error}\n`);
    process.exit(1);
  }
}

for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => void shutDown());
