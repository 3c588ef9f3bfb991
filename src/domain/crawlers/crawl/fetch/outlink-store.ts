import { LRUCache } from 'lru-cache';
import type { BlobStore, Sha256 } from '../../../ports/blobs.ts';
import type { Log } from '../../../ports/log.ts';
import type { Outcome, Outlinks } from '../../frontier/outcome.ts';

type Kept = Record<string, Outlinks>;

const withBeside = (outcome: Outcome) => [outcome, ...(outcome.beside?.outcomes ?? [])];

const leadsOn = ({ outlinks, entry, again }: Outcome) =>
  outlinks !== null && (entry ?? again) !== null && outlinks.links.length + outlinks.assets.length > 0;

/** Whether an outcome, or one beside it, is of a page whose links are to be kept. */
export const hasOutlinks = (outcome: Outcome): boolean => withBeside(outcome).some(leadsOn);

/** What captured pages link to, as blobs: those completed together share one. */
export class OutlinkStore {
  readonly #blobs: BlobStore;
  readonly #read = new LRUCache<Sha256, Promise<Kept>>({ max: 16 });

  constructor(blobs: BlobStore) {
    this.#blobs = blobs;
  }

  /** Keeps what completed pages link to, and names the blob in their entries. */
  async keep(outcomes: readonly Outcome[], log: Pick<Log, 'debug'>): Promise<void> {
    const pages = outcomes
      .flatMap(withBeside)
      .filter(leadsOn)
      .flatMap(({ of, outlinks, entry, again }) => {
        const names = entry ?? again;
        return outlinks && names ? [{ url: of.url, outlinks, names }] : [];
      });
    if (pages.length === 0) return;
    try {
      const sha256 = await this.#put(pages);
      for (const { names } of pages) names.outlinks_sha256 = sha256;
    } catch (err) {
      // Without it these pages are only fetched whole the next time.
      log.debug({ err }, 'links of pages were not kept');
    }
  }

  /** @returns the blob that holds them all */
  async #put(pages: readonly { url: string; outlinks: Outlinks }[]): Promise<Sha256> {
    const kept: Kept = Object.fromEntries(pages.map(({ url, outlinks }) => [url, outlinks]));
    const { sha256 } = await this.#blobs.put(Buffer.from(JSON.stringify(kept)));
    return sha256;
  }

  /** Null when they are gone. */
  async get(sha256: Sha256, url: string): Promise<Outlinks | null> {
    const known = this.#read.get(sha256);
    if (known) return (await known)[url] ?? null;
    const reading = this.#load(sha256);
    this.#read.set(sha256, reading);
    return (await reading)[url] ?? null;
  }

  async #load(sha256: Sha256): Promise<Kept> {
    try {
      const chunks: Uint8Array[] = [];
      for await (const chunk of this.#blobs.read(sha256)) chunks.push(chunk);
      return JSON.parse(Buffer.concat(chunks).toString('utf8'));
    } catch {
      return {};
    }
  }
}
