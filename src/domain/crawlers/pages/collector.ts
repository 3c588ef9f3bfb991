import type { FoundLink } from '../../../ports/page-facts.ts';
import { type NormaliseOptions, normalise } from '../urls/normalise.ts';

/** Different page links of one page that are followed, and different assets; more are a trap (`links_per_page`). */
export const maxLinks = 10_000;
/** Different spellings of them that are looked at; the others are only counted. */
const maxSpellings = 5 * maxLinks;
/** Characters of an address, as it is written and made absolute: twice as many as a crawl takes. A longer one is none. */
const maxAddress = 4_096;

/** What the relative addresses of a document stand against: its own address, or its first `<base href>`. */
export class DocumentBase {
  readonly #parent: DocumentBase | string;
  #href: string | null = null;
  /** Addresses already seen under this base, by where they lead. */
  readonly seen = { pages: new Set<string>(), assets: new Set<string>() };

  /** @param parent the document's address; the base of the page around it, for a `srcdoc` */
  constructor(parent: DocumentBase | string) {
    this.#parent = parent;
  }

  /** Takes a `<base href>`; the first one wins. @returns whether it was the first */
  set(href: string): boolean {
    if (this.#href !== null || href.length > maxAddress) return false;
    this.#href = href;
    return true;
  }

  get hasHref(): boolean {
    return this.#href !== null || (typeof this.#parent !== 'string' && this.#parent.hasHref);
  }

  get url(): string {
    const parent = typeof this.#parent === 'string' ? this.#parent : this.#parent.url;
    const url = this.#href === null ? null : URL.parse(this.#href, parent);
    return url && /^https?:$/.test(url.protocol) ? url.href : parent;
  }
}

interface Found {
  raw: string;
  relation: string;
  base: DocumentBase;
}

/** Different addresses in the order they were found. */
class Addresses {
  readonly #found: Found[] = [];
  list: FoundLink[] = [];
  #unlisted = 0;
  #dropped = 0;
  #known = new Set<string>();
  #done = 0;

  /** @param seen the spellings under its base */
  add(found: Found, seen: Set<string>): void {
    if (found.raw.length > maxAddress || seen.has(found.raw)) return;
    if (this.#found.length === maxSpellings) {
      this.#dropped += 1;
      return;
    }
    seen.add(found.raw);
    this.#found.push(found);
  }

  /** Those beyond what is listed; a spelling that comes again counts again when there are too many of them. */
  get cut(): number {
    return this.#unlisted + this.#dropped;
  }

  /** Makes absolute what has been found since it was called last. */
  resolve(urlOf: (found: Found) => string | null): FoundLink[] {
    for (; this.#done < this.#found.length; this.#done += 1) {
      const found = this.#found[this.#done];
      const url = found ? urlOf(found) : null;
      if (!found || url === null || url.length > maxAddress || this.#known.has(url)) continue;
      this.#known.add(url);
      if (this.list.length < maxLinks) this.list.push({ url, relation: found.relation });
      else this.#unlisted += 1;
    }
    return this.list;
  }

  /** Everything has to be made absolute again. */
  forget(): void {
    [this.list, this.#unlisted, this.#done] = [[], 0, 0];
    this.#known = new Set();
  }
}

/**
 * Gathers the addresses of a document as they are written. They are made absolute late, since a `<base>` counts for what stands
 * before it, too; each spelling costs that once.
 */
export class Collector {
  readonly #options: NormaliseOptions;
  readonly #parserOn: boolean;
  readonly #pages = new Addresses();
  readonly #assets = new Addresses();
  #canonical: Found | null = null;

  /** @param parserOn false: assets are not gathered */
  constructor(options: NormaliseOptions, parserOn: boolean) {
    this.#options = options;
    this.#parserOn = parserOn;
  }

  page(written: string, relation: string, base: DocumentBase): void {
    const raw = withoutFragment(written);
    // Nothing but a fragment is the page itself, unless a base says otherwise.
    if (raw !== '' || base.hasHref) this.#pages.add({ raw, relation, base }, base.seen.pages);
  }

  asset(written: string | undefined, relation: string, base: DocumentBase): void {
    if (!this.#parserOn || written === undefined) return;
    const raw = withoutFragment(written);
    if (raw.trim() !== '') this.#assets.add({ raw, relation, base }, base.seen.assets);
  }

  get wantsAssets(): boolean {
    return this.#parserOn;
  }

  /** The first one counts. */
  canonical(written: string, base: DocumentBase): void {
    if (written.length <= maxAddress)
      this.#canonical ??= { raw: withoutFragment(written), relation: 'canonical', base };
    this.page(written, 'canonical', base);
  }

  /** A `<base>` has come after addresses were made absolute. */
  rebase(): void {
    this.#pages.forget();
    this.#assets.forget();
  }

  /** All that was found so far; may be read repeatedly. */
  resolve(): { links: FoundLink[]; assets: FoundLink[]; canonical: string | null; linksCut: number } {
    const bases = new Map<DocumentBase, string>();
    const urlOf = ({ raw, base }: Found) => {
      const url = bases.get(base) ?? base.url;
      bases.set(base, url);
      return normalise(raw, url, this.#options);
    };
    const links = this.#pages.resolve(urlOf);
    const assets = this.#assets.resolve(urlOf);
    const canonical = this.#canonical && urlOf(this.#canonical);
    return { links, assets, canonical, linksCut: this.#pages.cut + this.#assets.cut };
  }
}

function withoutFragment(written: string): string {
  const at = written.indexOf('#');
  return at === -1 ? written : written.slice(0, at);
}
