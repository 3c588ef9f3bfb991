import type { Browser, LoadedPage, PageFault, PageLoad } from '../../domain/ports/browser.ts';
import type { Log } from '../../domain/ports/log.ts';
import { clearBrowserDirectories } from './browser-directory.ts';
import { BrowserProcess } from './browser-process.ts';
import { type ClosedDoor, openClosedDoor } from './closed-door.ts';
import { type BrowserSettings, launch, NoBrowser } from './launch.ts';
import { Turns } from './turns.ts';

/** Pages at the same time, of all runs. */
const mostPages = 4;
/** A browser nobody has needed for so long is ended; milliseconds. */
const idleTime = 60_000;

interface Running {
  process: BrowserProcess;
  userAgent: string;
}

/** Chromium behind the port `browser`: one process at a time, but for the last pages of the one before. */
export class ChromiumBrowser implements Browser {
  readonly #settings: BrowserSettings;
  readonly #log: Log;
  readonly #turns = new Turns(mostPages);
  readonly #processes = new Set<BrowserProcess>();
  #door: Promise<ClosedDoor> | undefined;
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
    return (await this.#door)?.refused ?? [];
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
    await this.#turns.enter(page.run, page.atOnce, page.signal);
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
      this.#turns.leave(page.run);
      this.#restLater();
    }
  }

  async forget(run: number): Promise<void> {
    await Promise.all([...this.#processes].map((process) => process.forget(run)));
  }

  clear(): Promise<void> {
    return clearBrowserDirectories();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#idle);
    await this.#running?.catch(() => {});
    await Promise.all([...this.#processes].map((process) => process.close()));
    this.#processes.clear();
    await (await this.#door)?.close();
  }

  /** The browser that takes pages, started when there is none. */
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
    this.#door ??= openClosedDoor();
    const launched = await launch(this.#settings, (await this.#door).url);
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
    if (!this.#turns.isIdle) return;
    this.#idle = setTimeout(() => {
      if (!this.#turns.isIdle) return;
      this.#running = undefined;
      for (const process of this.#processes) void process.close();
      this.#processes.clear();
    }, idleTime).unref();
  }
}
