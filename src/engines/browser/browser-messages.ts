import type { BrowserAnswer, BrowserRequest, LoadedPage, PageFault, PageLoad } from '../../ports/browser.ts';
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
  | { kind: 'ask'; id: number; number: number; request: BrowserRequest }
  | { kind: 'restarted' }
  | { kind: 'log'; level: 'debug' | 'warn'; message: string; error: string };
