import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { BlobStore, Sha256 } from '../../../../ports/blobs.ts';
import type { Log } from '../../../../ports/log.ts';
import type { Outcome, Outlinks } from '../../frontier/outcome.ts';
import { keyBytes, type LinkKeys, noKeys } from '../../frontier/url-draft.ts';

/** What an unchanged page links to. Mostly its keys are all that is needed: to read the addresses costs more than all else of such a page. */
export interface KeptOutlinks {
  canonical: string | null;
  /** Links among the keys; assets come after them. */
  links: number;
  /** Of all links and assets; none where those are not as many. */
  keys: LinkKeys;
  /** Reads the addresses. */
  outlinks(): Outlinks;
}

/** What a page has that is kept with others. */
interface PageOutlinks {
  url: string;
  outlinks: Outlinks;
  /** Of all it links to, links before assets. */
  link_keys: LinkKeys;
}

type Head = [url: string, canonical: string | null, links: number, keys: string];

/** Writes what pages link to: for each a line that is always read, and one with its addresses. */
export function writeOutlinks(pages: readonly PageOutlinks[]): string {
  const lines = pages.flatMap(({ url, outlinks, link_keys }) => {
    const { links, assets, canonical } = outlinks;
    const isEach = link_keys.length === (links.length + assets.length) * keyBytes;
    const keys = isEach ? Buffer.from(link_keys).toString('base64') : '';
    const head: Head = [url, canonical, links.length, keys];
    return [JSON.stringify(head), JSON.stringify(outlinks)];
  });
  return lines.join('\n');
}

/**
 * Reads what `writeOutlinks` wrote, by URL.
 * @throws Error when it is something else
 */
export function readOutlinks(text: string): Map<string, KeptOutlinks> {
  const lines = text.split('\n');
  const pages = new Map<string, KeptOutlinks>();
  for (let at = 0; at + 1 < lines.length; at += 2) {
    const [url, canonical, links, keys]: Head = JSON.parse(lines[at] as string);
    const whole = lines[at + 1] as string;
    pages.set(url, {
      canonical,
      links,
      keys: keys === '' ? noKeys : Buffer.from(keys, 'base64'),
      outlinks: () => JSON.parse(whole),
    });
  }
  return pages;
}

const withBeside = (outcome: Outcome) => [outcome, ...(outcome.beside?.outcomes ?? [])];

const leadsOn = ({ outlinks, entry, again }: Outcome) =>
  outlinks !== null && (entry ?? again) !== null && outlinks.links.length + outlinks.assets.length > 0;

/** Whether an outcome, or one beside it, is of a page whose links are to be kept. */
export const hasOutlinks = (outcome: Outcome): boolean => withBeside(outcome).some(leadsOn);

/** What is remembered of such blobs; characters. */
const mostRead = 8 * 2 ** 20;

interface Read {
  pages: Map<string, KeptOutlinks>;
  /** Characters. */
  size: number;
}

const unreadable = (): Read => ({ pages: new Map(), size: 0 });

/** What captured pages link to, as blobs: those completed together share one. */
export class OutlinkStore {
  readonly #blobs: BlobStore;
  readonly #read: LRUCache<Sha256, Read>;

  constructor(blobs: BlobStore) {
    this.#blobs = blobs;
    const sizeCalculation = ({ size }: Read) => size + 1;
    const fetchMethod = (sha256: Sha256) => this.#load(sha256);
    // An entry that is evicted while it loads still resolves for its callers.
    this.#read = new LRUCache({ maxSize: mostRead, sizeCalculation, fetchMethod, ignoreFetchAbort: true });
  }

  /** Keeps what completed pages link to, and names the blob in their entries. */
  async keep(outcomes: readonly Outcome[], log: Pick<Log, 'debug'>): Promise<void> {
    const pages = outcomes
      .flatMap(withBeside)
      .filter(leadsOn)
      .flatMap(({ of, outlinks, link_keys, entry, again }) =>
        outlinks ? [{ url: of.url, outlinks, link_keys, entry, again }] : [],
      );
    if (pages.length === 0) return;
    try {
      const { sha256 } = await this.#blobs.put(Buffer.from(writeOutlinks(pages)));
      for (const { entry, again } of pages) (entry ?? again ?? {}).outlinks_sha256 = sha256;
    } catch (err) {
      log.debug({ err }, 'links of pages were not kept');
      // A 304 would tell nothing of where these pages lead: they are fetched whole the next time.
      for (const { entry } of pages) if (entry) Object.assign(entry, { etag: null, last_modified: null });
    }
  }

  /** Reads blobs. @returns what pages link to by them, null where that is gone or damaged */
  async read(sha256s: ReadonlySet<Sha256>): Promise<(sha256: Sha256, url: string) => KeptOutlinks | null> {
    const read = async (sha256: Sha256) =>
      [sha256, this.#read.get(sha256) ?? (await this.#read.fetch(sha256))] as const;
    const blobs = new Map(await Promise.all([...sha256s].map(read)));
    return (sha256, url) => blobs.get(sha256)?.pages.get(url) ?? null;
  }

  async #load(sha256: Sha256): Promise<Read> {
    try {
      const chunks: Uint8Array[] = [];
      for await (const chunk of this.#blobs.read(sha256)) chunks.push(chunk);
      const content = Buffer.concat(chunks);
      // Addresses are taken apart when they are needed, and keys never: what was damaged on the disk has to be known before that.
      if (hash('sha256', content, 'hex') !== sha256) return unreadable();
      const text = content.toString('utf8');
      return { pages: readOutlinks(text), size: text.length };
    } catch {
      return unreadable();
    }
  }
}
