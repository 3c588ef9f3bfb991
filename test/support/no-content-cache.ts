import type { ContentCache } from '../../src/ports/content-cache.ts';
import type { Log } from '../../src/ports/log.ts';

/** Keeps nothing: everything is read from the repository each time. */
export const noContentCache: ContentCache = {
  facts: async () => null,
  stored: async () => null,
  search: async () => null,
  store: async () => null,
  settle: async () => {},
  schemas: async () => null,
  storeSchemas: async () => false,
  retire: async () => false,
  removeExpired: async () => null,
  forgetCommits: async () => null,
  lastCommits: async () => null,
  moveMarker: async () => false,
  addCommits: async () => false,
};

export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {}, child: () => silentLog };
