/** A request of a page while it is loaded. */
export interface BrowserRequest {
  /** Absolute, with its query; http or https. */
  url: string;
  method: string;
  /** The initiator's resource type as in the DevTools protocol, in lower case: `script`, `image`, `xhr`, `fetch`, `document` for frames, … */
  type: string;
  /** Origin of the document that makes it, for frames of the document they stand in; null: an opaque one. */
  from: string | null;
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
  /** Whose run it is: pages of one organisation leave room for others. */
  organization: number;
  /** Of the document, normalised. */
  url: string;
  /** The server's response: the navigation itself makes no request. */
  document: BrowserAnswer;
  /** Whether its scripts are run. */
  scripts: boolean;
  /** What the browser calls itself; its own name when absent. */
  userAgent?: string;
  /** Whether the document is returned as it is after loading. */
  wantsDom: boolean;
  /** Milliseconds after which it is taken as it stands. */
  timeout: number;
  /** Milliseconds after loading in which the network may become idle; 0: no wait. */
  idle: number;
  /** Pages of its run at the same time. */
  atOnce: number;
  /** Answers the page's requests; null refuses one. The page has no other access to the network. */
  answer(request: BrowserRequest): Promise<BrowserAnswer | null>;
  signal: AbortSignal;
}

export interface LoadedPage {
  ok: true;
  /** HTML of the document after loading, open shadow roots as templates; null when it was not requested. */
  html: string | null;
  /** Address of the document as it stands: scripts may have changed it without loading anything. */
  url: string;
  /** Absolute URL its scripts tried to navigate to; nothing of that was loaded. */
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

/** Loads pages of crawls in Chromium. The process is started for the first page, and ended after a while without pages. */
export interface Browser {
  /** Starts it. @returns its user agent, or why it is not available, naming the setting to check */
  begin(): Promise<{ ok: true; userAgent: string } | { ok: false; message: string }>;
  /**
   * Loads a page once a slot is free.
   * @throws the signal's reason once it is aborted
   */
  load(page: PageLoad): Promise<LoadedPage | PageFault>;
  /** Forgets what pages of a run have left: cookies, storage. */
  forget(run: number): Promise<void>;
  /** Removes what browsers of processes that were killed have left on the disk. */
  clear(): Promise<void>;
  close(): Promise<void>;
}
