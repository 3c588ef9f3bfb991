import { type AddressInfo, createServer, type Socket } from 'node:net';
import { FairSlots } from '../../lib/fair-queue.ts';
import type { Browser, LoadedPage, PageFault, PageLoad } from '../../ports/browser.ts';
import type { Log } from '../../ports/log.ts';
import { BrowserProcess } from './browser-process.ts';
import { type BrowserSettings, clearProfiles, launch, NoBrowser } from './launch.ts';

const refusal = 'HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n';

/** A forward proxy that refuses everything. */
export interface RefusingProxy {
  /** `http://127.0.0.1:<port>`. */
  url: string;
  /** First lines of what was refused, the newest last; at most 100. */
  refused: readonly string[];
  close(): Promise<void>;
}

/** Opens a proxy that refuses every request. What a browser sends on its own ends here. */
export async function openRefusingProxy(): Promise<RefusingProxy> {
  const refused: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    socket.setTimeout(5_000, () => socket.destroy());
    socket.once('data', (first) => {
      refused.push(first.toString('latin1').split('\r\n', 1)[0]?.slice(0, 200) ?? '');
      if (refused.length > 100) refused.shift();
      socket.end(refusal);
      socket.resume();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  server.unref();
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    refused,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

const keysOf = ({ run, organization }: Pick<PageLoad, 'run' | 'organization'>) =>
  [`run ${run}`, `organization ${organization}`] as const;

/**
 * Slots for pages, of which each run has a number of its own.
 * @param most pages at the same time: of the runs of one organisation, and of all
 */
export const pageSlots = (most: { organization: number; all: number }) =>
  new FairSlots<Pick<PageLoad, 'run' | 'organization' | 'atOnce'>>(most.all, {
    keysOf,
    mayHold(page, slots) {
      const [run, organization] = keysOf(page);
      return slots.heldBy(run) < page.atOnce && slots.heldBy(organization) < most.organization;
    },
  });

/** A page may take minutes: no organisation has all of them. */
const mostPages = { organization: 4, all: 5 };
/** An idle browser is ended after so many milliseconds. */
const idleTime = 60_000;

interface Running {
  process: BrowserProcess;
  userAgent: string;
}

/** Chromium behind the port `browser`: one process at a time, but for the last pages of the one before. */
export class ChromiumBrowser implements Browser {
  readonly #settings: BrowserSettings;
  readonly #log: Log;
  readonly #slots = pageSlots(mostPages);
  readonly #processes = new Set<BrowserProcess>();
  #proxy: Promise<RefusingProxy> | undefined;
  #running: Promise<Running> | undefined;
  #idle: NodeJS.Timeout | undefined;
  #isClosed = false;
  #starts = 0;

  constructor(settings: BrowserSettings, log: Log) {
    this.#settings = settings;
    this.#log = log;
  }

  /** How often Chromium was started. */
  get starts(): number {
    return this.#starts;
  }

  /** What Chromium tried to send past us; empty before its first start. */
  async refused(): Promise<readonly string[]> {
    return (await this.#proxy)?.refused ?? [];
  }

  async begin(): Promise<{ ok: true; userAgent: string } | { ok: false; message: string }> {
    try {
      const { userAgent } = await this.#current();
      this.#restLater();
      return { ok: true, userAgent };
    } catch (error) {
      if (error instanceof NoBrowser) {
        this.#log.warn({ err: error }, 'pages cannot be loaded in a browser');
        return { ok: false, message: error.message };
      }
      throw error;
    }
  }

  async load(page: PageLoad): Promise<LoadedPage | PageFault> {
    const release = await this.#slots.take(page, page.signal);
    clearTimeout(this.#idle);
    try {
      const { process } = await this.#current();
      process.enter();
      try {
        return await process.load(page);
      } finally {
        await process.leave();
        if (process.isWorn && process.isIdle) this.#processes.delete(process);
      }
    } catch (error) {
      if (page.signal.aborted) throw page.signal.reason;
      const message = error instanceof Error ? (error.message.split('\n', 1)[0] ?? '') : String(error);
      return { ok: false, reason: 'crashed', message: `The browser ended: ${message.slice(0, 200)}` };
    } finally {
      release();
      this.#restLater();
    }
  }

  async forget(run: number): Promise<void> {
    await Promise.all([...this.#processes].map((process) => process.forget(run)));
  }

  clear(): Promise<void> {
    return clearProfiles();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#idle);
    await this.#running?.catch(() => {});
    await Promise.all([...this.#processes].map((process) => process.close()));
    this.#processes.clear();
    await (await this.#proxy)?.close();
  }

  /** The browser that takes pages, started on demand. */
  async #current(): Promise<Running> {
    const running = this.#running;
    if (running) {
      const found = await running;
      if (!found.process.isWorn) return found;
      if (this.#running !== running) return this.#current();
      this.#settings.onRestart?.();
    }
    this.#running = this.#start();
    this.#running.catch(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #start(): Promise<Running> {
    if (this.#isClosed) throw new Error('the browser is closed');
    this.#proxy ??= openRefusingProxy();
    const launched = await launch(this.#settings, (await this.#proxy).url);
    this.#starts += 1;
    const process = new BrowserProcess(
      launched,
      (message, err) => this.#log.debug({ err }, message),
      this.#settings.wornAfter,
    );
    this.#processes.add(process);
    if (this.#isClosed) await process.close();
    const session = await launched.chromium.newBrowserCDPSession();
    const { userAgent } = await session.send('Browser.getVersion');
    await session.detach();
    return { process, userAgent };
  }

  #restLater(): void {
    clearTimeout(this.#idle);
    if (!this.#slots.isIdle) return;
    this.#idle = setTimeout(() => {
      if (!this.#slots.isIdle) return;
      this.#running = undefined;
      for (const process of this.#processes) void process.close();
      this.#processes.clear();
    }, idleTime).unref();
  }
}
