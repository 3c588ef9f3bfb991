/** What one transaction of a crawl has done. */
export interface CrawlBatch {
  /** It took, with the next leases. */
  seconds: number;
  /** URLs by what became of them: `done`, `error`, `skipped`, `pending`. */
  outcomes: Readonly<Record<string, number>>;
  captured: number;
  /** Of bodies, over the wire. */
  bytes: number;
  /** Hosts that were paused or slowed by it. */
  slowed: number;
}

/** Where operations report how they went; exposed for Prometheus by the protocol that serves it. */
export interface Metrics {
  /** `outcome` is `ok` or an error code, of a push `refused` or `failed`, too; duration in seconds. */
  operation(name: string, outcome: string, seconds: number): void;
  /** A git process has ended; `command` is git's name for what it did, `seconds` how long it lived. */
  gitProcess(command: string, seconds: number): void;
  /** A writer has come to wait for its commit (1), or has its answer (-1). */
  gitWriters(change: 1 | -1): void;
  /** A schedule of a source (`crawler`, `workflow`) was fired, so many seconds after its time; `outcome` as in its fires. */
  fire(source: string, outcome: string, seconds: number): void;
  /** A notification was tried: `delivered`, `retried`, `failed` or `dropped`. */
  delivery(outcome: string): void;
  /** A batch of a crawl was written and the next one leased. */
  crawlBatch(batch: CrawlBatch): void;
  /** This process has begun to work on a run (1) or has left it (-1). */
  crawlRuns(change: 1 | -1): void;
  /** This process takes over a run whose worker was lost. */
  crawlTakeover(): void;
  /** Chromium was replaced: it was worn, or has ended by itself. */
  browserRestart(): void;
  /** This process has written the end of an execution. */
  executionEnded(status: string): void;
  /** This process has written the end of a step run. */
  stepSettled(type: string, status: string): void;
}
