/** An address found in a document. */
export interface FoundLink {
  /** Absolute and normalised, http or https. */
  url: string;
  /**
   * What named it first: the element (`a`, `img`, `iframe`), the keyword of a `link` (`stylesheet`, `icon`, `canonical`, `next`),
   * `refresh`, the property of a `meta` (`og:image`), `style` and `import` in CSS, `icon`, `screenshot` and `start_url` in a manifest,
   * `script` where a script in a browser navigated or requested HTML.
   */
  relation: string;
}

/** A page's robots directives, from `<meta name=robots>` and `X-Robots-Tag` together. */
export interface RobotsDirectives {
  noindex: boolean;
  nofollow: boolean;
  noarchive: boolean;
}

/** Why a document was read in part only. */
export type ReadFault =
  /** Larger than 10 MiB: the rest was not looked at. */
  | 'too_large'
  /** Elements nested deeper than 5,000: the rest was not looked at. */
  | 'nesting'
  /** It took longer than 2 s, or more memory than there is for one; what was found until then is there. */
  | 'time'
  /** It is no document of its declared type: an image labelled HTML, a manifest that is not JSON. */
  | 'content';

/** What a crawl learns from a page, a style sheet or a web manifest. Each URL is in `links` once and in `assets` once at most. */
export interface PageFacts {
  /** Name of the encoding it was read in, as the WHATWG Encoding standard writes it; empty when reading was cut before that. */
  charset: string;
  /** Pages it leads to, in order of appearance; `nofollow` does not shorten the list. */
  links: FoundLink[];
  /** What it needs to be shown, in order of appearance. */
  assets: FoundLink[];
  /** Address of `<link rel=canonical>`; among `links`, too. */
  canonical: string | null;
  robots: RobotsDirectives;
  /** How many different page links beyond 10,000 it has, and assets beyond as many; they are not in `links` and `assets`. */
  linksCut: number;
  faults: ReadFault[];
}
