import { eventChannel } from '../db/event-feed.ts';
import { type Listener, listen } from '../db/listener.ts';
import { grantChannel } from '../domain/identity/grant-cache.ts';
import { deploymentChannel } from '../domain/studio/deployments/deployment-feed.ts';
import { previewChannel } from '../domain/studio/previews/previews.ts';
import { changeChannel } from '../domain/studio/watch/change-log.ts';
import { triggerChannel } from '../domain/workflows/triggers/trigger-cache.ts';
import { permissionNames, systemActor } from '../kernel/actor.ts';
import type { RightsOf, Settings } from '../kernel/services.ts';
import type { Log } from '../ports/log.ts';
import { createPreview } from '../preview/preview.ts';
import type { Phase } from '../rest/health.ts';
import { beginBackground, beginJobs, logIsolation } from './background.ts';
import { type Config, previewUrlFor } from './config.ts';
import { type Core, openCore } from './core.ts';
import { type EndingPart, endInOrder } from './end-in-order.ts';
import { firstRun } from './first-run.ts';
import type { FirstRun } from './first-run-record.ts';
import { createApp, createMetricsApp, createWorkerApp } from './http/app.ts';
import { closeWithin, createHttpServer, listenOn } from './http/http-server.ts';
import { previewLog } from './http/request-log.ts';

/** A server that answers on its ports. */
interface App {
  port: number;
  /** Everything else a start does is done: readiness says so, and what competes with it for the processor begins. */
  ready(): void;
  /** Stops taking work, finishes what runs, and closes everything this process opened. */
  stop(): Promise<void>;
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

/** Listens, and answers that it is starting. */
async function startApp(config: Config, core: Core, databaseUrl: string): Promise<App> {
  const { services } = core;
  // The queue is what comes up last.
  const jobs = beginJobs(core, config);
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
    await core.queue.stop(config.PORTICO_SHUTDOWN_TIMEOUT);
    await core.close();
    throw error;
  });
  const listener = listenForChanges(core, databaseUrl);
  let endBackground: (() => Promise<void>) | undefined;
  let isolationLogged: Promise<void> | undefined;
  return {
    port,
    ready() {
      phase = 'ready';
      // All else would compete for the processor with the start of the queue, before which this process gets no requests.
      void jobs.then(() => {
        if (phase !== 'ready') return;
        endBackground = beginBackground(core, config);
        // A trial of a third of a second, for the log alone: builds make it for themselves where it was not made yet.
        if (config.PORTICO_ROLES.includes('worker')) isolationLogged = logIsolation(services);
      });
    },
    async stop() {
      phase = 'draining';
      // What has not ended shortly before the limit is cut, so that the rest of the stop still happens in order.
      const limit = performance.now() + Math.max(config.PORTICO_SHUTDOWN_TIMEOUT - 5, 1) * 1000;
      const timeLeft = () => Math.max(limit - performance.now(), 0);
      if (config.PORTICO_DRAIN_DELAY > 0)
        await new Promise((resolve) => setTimeout(resolve, config.PORTICO_DRAIN_DELAY * 1000));
      await endInOrder(services.log, [
        ['streams', () => core.endStreams()],
        ['requests', () => closeWithin(server, timeLeft())],
        ['metrics', () => metrics && closeWithin(metrics, 0)],
        ['background work', () => endBackground?.()],
        ['job queue', () => core.queue.stop(timeLeft() / 1000)],
        ['isolation of builds', () => isolationLogged],
        ['notifications', () => listener.close()],
      ]);
      await core.close();
    },
  };
}

interface ServeOptions {
  config: Config;
  log: Log;
  databaseUrl: string;
  /** Of the program. */
  version: string;
  /** Holds the files of the demo site. */
  demoDirectory: string;
  signal: AbortSignal;
  /** Takes what undoes a part that was begun, to be called in reverse order: also when a later part cannot begin. */
  onBegun(part: EndingPart): void;
}

/** What a process that serves shows of itself; without the role `web` it has no first run. */
interface Served {
  url: string;
  first: { record: FirstRun; isNew: boolean } | null;
}

/**
 * Serves on a database that is up; resolves when it is ready.
 * @throws StartError
 */
export async function serve({ config, log, databaseUrl, signal, onBegun, ...options }: ServeOptions): Promise<Served> {
  const settings: Pick<Settings, 'public_url' | 'public_host'> = { public_url: '', public_host: '' };
  const setPublicUrl = (url: string) =>
    Object.assign(settings, { public_url: url, public_host: new URL(url).hostname });
  setPublicUrl(config.PORTICO_PUBLIC_URL ?? `http://localhost:${config.PORTICO_PORT}`);
  const core = await openCore({ config, databaseUrl, log, settings, version: options.version });
  const { services } = core;
  await services.git.check();
  const app = await startApp(config, core, databaseUrl);
  onBegun(['server', () => app.stop()]);
  signal.throwIfAborted();
  if (!config.PORTICO_ROLES.includes('web')) {
    app.ready();
    return { url: `http://localhost:${app.port}`, first: null };
  }
  setPublicUrl(config.PORTICO_PUBLIC_URL ?? `http://localhost:${app.port}`);
  const preview = createHttpServer(previewLog(log, core.metrics.http, createPreview(services)));
  const { PORTICO_PREVIEW_PORT, PORTICO_HOST } = config;
  const previewPort = await listenOn(preview, PORTICO_PREVIEW_PORT, PORTICO_HOST, 'PORTICO_PREVIEW_PORT');
  const previewUrl = previewUrlFor(config, previewPort);
  services.settings.preview_url = previewUrl;
  onBegun(['previews', () => closeWithin(preview, 0)]);
  const { PORTICO_ADMIN_EMAIL: email, PORTICO_ADMIN_PASSWORD: password } = config;
  const first = await firstRun({
    services,
    actor: systemActor('first-run', permissionNames, settings.public_host, true),
    dataDir: config.PORTICO_DATA_DIR,
    url: settings.public_url,
    previewUrl: previewUrl.replace('*.', ''),
    demo: config.PORTICO_DEMO,
    demoDirectory: options.demoDirectory,
    admin: email !== undefined && password !== undefined ? { email, password } : null,
  });
  app.ready();
  return { url: settings.public_url, first };
}
