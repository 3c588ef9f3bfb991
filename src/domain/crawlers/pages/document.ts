import type { PageFacts, RobotsDirectives } from '../../../ports/page-facts.ts';
import type { NormaliseOptions } from '../urls/normalise.ts';

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
 * Called between two pieces of work. @param found what is known so far, made when it is called
 * @returns false to end the reading there
 */
export type GoOn = (found: () => PageFacts) => boolean;

/** The product token of robots.txt, which may stand before directives, too. */
const token = 'portico';

export const noDirectives = (): RobotsDirectives => ({ noindex: false, nofollow: false, noarchive: false });

function apply(into: RobotsDirectives, directive: string): void {
  if (directive === 'noindex' || directive === 'none') into.noindex = true;
  if (directive === 'nofollow' || directive === 'none') into.nofollow = true;
  if (directive === 'noarchive') into.noarchive = true;
}

/** Adds what a `<meta name=robots content>` says. */
export function applyMeta(into: RobotsDirectives, name: string, content: string): void {
  if (name !== 'robots' && name !== token) return;
  for (const directive of content.toLowerCase().split(',')) apply(into, directive.trim());
}

const named = /^([a-z0-9_-]+)[\t ]*:(.*)/s;
const withValue = new Set(['unavailable_after', 'max-snippet', 'max-image-preview', 'max-video-preview']);

/** Adds what `X-Robots-Tag` says; directives after the name of another robot, up to the end of the value, are not meant. */
export function applyHeader(into: RobotsDirectives, header: string | readonly string[] | undefined): void {
  for (const value of typeof header === 'string' ? [header] : (header ?? [])) {
    let isMeant = true;
    for (const part of value.toLowerCase().split(',')) {
      const [, name, directive = ''] = named.exec(part.trim()) ?? [];
      if (name === undefined || withValue.has(name)) {
        if (isMeant) apply(into, part.trim());
        continue;
      }
      isMeant = name === token || name === '*';
      if (isMeant) apply(into, directive.trim());
    }
  }
}
