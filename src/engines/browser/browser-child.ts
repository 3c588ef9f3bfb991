/**
 * The process that drives Chromium for a server (`separate-browser.ts`): what a page sends and logs, in any amount, goes through its memory
 * and Playwright's code, and the worst it can do is to end this process.
 */
import { writeFileSync } from 'node:fs';
import type { BrowserAnswer, BrowserRequest, LoadedPage, PageFault, PageLoad } from '../../ports/browser.ts';
import type { Log } from '../../ports/log.ts';
import { ChromiumBrowser } from './chromium-browser.ts';
import type { Wear } from './launch.ts';

/** What a browser's process needs to begin with. */
export interface ChildSettings {
  path: string | null;
  noSandbox: boolean;
  wornAfter?: Wear;
}

export type Begun = { ok: true; userAgent: string } | { ok: false; message: string };

/** To the process. `id` names a task, `number` a request of a page within it. */
export type ToBrowser =
  | { kind: 'open'; settings: ChildSettings }
  | { kind: 'begin'; id: number }
  | { kind: 'load'; id: number; page: Omit<PageLoad, 'answer' | 'signal'> }
  | { kind: 'forget'; id: number; run: number }
  | { kind: 'abort'; id: number }
  | { kind: 'answer'; id: number; number: number; answer: BrowserAnswer | null };

/** From the process. */
export type FromBrowser =
  | { kind: 'done'; id: number; value: Begun | LoadedPage | PageFault | null }
  | { kind: 'failed'; id: number; message: string }
  | { kind: 'request'; id: number; number: number; request: BrowserRequest }
  | { kind: 'restarted' }
  | { kind: 'log'; level: 'debug' | 'warn'; message: string; error: string };

const send = (message: FromBrowser) => void process.send?.(message, undefined, undefined, () => {});

const textOf = (fields: object) => {
  const { err } = fields as { err?: unknown };
  return (err instanceof Error ? (err.stack ?? err.message) : JSON.stringify(fields)).slice(0, 4_096);
};
const logAs = (level: 'debug' | 'warn') => (fields: object, message: string) =>
  send({ kind: 'log', level, message, error: textOf(fields) });
const log: Log = {
  debug: logAs('debug'),
  info: logAs('debug'),
  warn: logAs('warn'),
  error: logAs('warn'),
  child: () => log,
};

interface Task {
  controller: AbortController;
  /** Requests of the page that wait for their answers, by number. */
  waiting: Map<number, (answer: BrowserAnswer | null) => void>;
}

const tasks = new Map<number, Task>();
let browser: ChromiumBrowser | undefined;

async function load(chromium: ChromiumBrowser, id: number, page: Omit<PageLoad, 'answer' | 'signal'>) {
  const task: Task = { controller: new AbortController(), waiting: new Map() };
  tasks.set(id, task);
  let number = 0;
  try {
    return await chromium.load({
      ...page,
      signal: task.controller.signal,
      answer: (request) => {
        const { promise, resolve } = Promise.withResolvers<BrowserAnswer | null>();
        number += 1;
        task.waiting.set(number, resolve);
        send({ kind: 'request', id, number, request });
        return promise;
      },
    });
  } finally {
    tasks.delete(id);
    for (const settle of task.waiting.values()) settle(null);
  }
}

async function work(chromium: ChromiumBrowser, message: Extract<ToBrowser, { kind: 'begin' | 'load' | 'forget' }>) {
  if (message.kind === 'begin') return chromium.begin();
  if (message.kind === 'load') return load(chromium, message.id, message.page);
  await chromium.forget(message.run);
  return null;
}

process.on('message', (message: ToBrowser) => {
  if (message.kind === 'open') {
    browser = new ChromiumBrowser({ ...message.settings, onRestart: () => send({ kind: 'restarted' }) }, log);
  } else if (message.kind === 'abort') {
    tasks.get(message.id)?.controller.abort();
  } else if (message.kind === 'answer') {
    const waiting = tasks.get(message.id)?.waiting;
    waiting?.get(message.number)?.(message.answer);
    waiting?.delete(message.number);
  } else if (browser) {
    const { id } = message;
    work(browser, message).then(
      (value) => send({ kind: 'done', id, value }),
      (error: unknown) => send({ kind: 'failed', id, message: error instanceof Error ? error.message : String(error) }),
    );
  }
});

/** Where memory is short this process is ended, and not the server. */
try {
  writeFileSync('/proc/self/oom_score_adj', '500');
} catch {
  // Not Linux.
}

// A signal to the whole group is ignored: when the parent ends, or disconnects, this process ends with its Chromium.
process.on('SIGINT', () => {});
process.on('disconnect', () => void (browser?.close() ?? Promise.resolve()).finally(() => process.exit()));
