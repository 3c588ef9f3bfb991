import { EventEmitter } from 'node:events';
import { z } from 'zod';

/** The channel on which the database tells that a deployment or one of its jobs has changed, in any process. */
export const deploymentChannel = 'portico_deployment';

const change = z.object({
  deployment: z.int(),
  environment: z.int(),
  /** The job that has changed, when it was one. */
  job: z.int().optional(),
  /** Bytes its log has now. */
  log_size: z.int().optional(),
});
export type DeploymentChange = z.output<typeof change>;

/** Text a job of this process has just written; `offset` in bytes of UTF-8. */
export interface LogText {
  deployment: number;
  job: number;
  offset: number;
  text: string;
}

/**
 * Tells followers what happens to deployments: changes of every process as the database announces them, log text of this process at once.
 * A follower reads the rows first and again at each change: nothing here is kept.
 */
export class DeploymentFeed {
  readonly #changes = new EventEmitter<Record<string, [DeploymentChange]>>().setMaxListeners(0);
  readonly #texts = new EventEmitter<Record<string, [LogText]>>().setMaxListeners(0);

  /** Takes what the database said on its channel; anything else is left. */
  notify(payload: string): void {
    const parsed = change.safeParse(JSON.parse(payload));
    if (!parsed.success) return;
    this.#changes.emit(`deployment ${parsed.data.deployment}`, parsed.data);
    this.#changes.emit(`environment ${parsed.data.environment}`, parsed.data);
  }

  say(text: LogText): void {
    this.#texts.emit(String(text.job), text);
  }

  /** @returns how to stop following. */
  followChanges(
    of: { deployment: number } | { environment: number },
    follow: (change: DeploymentChange) => void,
  ): () => void {
    const name = 'deployment' in of ? `deployment ${of.deployment}` : `environment ${of.environment}`;
    this.#changes.on(name, follow);
    return () => this.#changes.off(name, follow);
  }

  /** Follows the log of a job that runs in this process. @returns how to stop following. */
  followLog(job: number, follow: (text: LogText) => void): () => void {
    this.#texts.on(String(job), follow);
    return () => this.#texts.off(String(job), follow);
  }
}
