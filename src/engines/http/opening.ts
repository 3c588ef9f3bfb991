import type { Opening } from '../../domain/ports/exchange.ts';
import type { Pools } from './pools.ts';

/** Takes a request back in the moment it would be written; its connection stays. */
const opened = new Error('the connection is there');

/** The port on undici's dispatchers, which open connections for requests only: so one is made that ends before a byte of it is sent. */
export function createOpening(pools: Pools): Opening {
  return ({ origin }, { policy, connect }) =>
    new Promise((resolve) => {
      const done = () => resolve();
      try {
        pools.use(policy, connect, (agent) =>
          agent.dispatch(
            { origin, path: '/', method: 'GET' },
            {
              onRequestStart() {
                throw opened;
              },
              onResponseStart: done,
              onResponseData() {},
              onResponseEnd: done,
              onResponseError: done,
            },
          ),
        );
      } catch {
        done();
      }
    });
}
