/** Why a sitemap was not read to its end. */
export type SitemapFault =
  /** Not well-formed, or nested like no sitemap. */
  | 'syntax'
  /** Broken or too deeply nested gzip. */
  | 'gzip'
  /** Larger than 50 MiB. */
  | 'too_large'
  /** Lists more than 50,000 addresses. */
  | 'too_many_urls'
  /** Neither XML of a known kind nor a list of addresses. */
  | 'content';

/** What a sitemap says, one after another. */
export type SitemapItem =
  | {
      /** `sitemap`: a further file, of an index. */
      kind: 'page' | 'sitemap';
      /** Absolute and normalised. */
      url: string;
      /** Absent when it is missing, or no date. */
      lastmod?: Date;
    }
  | {
      kind: 'fault';
      fault: SitemapFault;
      /** Of the file, unpacked; from 1. */
      line: number;
      message: string;
    };

/** Bounds of one file (sitemaps.org): bytes unpacked, addresses. */
export const sitemapBounds = { bytes: 50 * 1024 * 1024, urls: 50_000 };

/** An address as it is written, before it is made absolute. */
export interface WrittenAddress {
  kind: 'page' | 'sitemap';
  written: string;
  lastmod: string | null;
}

/** Reads the text of one format. */
export interface SitemapParser {
  /** Takes the next piece. @returns the addresses it completes @throws SitemapError */
  write(text: string): WrittenAddress[];
  /** Takes the end. @returns the remaining addresses @throws SitemapError */
  end(): WrittenAddress[];
  /** Being read, from 1. */
  readonly line: number;
}

/** What ends the reading of a sitemap; `found` are addresses before it that were not given yet. */
export class SitemapError extends Error {
  readonly fault: SitemapFault;
  readonly found: WrittenAddress[];
  constructor(fault: SitemapFault, message: string, found: WrittenAddress[] = []) {
    super(message);
    this.fault = fault;
    this.found = found;
  }
}
