/** Where operations report how they went; exposed for Prometheus by the protocol that serves it. */
export interface Metrics {
  /** `outcome` is `ok` or an error code; duration in seconds. */
  operation(name: string, outcome: string, seconds: number): void;
  /** A git process has ended; `command` is git's name for what it did, `seconds` how long it lived. */
  gitProcess(command: string, seconds: number): void;
  /** A writer has come to wait for its commit (1), or has its answer (-1). */
  gitWriters(change: 1 | -1): void;
}
