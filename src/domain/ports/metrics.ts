/** Where operations report how they went; exposed for Prometheus by the protocol that serves it. */
export interface Metrics {
  /** `outcome` is `ok` or an error code; duration in seconds. */
  operation(name: string, outcome: string, seconds: number): void;
}
