import { readFileSync } from 'node:fs';
import path from 'node:path';
import { eventChannel } from '../db/event-feed.ts';
import { type Listener, listen } from '../db/listener.ts';
import { DataDirInUse } from '../db/postgres.ts';
import { grantChannel } from '../domain/identity/grant-cache.ts';
import type { AllServices } from '../domain/services.ts';
import { deploymentChannel } from '../domain/studio/deployments/deployment-feed.ts';
import { previewChannel } from '../domain/studio/previews/previews.ts';
import { changeChannel } from '../domain/studio/watch/change-log.ts';
import { triggerChannel } from '../domain/workflows/triggers/trigger-cache.ts';
import { permissionNames, systemActor } from '../kernel/actor.ts';
import type { RightsOf, Settings } from '../kernel/services.ts';
import { createPreview } from '../preview/preview.ts';
import type { Phase } from '../rest/health.ts';
import { createApp, createMetricsApp, createWorkerApp } from './app.ts';
import { beginBackground, logIsolation } from './background.ts';
import { type Config, ConfigError, previewUrlFor, readConfig } from './config.ts';
import { type Core, openCore } from './core.ts';
import { openDatabase } from './database.ts';
import { firstRun } from './first-run.ts';
import type { FirstRun } from './first-run-record.ts';
import { createHttpServer, listenOn } from './http-server.ts';
import { createLog } from './log.ts';
import { previewLog } from './request-log.ts';
import { StartError } from './start-error.ts';

/** A server that answers on its ports. */
interface App {
  services: AllServices;
  port: number;
  /** Everything else a start does is done: readiness says so, and the log says how builds are kept apart as soon as that is known. */
  ready(): void;
  /** Stops taking work, finishes what runs, and closes everything this process opened. */
  stop(): Promise<void>;
}

interface ServerOptions {
  config: Config;
  core: Core;
  databaseUrl: string;
}

/** Listens for notifications of other processes and dispatches them to caches and feeds. */
function listenForChanges(core: Core, url: string): Listener {
  const { services } = core;
  return listen({
    url,
    log: services.log,
    channels: {
      [eventChannel]: (payload) => core.notify(payload),
      [grantChannel]: (payload) => services.grants.evict(payload as RightsOf),
      [triggerChannel]: (payload) => core.webhook.triggers.evict(payload),
      [previewChannel]: () => services.studio.previews.targets.forget(),
      [deploymentChannel]: (payload) => services.studio.feed.notify(payload),
      [changeChannel]: (payload) => services.studio.changes.notify(payload),
    },
    onState: (listening) => {
      services.grants.setListening(listening);
      services.studio.previews.targets.setListening(listening);
      services.studio.changes.setListening(listening);
      core.webhook.triggers.setListening(listening);
    },
  });
}

/** Listens and begins the background work of this process's roles. */
async function startApp({ config, core, databaseUrl }: ServerOptions): Promise<App> {
  const { services } = core;
  let phase: Phase = 'starting';
  const isWeb = config.PORTICO_ROLES.includes('web');
  const server = createHttpServer((isWeb ? createApp : createWorkerApp)(core, config, () => phase));
  const metrics = config.PORTICO_METRICS_PORT === undefined ? null : createHttpServer(createMetricsApp(core, config));
  const listenAll = async () => {
    const port = await listenOn(server, config.PORTICO_PORT, config.PORTICO_HOST, 'PORTICO_PORT');
    if (metrics === null) return port;
    const wanted = config.PORTICO_METRICS_PORT ?? 0;
    const metrics_port = await listenOn(metrics, wanted, config.PORTICO_HOST, 'PORTICO_METRICS_PORT');
    services.log.info({ metrics_port }, 'metrics have a port of their own');
    return port;
  };
  const port = await listenAll().catch(async (error: unknown) => {
    server.close();
    await core.close();
    throw error;
  });
  const listener = listenForChanges(core, databaseUrl);
  let isolationLogged: Promise<void> | undefined;
  const endBackground = beginBackground(core, config);
  return {
    services,
    port,
    ready() {
      phase = 'ready';
      // A trial of a third of a second, for the log alone: builds make it for themselves where it was not made yet.
      if (config.PORTICO_ROLES.includes('worker')) isolationLogged = logIsolation(services);
    },
    async stop() {
      phase = 'draining';
      if (config.PORTICO_DRAIN_DELAY > 0)
        await new Promise((resolve) => setTimeout(resolve, config.PORTICO_DRAIN_DELAY * 1000));
      core.endStreams();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      // A connection kept alive becomes idle only when the request under way on it has been answered.
      const idle = setInterval(() => server.closeIdleConnections(), 25);
      // What has not ended shortly before the limit is cut, so that the rest of the stop still happens in order.
      const patience = Math.max(config.PORTICO_SHUTDOWN_TIMEOUT - 5, 1) * 1000;
      const cut = setTimeout(() => server.closeAllConnections(), patience);
      await closed;
      metrics?.close();
      metrics?.closeAllConnections();
      clearInterval(idle);
      clearTimeout(cut);
      await endBackground();
      await isolationLogged;
      await listener.close();
      await core.close();
    },
  };
}

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

/** Starts the server; resolves when it is ready. @returns how to stop it. */
async function start(signal: AbortSignal): Promise<() => Promise<void>> {
  const { config, warnings } = readConfig(process.env);
  const log = createLog({ level: config.PORTICO_LOG_LEVEL, redactHeaders: config.PORTICO_REDACT_HEADERS });
  for (const warning of warnings) log.warn({}, warning);
  shutdownSeconds = config.PORTICO_SHUTDOWN_TIMEOUT;
  const ending: (() => Promise<void>)[] = [];
  const stop = async () => {
    log.info({}, 'stopping');
    for (const end of ending.splice(0).reverse()) await end();
    log.info({}, 'stopped');
  };
  try {
    const database = await openDatabase(config, log, signal);
    ending.push(() => database.stop());
    const settings: Pick<Settings, 'public_url' | 'public_host'> = { public_url: '', public_host: '' };
    const setPublicUrl = (url: string) =>
      Object.assign(settings, { public_url: url, public_host: new URL(url).hostname });
    setPublicUrl(config.PORTICO_PUBLIC_URL ?? `http://localhost:${config.PORTICO_PORT}`);
    signal.throwIfAborted();
    const core = await openCore({ config, databaseUrl: database.url, log, settings, version });
    await core.services.git.check();
    const app = await startApp({ config, core, databaseUrl: database.url });
    ending.push(() => app.stop());
    signal.throwIfAborted();
    const roles = config.PORTICO_ROLES;
    if (!roles.includes('web')) {
      app.ready();
      const url = `http://localhost:${app.port}`;
      process.stdout.write(
        `\nPortico is ready at ${url} as a worker: it executes, and answers /healthz, /readyz, /metrics\n\n`,
      );
      log.info({ url, roles, milliseconds: Math.round(performance.now()) }, 'ready');
      return stop;
    }
    setPublicUrl(config.PORTICO_PUBLIC_URL ?? `http://localhost:${app.port}`);
    const preview = createHttpServer(previewLog(log, core.metrics.http, createPreview(core.services)));
    const { PORTICO_PREVIEW_PORT, PORTICO_HOST } = config;
    const previewPort = await listenOn(preview, PORTICO_PREVIEW_PORT, PORTICO_HOST, 'PORTICO_PREVIEW_PORT');
    const previewUrl = previewUrlFor(config, previewPort);
    core.services.settings.preview_url = previewUrl;
    ending.push(async () => {
      preview.closeAllConnections();
      await new Promise((resolve) => preview.close(resolve));
    });
    const { record, isNew } = await firstRun({
      services: core.services,
      actor: systemActor('first-run', permissionNames, settings.public_host, true),
      dataDir: config.PORTICO_DATA_DIR,
      url: settings.public_url,
      previewUrl: previewUrl.replace('*.', ''),
      demo: config.PORTICO_DEMO,
      demoDirectory: path.join(packageRoot, 'demo'),
      admin:
        config.PORTICO_ADMIN_EMAIL !== undefined && config.PORTICO_ADMIN_PASSWORD !== undefined
          ? { email: config.PORTICO_ADMIN_EMAIL, password: config.PORTICO_ADMIN_PASSWORD }
          : null,
    });
    app.ready();
    greet(record, isNew, config.PORTICO_DATA_DIR);
    log.info({ url: settings.public_url, roles, milliseconds: Math.round(performance.now()) }, 'ready');
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
