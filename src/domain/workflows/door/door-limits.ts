/** What the operator has set for webhooks; `services.settings.door`. */
export interface DoorLimits {
  /** Largest body, before and after it is inflated. */
  body_bytes: number;
  /** Bodies a process holds at the same time. */
  memory_bytes: number;
  /** Pending executions of an organisation that has no limit of its own. */
  backlog: number;
  /** Further headers whose values are never kept; lower case. */
  redact_headers: readonly string[];
}
