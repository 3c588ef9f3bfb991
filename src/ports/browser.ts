/** What a page asks for while it is loaded. */
export interface BrowserRequest {
  /** Absolute, with its query; http or https. */
  url: string;
  method: string;
  /** What asks, as the DevTools protocol names it in lower case: `script`, `image`, `xhr`, `fetch`, `document` for frames, … */
  type: string;
  /** Lower-case names, cookies included. */
  headers: Readonly<Record<string, string>>;
  body: Uint8Array | null;
}

/** What a page is given. */
export interface BrowserAnswer {
  status: number;
  /** Lower-case names; content codings are undone. */
  headers: Readonly<Record<string, string | string[]>>;
  body: Uint8Array;
}

/** A document to be loaded as a person's browser would. */
export interface PageLoad {
  /** Runs share neither cookies nor storage. */
  run: number;
  /** Of the document, normalised. */
  url: string;
  /** What the server said: the navigation itself asks nobody. */
  document: BrowserAnswer;
  /** Whether its scripts are run. */
  scripts: boolean;
  /** What the browser calls itself; its own name when absent. */
  userAgent?: string;
  /** Whether the document is wanted as it stands after loading. */
  wantsDom: boolean;
  /** Milliseconds after which it is taken as it stands. */
  timeout: number;
  /** Milliseconds after loading in which the network may come to rest; 0: nobody waits for that. */
  idle: number;
  /** Pages of its run at the same time. */
  atOnce: number;
  /** Answers what the page asks for; null refuses it. Nothing else of the network is within its reach. */
  answer(request: BrowserRequest): Promise<BrowserAnswer | null>;
  signal: AbortSignal;
}

export interface LoadedPage {
  ok: true;
  /** HTML of the document as it stands, open shadow roots as templates; null when it was not wanted. */
  html: string | null;
  /** Address of the document as it stands: scripts may have changed it without loading anything. */
  url: string;
  /** Where its scripts wanted to go instead, absolute; nothing of that was loaded. */
  navigations: string[];
  /** Time was up before it was loaded. */
  isCut: boolean;
}

export interface PageFault {
  ok: false;
  /** `crashed` may go well the next time; `hung` would not: the page does not come to rest, and cannot be read. */
  reason: 'crashed' | 'hung';
  message: string;
}

/** Loads pages of crawls in Chromium. The process is started when the first page comes, and ended when none has come for a while. */
export interface Browser {
  /** Starts it. @returns its name as it tells servers, or why there is none, naming the setting to see */
  begin(): Promise<{ ok: true; userAgent: string } | { ok: false; message: string }>;
  /**
   * Loads a page, waiting for its turn.
   * @throws the signal's reason once it is aborted
   */
  load(page: PageLoad): Promise<LoadedPage | PageFault>;
  /** Forgets what pages of a run have left: cookies, storage. */
  forget(run: number): Promise<void>;
  /** Removes what browsers of processes that were killed have left on the disk. */
  clear(): Promise<void>;
  close(): Promise<void>;
}
