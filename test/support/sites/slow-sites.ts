import { afterEach } from 'vitest';
import { type Site, type SiteServer, serveSite, slowly } from './site-server.ts';

/**
 * Sites whose answers take their time, so that a crawl can be cut off in its middle. They are closed after each test of the file.
 * @returns how to serve one, with the milliseconds an answer takes
 */
export function slowSites(): (site: Site, milliseconds: number) => Promise<SiteServer> {
  const sites: SiteServer[] = [];
  afterEach(async () => {
    for (const site of sites.splice(0)) await site.close();
  });
  return async (site, milliseconds) => {
    const server = await serveSite(slowly(site, milliseconds));
    sites.push(server);
    return server;
  };
}
