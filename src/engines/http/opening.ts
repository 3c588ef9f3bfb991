import type { Agent } from 'undici';
import type { Opening } from '../../ports/exchange.ts';
import type { Pools } from './pools.ts';

/** Takes a request back in the moment it would be written; its connection stays. */
const opened = new Error('the connection is there');

/** A connection that is being opened, and that no request waits for yet. */
interface UnderWay {
  agent: Agent;
  origin: string;
  isOver: Promise<void>;
}

/** Connections that are opened ahead of the requests that are to use them. */
export class Openings {
  readonly #pools: Pools;
  readonly #underWay = new Set<UnderWay>();

  constructor(pools: Pools) {
    this.#pools = pools;
  }

  /** The port on undici's dispatchers. */
  readonly open: Opening = async ({ origin }, { policy, connect }) => {
    try {
      await this.#pools.use(policy, connect, (agent) => this.#begin(agent, origin));
    } catch {
      // The exchange reports the reason.
    }
  };

  /**
   * What a request has to wait for that is about to begin: otherwise undici, to which a connection that is being opened is busy, would open
   * another one for it. Each is waited for by one request.
   * @returns rejects as the connection fails; null: no connection is being opened, or one is free
   */
  take(agent: Agent, origin: string): Promise<void> | null {
    for (const one of this.#underWay) {
      if (one.agent !== agent || one.origin !== origin) continue;
      const stats = agent.stats[origin];
      if (stats !== undefined && 'free' in stats && stats.free > 0) return null;
      this.#underWay.delete(one);
      return one.isOver;
    }
    return null;
  }

  /** Connections are opened for requests only: so one is made that ends before a byte of it is sent. */
  #begin(agent: Agent, origin: string): Promise<void> {
    const { promise: isOver, resolve, reject } = Promise.withResolvers<void>();
    const underWay: UnderWay = { agent, origin, isOver };
    this.#underWay.add(underWay);
    const end = (error: unknown): void => {
      this.#underWay.delete(underWay);
      if (error === opened) resolve();
      else reject(error);
    };
    try {
      agent.dispatch(
        { origin, path: '/', method: 'GET' },
        {
          onRequestStart() {
            throw opened;
          },
          onResponseStart() {},
          onResponseData() {},
          onResponseEnd() {},
          onResponseError: (_controller, error) => end(error),
        },
      );
    } catch (error) {
      end(error);
    }
    return isOver;
  }
}
