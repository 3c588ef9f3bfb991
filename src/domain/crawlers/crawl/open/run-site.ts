import { LRUCache } from 'lru-cache';
import type { CrawlLimits } from '../../config/crawl-limits.ts';
import type { CrawlerSettings } from '../../config/crawler.schema.ts';
import { isDowngrade, siblingOf } from '../../config/host.ts';
import { createDecider, type Decider, scopeTest } from '../../urls/decide.ts';
import { allowAll, type RobotsRules } from '../../urls/robots.ts';
import type { Robots } from './host-robots.ts';

/** How a run gets at a host's robots.txt. */
export type RobotsSource = (host: string) => Promise<Robots>;

interface RunSiteOptions {
  origin: URL;
  /** Beside the origin's own. */
  hosts: readonly string[];
  settings: Pick<CrawlerSettings, 'include' | 'exclude' | 'allowed_domains'>;
  /** Null: robots are ignored. */
  robots: RobotsSource | null;
  crawl: Pick<CrawlLimits, 'strip_params'>;
}

const allowedNothing: RobotsRules = { ...allowAll, isAllowed: () => false };

/** What the rules of a run's hosts may hold in memory; bytes. A run may meet any number of hosts; those of one hold about as much as its file. */
const rulesHold = 32 * 1024 * 1024;

/**
 * What a worker reads of rules for pages in a browser, in the minutes it has a run; bytes. A page decides how often, and what is refused counts
 * towards no limit of the run.
 */
const mostForPages = 128 * 1024 * 1024;

/** What a run may fetch: its scope, its filters, and the robots.txt of its hosts, as far as they are known. */
export class RunSite {
  readonly origin: URL;
  readonly stripParams: readonly string[];
  readonly #options: RunSiteOptions;
  readonly #hosts: Set<string>;
  /** Of the hosts that were looked at last; those of others are read again where they are needed. */
  readonly #rules = new LRUCache<string, RobotsRules>({ maxSize: rulesHold, sizeCalculation: ({ size }) => size });
  /** Seconds, of hosts that give one: a host is to be spared even when its rules are not in memory. */
  readonly #delays = new Map<string, number>();
  readonly #pending = new Map<string, Promise<RobotsRules>>();
  #readForPages = 0;
  #decide: Decider;
  #isInScope: (url: URL) => boolean;

  private constructor(options: RunSiteOptions, decide: Decider) {
    this.#options = options;
    this.origin = options.origin;
    this.stripParams = options.crawl.strip_params;
    this.#hosts = new Set([options.origin.host, ...options.hosts]);
    this.#decide = decide;
    this.#isInScope = scopeTest(RunSite.#scope(options, options.hosts));
  }

  static async open(options: RunSiteOptions): Promise<RunSite> {
    return new RunSite(options, await RunSite.#decider(options, options.hosts));
  }

  static #scope({ origin, settings }: RunSiteOptions, hosts: readonly string[]) {
    return { origin, hosts, allowed: settings.allowed_domains };
  }

  static #decider(options: RunSiteOptions, hosts: readonly string[]): Promise<Decider> {
    const { include, exclude } = options.settings;
    return createDecider({ scope: RunSite.#scope(options, hosts), include, exclude });
  }

  /** Whether a host is the primary one or its sibling. */
  isOwn(host: string): boolean {
    return this.#hosts.has(host);
  }

  /** Whether a request gets every header of the crawler: on its own hosts, and over https where the run began so. */
  isTrusted(url: string): boolean {
    const parsed = new URL(url);
    return this.isOwn(parsed.host) && !isDowngrade(this.origin, parsed);
  }

  /** Takes the sibling of the primary host into scope. @returns false unless it is that, and is new */
  async adopt(host: string): Promise<boolean> {
    if (this.#hosts.has(host) || siblingOf(this.origin.host) !== host) return false;
    this.#hosts.add(host);
    this.#decide = await RunSite.#decider(this.#options, [...this.#hosts]);
    this.#isInScope = scopeTest(RunSite.#scope(this.#options, [...this.#hosts]));
    return true;
  }

  /** The rule that leaves a URL out; null: it is taken, as far as is known by now. */
  async skips(url: string, host: string, kind: 'page' | 'asset' | 'sitemap', isEntry: boolean): Promise<string | null> {
    const decision = await this.#decide(url, { kind, isEntry, robots: this.#rules.get(host) ?? null });
    return decision.verdict === 'take' ? null : decision.rule;
  }

  /** Whether a URL is in scope, whatever else is said of it. */
  isInScope(url: string): boolean {
    const parsed = URL.parse(url);
    return parsed !== null && this.#isInScope(parsed);
  }

  /** Whether a URL is refused even as a resource of a page, on any host; robots.txt aside. */
  async refuses(url: string): Promise<boolean> {
    const { verdict } = await this.#decide(url, { kind: 'asset', isEntry: false, isAnywhere: true });
    return verdict === 'skip';
  }

  /**
   * The rules of a host's robots.txt: from memory, or else from its source.
   * @param isForPage whether a page in a browser requests something there: once much was read for pages, only what is in memory can allow it
   */
  robots(host: string, isForPage = false): Promise<RobotsRules> | RobotsRules | null {
    const { robots } = this.#options;
    if (robots === null) return null;
    const known = this.#rules.get(host) ?? this.#pending.get(host);
    if (known) return known;
    if (isForPage && this.#readForPages >= mostForPages) return allowedNothing;
    const pending = this.#read(robots, host, isForPage).finally(() => this.#pending.delete(host));
    this.#pending.set(host, pending);
    return pending;
  }

  async #read(source: RobotsSource, host: string, isForPage: boolean): Promise<RobotsRules> {
    const answer = await source(host);
    const rules = answer.state === 'known' ? answer.rules : allowedNothing;
    if (isForPage) this.#readForPages += rules.size;
    if (rules.crawlDelay !== null) this.#delays.set(host, rules.crawlDelay);
    this.#rules.set(host, rules);
    return rules;
  }

  /** `Crawl-delay` of a host's robots.txt, seconds; 0: none, or not known yet. */
  crawlDelay(host: string): number {
    return this.#delays.get(host) ?? 0;
  }
}
