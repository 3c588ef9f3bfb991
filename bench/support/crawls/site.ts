import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import type { SiteOrder, SiteTally } from './site-process.ts';

export interface BenchSite {
  origin: string;
  /** Serves an edition of a site of so many pages; 0 pages: goes on with what is served, and counts from nought. */
  become(pages: number, edition: number): Promise<void>;
  tally(): Promise<SiteTally>;
  stop(): void;
}

/** Starts the process that serves generated sites on loopback. */
export async function startSite(): Promise<BenchSite> {
  const child = fork(path.join(import.meta.dirname, 'site-process.js'));
  const [{ port }] = (await once(child, 'message')) as [{ port: number }];
  const order = async (sent: SiteOrder): Promise<SiteTally> => {
    child.send(sent);
    return ((await once(child, 'message')) as [SiteTally])[0];
  };
  return {
    origin: `http://localhost:${port}`,
    async become(pages, edition) {
      await order({ kind: 'become', pages, edition });
    },
    tally: () => order({ kind: 'tally' }),
    stop: () => void child.kill(),
  };
}
