import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { residentBytes } from '../../lib/child-processes.ts';
import type { Browser, LoadedPage, PageFault, PageLoad } from '../../ports/browser.ts';
import type { Log } from '../../ports/log.ts';
import type { Begun, ChildSettings, FromBrowser, ToBrowser } from './browser-child.ts';
import { clearProfiles } from './launch.ts';

const module = new URL(`./browser-child${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url);

/** What Chromium needs of the environment; the rest may hold secrets. */
const passed = /^(?:PATH|HOME|TMPDIR|TZ|LANG|LANGUAGE|LC_.*|FONTCONFIG_.*|XDG_.*|LD_LIBRARY_PATH)$/;
const environment = () => Object.fromEntries(Object.entries(process.env).filter(([name]) => passed.test(name)));

const usualMemory = 1.5 * 2 ** 30;
/** Milliseconds between two looks at it: it takes some hundred MiB in the meantime at most. */
const lookEvery = 250;
/** A process without work is ended after so many milliseconds. */
const idleTime = 90_000;
/** What it gets to end its Chromium, milliseconds. */
const patience = 10_000;

type Value = Extract<FromBrowser, { kind: 'done' }>['value'];

interface Pending {
  /** What to say when the process dies. */
  ended: Value;
  resolve(value: Value): void;
  reject(error: Error): void;
  page?: PageLoad;
}

interface SeparateSettings extends ChildSettings {
  /** Memory of the process itself; bytes. It is ended beyond that. */
  mostMemory?: number;
  /** Called when one browser takes the place of another. */
  onRestart?: () => void;
}

const died = 'The browser ended: its process died';

/** One process, and what it has been given to do. */
class BrowserChild {
  readonly #child: ChildProcess;
  readonly #pending = new Map<number, Pending>();
  readonly #settings: SeparateSettings;
  readonly #log: Log;
  readonly #watch: NodeJS.Timeout;
  #idle: NodeJS.Timeout | undefined;
  #tasks = 0;

  /** @param onEnd called once it takes nothing more; `isCrash` unless it was to end */
  constructor(settings: SeparateSettings, log: Log, onEnd: (isCrash: boolean) => void) {
    this.#settings = settings;
    this.#log = log;
    this.#child = fork(module, {
      execArgv: ['--max-old-space-size=512'],
      env: environment(),
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    this.#child.unref();
    this.#child.channel?.unref();
    this.#watch = setInterval(() => void this.#weigh(), lookEvery).unref();
    const over = () => {
      clearInterval(this.#watch);
      clearTimeout(this.#idle);
      onEnd(this.#child.exitCode !== 0);
      for (const { resolve, reject, page, ended } of this.#pending.values())
        if (page?.signal.aborted) reject(page.signal.reason);
        else resolve(ended);
      this.#pending.clear();
    };
    this.#child.once('exit', over).once('error', over);
    this.#child.on('message', (message: FromBrowser) => this.#receive(message));
    const { path, noSandbox, wornAfter } = settings;
    this.#send({ kind: 'open', settings: { path, noSandbox, ...(wornAfter && { wornAfter }) } });
  }

  /** It takes tasks: nothing has ended it, or begun to. */
  get isOpen(): boolean {
    return this.#child.connected;
  }

  begin(): Promise<Value> {
    return this.#do((id) => ({ kind: 'begin', id }), { ended: { ok: false, message: died } });
  }

  forget(run: number): Promise<Value> {
    return this.#do((id) => ({ kind: 'forget', id, run }), { ended: null });
  }

  async load(page: PageLoad): Promise<Value> {
    const { answer: _answer, signal, ...plain } = page;
    let id = 0;
    const onAbort = () => this.#send({ kind: 'abort', id });
    const ended: PageFault = { ok: false, reason: 'crashed', message: died };
    const loading = this.#do(
      (given) => {
        id = given;
        return { kind: 'load', id, page: plain };
      },
      { ended, page },
    );
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      return await loading;
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** Ends it with its Chromium. */
  async close(): Promise<void> {
    const { pid, exitCode, signalCode } = this.#child;
    // One that could not be started never exits.
    if (pid === undefined || exitCode !== null || signalCode !== null) return;
    const exit = once(this.#child, 'exit');
    if (this.#child.connected) this.#child.disconnect();
    const isOver = await Promise.race([exit.then(() => true), sleep(patience, false, { ref: false })]);
    if (isOver) return;
    this.#child.kill('SIGKILL');
    await exit;
  }

  #do(messageOf: (id: number) => ToBrowser, { ended, page }: Pick<Pending, 'ended' | 'page'>): Promise<Value> {
    this.#tasks += 1;
    const id = this.#tasks;
    clearTimeout(this.#idle);
    return new Promise<Value>((resolve, reject) => {
      this.#pending.set(id, { ended, resolve, reject, ...(page && { page }) });
      this.#child.channel?.ref();
      this.#send(messageOf(id));
    }).finally(() => {
      if (this.#pending.size > 0) return;
      this.#child.channel?.unref();
      this.#idle = setTimeout(() => void this.close(), idleTime).unref();
    });
  }

  /** What cannot be sent any more is dropped: the end of the process settles what waits. */
  #send(message: ToBrowser): void {
    if (this.#child.connected) this.#child.send(message, () => {});
  }

  #receive(message: FromBrowser): void {
    if (message.kind === 'restarted') this.#settings.onRestart?.();
    else if (message.kind === 'log') this.#log[message.level]({ err: message.error }, message.message);
    else this.#settle(message);
  }

  #settle(message: Extract<FromBrowser, { id: number }>): void {
    const task = this.#pending.get(message.id);
    if (!task) return;
    if (message.kind === 'request') {
      void this.#answer(message, task);
      return;
    }
    this.#pending.delete(message.id);
    if (message.kind === 'done') task.resolve(message.value);
    else task.reject(task.page?.signal.aborted ? task.page.signal.reason : new Error(message.message));
  }

  async #answer({ id, number, request }: Extract<FromBrowser, { kind: 'request' }>, { page }: Pending): Promise<void> {
    const answer = (await page?.answer(request).catch(() => null)) ?? null;
    this.#send({ kind: 'answer', id, number, answer });
  }

  async #weigh(): Promise<void> {
    const { pid } = this.#child;
    const { mostMemory = usualMemory } = this.#settings;
    if (pid === undefined || (await residentBytes(pid)) <= mostMemory) return;
    this.#log.warn({ pid }, 'the process of the browser is ended: it takes too much memory');
    this.#child.kill('SIGKILL');
  }
}

/** Chromium behind the port `browser`, driven by a process of its own: nothing that a page does reaches into the server. */
export class SeparateBrowser implements Browser {
  readonly #settings: SeparateSettings;
  readonly #log: Log;
  /** Also those that are about to end. */
  readonly #children = new Set<BrowserChild>();
  #isClosed = false;

  constructor(settings: SeparateSettings, log: Log) {
    this.#settings = settings;
    this.#log = log;
  }

  async begin(): Promise<Begun> {
    return (await this.#current().begin()) as Begun;
  }

  async load(page: PageLoad): Promise<LoadedPage | PageFault> {
    page.signal.throwIfAborted();
    return (await this.#current().load(page)) as LoadedPage | PageFault;
  }

  async forget(run: number): Promise<void> {
    await Promise.all([...this.#children].map((child) => child.forget(run)));
  }

  clear(): Promise<void> {
    return clearProfiles();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#children].map((child) => child.close()));
  }

  #current(): BrowserChild {
    if (this.#isClosed) throw new Error('the browser is closed');
    return [...this.#children].find(({ isOpen }) => isOpen) ?? this.#start();
  }

  #start(): BrowserChild {
    const child: BrowserChild = new BrowserChild(this.#settings, this.#log, (isCrash) => {
      this.#children.delete(child);
      if (!isCrash || this.#isClosed) return;
      this.#log.warn({}, 'the process of the browser has died; the next page starts another one');
      this.#settings.onRestart?.();
      clearProfiles().catch((err: unknown) =>
        this.#log.debug({ err }, 'what its browser has left stays until the next start'),
      );
    });
    this.#children.add(child);
    return child;
  }
}
