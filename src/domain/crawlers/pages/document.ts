import type { NormaliseOptions } from '../urls/normalise.ts';
import type { PageFacts } from './page-facts.ts';

/** Bytes of a document that are read. */
export const maxBytes = 10 * 1024 * 1024;

/** A document as a reading function takes it. */
export interface DocumentToRead {
  bytes: Uint8Array;
  url: string;
  contentType: string | null;
  robotsTag?: string | readonly string[] | undefined;
  parserOn: boolean;
  options: NormaliseOptions;
}

/**
 * Asked between two pieces of work. @param found what is known so far, made when it is called
 * @returns false to end the reading there
 */
export type GoOn = (found: () => PageFacts) => boolean;
