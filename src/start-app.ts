import { createApp, createMetricsApp, createWorkerApp } from './app.ts';
import { beginBackground, logIsolation } from './background.ts';
import type { Config } from './config.ts';
import type { Core } from './core.ts';
import { eventChannel } from './db/event-feed.ts';
import { type Listener, listen } from './db/listener.ts';
import { grantChannel } from './domain/identity/grant-cache.ts';
import type { Services } from './domain/services.ts';
import { deploymentChannel } from './domain/studio/deployments/deployment-feed.ts';
import { previewChannel } from './domain/studio/previews/previews.ts';
import { triggerChannel } from './domain/workflows/triggers/trigger-cache.ts';
import { createHttpServer, listenOn } from './http-server.ts';
import type { Phase } from './rest/health.ts';

/** A server that answers on its ports. */
export interface App {
  services: Services;
  port: number;
  /** Everything else a start does is done: readiness says so as soon as the log says how builds are kept apart. */
  ready(): Promise<void>;
  /** Stops taking work, finishes what runs, and closes everything this process opened. */
  stop(): Promise<void>;
}

interface ServerOptions {
  config: Config;
  core: Core;
  databaseUrl: string;
}

/** Hears what other processes say, and gives it to whom it concerns. */
function hearOthers(core: Core, url: string): Listener {
  const { services } = core;
  return listen({
    url,
    log: services.log,
    channels: {
      [eventChannel]: (payload) => core.hear(payload),
      [grantChannel]: (payload) => services.grants.evict(Number(payload)),
      [triggerChannel]: (payload) => core.door.triggers.evict(payload),
      [previewChannel]: () => services.previews.targets.forget(),
      [deploymentChannel]: (payload) => services.feed.hear(payload),
    },
    onState: (listening) => {
      services.grants.setListening(listening);
      services.previews.targets.setListening(listening);
      core.door.triggers.setListening(listening);
    },
  });
}

/** Listens and begins the background work of this process's roles. */
export async function startApp({ config, core, databaseUrl }: ServerOptions): Promise<App> {
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
  const listener = hearOthers(core, databaseUrl);
  const isolationLogged = config.PORTICO_ROLES.includes('worker') ? logIsolation(services) : Promise.resolve();
  const endBackground = beginBackground(core, config);
  return {
    services,
    port,
    async ready() {
      await isolationLogged;
      phase = 'ready';
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
      await listener.close();
      await core.close();
    },
  };
}
