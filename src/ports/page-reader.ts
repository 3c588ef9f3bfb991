import type { PageFacts } from './page-facts.ts';

/** A document to be read. */
export interface PageToRead {
  /** As served, content codings undone; the first 10 MiB are read. */
  bytes: Uint8Array;
  /** Of the document, normalised: what its relative addresses stand against. */
  url: string;
  /** The `Content-Type` of its answer. */
  contentType: string | null;
  kind: 'html' | 'css' | 'manifest';
  /** `X-Robots-Tag` of its answer. */
  robotsTag?: string | readonly string[];
  /** Whether assets are looked for; page links always are. */
  parserOn: boolean;
  /** The run's origin: links to its host take its scheme when both ports are default. */
  origin?: string;
  /** Names of parameters taken off addresses; `*` at the end stands for any. */
  stripParams: readonly string[];
  /** What queries of its links are sent in; that of its bytes when absent. */
  charset?: string;
}

/** Reads documents of crawls off the event loop. */
export interface PageReader {
  /** Makes ready for documents that will come soon: what reads them need not be started when the first of them is there. */
  prepare(): void;
  /**
   * Facts of a document, at most what was found in 2 s of reading (`faults` has `time` then). Resolves for every content.
   * @param caller whose document it is: what waits is read round robin by caller, because each document may take 2 s
   * @throws Error once the reader is closed, and for a defect of the reader
   */
  read(page: PageToRead, caller?: string): Promise<PageFacts>;
  /** Cuts what is being read and gives the processes back. */
  close(): Promise<void>;
}
