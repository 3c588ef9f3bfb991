import { get } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { type Benchmark, type Case, check } from './benchmark.ts';
import { type LoadResult, load } from './support/load.ts';
import { startNginx } from './support/nginx.ts';
import { publishSite } from './support/published-site.ts';
import { freePort, startServer } from './support/server.ts';
import { median, seeded } from './support/statistics.ts';

const connections = 16;

/** Paths of the files, and the request targets that name them. */
const page = {
  file: 'blog/hello/index.html',
  target: '/blog/hello/',
  size: 10_240,
  start: '<!doctype html><title>Hello</title><p>',
};
const script = { file: 'assets/app.js', target: '/assets/app.js', size: 102_400, start: '// ' };

/** Text that does not repeat itself. */
function textOf({ start, size }: typeof page): Buffer {
  const random = seeded(7);
  const words = Array.from({ length: size / 4 }, () => Math.floor(random() * 1e9).toString(36));
  return Buffer.from(`${start}${words.join(' ')}`).subarray(0, size);
}

function read(url: string, headers: Record<string, string>): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    get(url, { headers }, (response) => buffer(response).then(resolve, reject)).once('error', reject);
  });
}

/** Files of a published site against the same files by nginx; the two take turns, so that what else the machine does hits both. */
export const preview: Benchmark = {
  name: 'preview',
  summary: 'Requests per second of published files on the preview origin, beside nginx.',
  async run({ defer, directory, say, scaled }) {
    const pairs = scaled(5);
    const seconds = scaled(4);
    const files = { [page.file]: textOf(page), [script.file]: textOf(script) };
    const { dataDir, environment, label } = await publishSite(await directory(), files);
    const port = await freePort();
    const server = await startServer({ dataDir, environment: { ...environment, PORTICO_PREVIEW_PORT: String(port) } });
    defer(server.stop);
    const nginx = await startNginx(await directory(), files);
    defer(nginx.stop);
    const headers = { host: `${label}.localhost` };
    const portico = `http://127.0.0.1:${port}`;

    const compare = async (name: string, { file, target }: typeof page, floor: Partial<Case>): Promise<Case[]> => {
      for (const url of [portico, nginx.url])
        check(files[file]?.equals(await read(url + target, headers)) === true, `${url}${target} is not the file`);
      const measure = (url: string, duration: number) => load({ url: url + target, connections, duration, headers });
      for (const url of [portico, nginx.url]) await measure(url, 2);
      const [ours, theirs]: [LoadResult[], LoadResult[]] = [[], []];
      for (let pair = 0; pair < pairs; pair += 1) {
        ours.push(await measure(portico, seconds));
        theirs.push(await measure(nginx.url, seconds));
        say(`${name}: pair ${pair + 1} of ${pairs}`);
      }
      const shares = ours.map(({ perSecond }, at) => (100 * perSecond) / (theirs[at]?.perSecond ?? 1));
      const row = (what: string, unit: string, of: (result: LoadResult) => number): Case => ({
        ...{ name: `${name}, ${what}`, unit, value: median(ours.map(of)), runs: pairs },
        peers: [{ name: 'nginx', value: median(theirs.map(of)) }],
      });
      return [
        { name: `${name}, share of nginx`, unit: '%', value: median(shares), runs: pairs, atLeast: 25 },
        { ...row('requests', 'requests/s', ({ perSecond }) => perSecond), ...floor },
        row('p50', 'ms', ({ p50 }) => p50),
        row('p99', 'ms', ({ p99 }) => p99),
      ];
    };

    const pages = await compare('page of 10 KB', page, { atLeast: 3_000 });
    const scripts = await compare('script of 100 KB', script, {});
    const alone = await load({ url: portico + page.target, connections: 1, duration: seconds, headers });
    return {
      cases: [
        ...pages,
        ...scripts,
        { name: 'page of 10 KB, one reader, p99', unit: 'ms', value: alone.p99, atMost: 3 },
      ],
      notes: [
        `${pairs} pairs of ${seconds} s each, taking turns, ${connections} connections kept open, from a third process on the same cores.`,
        'nginx of Debian with a worker for each core, sendfile, an open file cache and no log; Portico is one process.',
      ],
    };
  },
};
