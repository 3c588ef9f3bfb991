import { setTimeout as delay } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { Agent } from 'undici';
import type { HttpPolicy } from '../../domain/ports/http.ts';
import { guardedConnector } from './connector.ts';
import { maxHeaderBytes } from './failures.ts';
import type { Guard } from './guard.ts';

export interface Pools {
  /** The dispatcher for a request: shared within the policy's pool, or one of its own that ends with the request. */
  use<T>(policy: HttpPolicy, connectTimeout: number, send: (agent: Agent) => T): T;
  close(): Promise<void>;
}

/** A pool without requests for this long gives its connections back. */
const idleMilliseconds = 60_000;
/** A pool in use is made young this often at most: each time costs a timer. */
const renewMilliseconds = 5_000;
/** An end waits so long for answers under way; what others' servers still owe then ends with the process. */
const patience = 1_000;

interface Pool {
  agent: Agent;
  /** When it was last made young; milliseconds since 1970. */
  since: number;
}

/** Names of policies, which nobody changes: a crawl has one for all of its requests. */
const keys = new WeakMap<HttpPolicy, string>();

/** What may share connections under a policy. */
function keyOf(policy: HttpPolicy): string {
  const known = keys.get(policy);
  if (known !== undefined) return known;
  const { pool, ports = null, trustedNames = [], allowedCidrs = [] } = policy;
  const key = JSON.stringify([pool, ports, trustedNames, allowedCidrs]);
  keys.set(policy, key);
  return key;
}

/**
 * Connections by pool **and** policy: one that was opened under a laxer policy must not serve a stricter one, because the check
 * runs when a connection is made and not when it is used again.
 */
export function createPools(guard: Guard, ca: string[]): Pools {
  const closing = new Set<Promise<void>>();
  const retire = (agent: Agent): void => {
    const done: Promise<void> = agent.close().finally(() => closing.delete(done));
    closing.add(done);
  };
  const agents = new LRUCache<string, Pool>({
    max: 256,
    ttl: idleMilliseconds,
    ttlAutopurge: true,
    dispose: ({ agent }) => retire(agent),
    noDisposeOnSet: true,
  });
  const open = (policy: HttpPolicy, timeout: number, pooled: boolean): Agent =>
    new Agent({
      connect: guardedConnector({ guard, policy, ca, timeout }),
      pipelining: pooled ? 1 : 0,
      allowH2: false,
      maxHeaderSize: maxHeaderBytes,
    });

  return {
    use(policy, connectTimeout, send) {
      if (policy.pool === undefined) {
        const agent = open(policy, connectTimeout, false);
        // The call is on its way once `send` returns; close() lets it finish.
        const sent = send(agent);
        retire(agent);
        return sent;
      }
      const key = `${connectTimeout} ${keyOf(policy)}`;
      const found = agents.get(key) ?? { agent: open(policy, connectTimeout, true), since: 0 };
      const now = Date.now();
      if (now - found.since > renewMilliseconds || now < found.since) {
        found.since = now;
        agents.set(key, found);
      }
      return send(found.agent);
    },
    async close() {
      agents.clear();
      await Promise.race([Promise.all(closing), delay(patience, undefined, { ref: false })]);
    },
  };
}
