import type { Beside } from '../../frontier/outcome.ts';

/** A page as a browser shows it. */
export interface ShownPage {
  /** Null when only its requests were wanted. */
  html: string | null;
  url: string;
  navigations: string[];
  /** Time was up before it was loaded. */
  isCut: boolean;
  /** HTML of the site it asked for, which the run has to ask for by itself. */
  leftToRun: string[];
  beside: Beside;
}

/** A page that could not be shown: its URL ends in `browser`, or is tried again. */
export class BrowserFault extends Error {
  override name = 'BrowserFault';
  readonly isRetryable: boolean;
  /** What was fetched for it all the same. */
  readonly beside: Beside;

  constructor(message: string, isRetryable: boolean, beside: Beside) {
    super(message);
    this.isRetryable = isRetryable;
    this.beside = beside;
  }
}
