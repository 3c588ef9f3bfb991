import { execFile, spawn } from 'node:child_process';
import { access, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { repositoriesDirectory } from '../repositories.ts';
import { type TreeUse, watchTree } from './process-tree.ts';

const run = promisify(execFile);

/** A crawl by a command: what it used, and when it ended (milliseconds since 1970). */
export interface RivalRun extends TreeUse {
  ended: number;
}

export interface Rival {
  name: string;
  version: string;
  crawl(origin: string): Promise<RivalRun>;
}

async function watched(command: string, args: readonly string[], cwd: string): Promise<RivalRun> {
  const child = spawn(command, args, { cwd, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-2_000);
  });
  const ended = new Promise<{ code: number | null; at: number }>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve({ code, at: Date.now() }));
  });
  const watch = watchTree([child.pid ?? 0]);
  const { code, at } = await ended;
  const use = watch.end();
  if (code !== 0) throw new Error(`${command} ended with ${code}: ${said}`);
  return { ...use, ended: at };
}

async function inScratch(command: string, args: (directory: string) => string[]): Promise<RivalRun> {
  const directory = await mkdtemp(path.join(tmpdir(), 'portico-bench-crawl-'));
  try {
    return await watched(command, args(directory), directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Follows every link of the site and stores nothing: less than a snapshot needs. */
const spider = `
import scrapy
from scrapy.linkextractors import LinkExtractor
class Site(scrapy.Spider):
    name = "site"
    extractor = LinkExtractor()
    custom_settings = {"CONCURRENT_REQUESTS": 20, "CONCURRENT_REQUESTS_PER_DOMAIN": 20, "DOWNLOAD_DELAY": 0,
        "ROBOTSTXT_OBEY": True, "LOG_LEVEL": "ERROR", "TELNETCONSOLE_ENABLED": False, "COOKIES_ENABLED": False}
    def start_requests(self):
        yield scrapy.Request(self.origin + "/")
    def parse(self, response):
        for link in self.extractor.extract_links(response):
            yield scrapy.Request(link.url)
`;

async function scrapy(root: string): Promise<Rival> {
  const file = path.join(root, 'spider.py');
  await writeFile(file, spider);
  const { stdout } = await run('scrapy', ['version']).catch(() => {
    throw new Error('scrapy is missing: install it (Debian: apt-get install python3-scrapy)');
  });
  return {
    name: 'Scrapy',
    version: stdout.trim().replace(/^Scrapy /, ''),
    crawl: (origin) => inScratch('scrapy', () => ['runspider', file, '-a', `origin=${origin}`]),
  };
}

const crawleeVersion = '3.18.1';

/** Everything in memory, as many requests at once as the others. */
const crawleeScript = `
import { CheerioCrawler, Configuration, log, LogLevel } from '@crawlee/cheerio';
log.setLevel(LogLevel.ERROR);
const crawler = new CheerioCrawler({
  minConcurrency: 20, maxConcurrency: 20, respectRobotsTxtFile: true,
  async requestHandler({ enqueueLinks }) { await enqueueLinks({ strategy: 'same-hostname' }); },
}, new Configuration({ persistStorage: false, purgeOnStart: false }));
await crawler.run([process.argv[2] + '/']);
`;

/** Installed once beside the generated repositories, pinned; never part of the project. */
async function crawlee(): Promise<Rival> {
  const directory = path.join(repositoriesDirectory, `crawlee-${crawleeVersion}`);
  const file = path.join(directory, 'crawl.mjs');
  const installed = path.join(directory, 'node_modules/@crawlee/cheerio/package.json');
  if (
    !(await access(installed).then(
      () => true,
      () => false,
    ))
  ) {
    await mkdir(directory, { recursive: true });
    await writeFile(path.join(directory, 'package.json'), '{"private":true}');
    const args = ['install', '--no-audit', '--no-fund', '--ignore-scripts', `@crawlee/cheerio@${crawleeVersion}`];
    await run('npm', args, { cwd: directory, timeout: 300_000 });
  }
  await writeFile(file, crawleeScript);
  return {
    name: 'Crawlee',
    version: crawleeVersion,
    crawl: (origin) => inScratch(process.execPath, () => [file, origin]),
  };
}

async function wget(): Promise<Rival> {
  const { stdout } = await run('wget', ['--version']).catch(() => {
    throw new Error('wget is missing: install it (Debian: apt-get install wget)');
  });
  return {
    name: 'wget -r',
    version: /\d+(\.\d+)+/.exec(stdout)?.[0] ?? '',
    crawl: (origin) => inScratch('wget', (directory) => ['-r', '-l', 'inf', '-q', '-P', directory, `${origin}/`]),
  };
}

/** The other crawlers, ready to run. @throws Error naming the package of one that is missing */
export const rivals = async (root: string): Promise<Rival[]> => [await scrapy(root), await crawlee(), await wget()];
