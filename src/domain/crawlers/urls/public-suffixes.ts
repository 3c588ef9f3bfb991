import { createRequire } from 'node:module';
import type * as Suffixes from 'tldts';

const require = createRequire(import.meta.url);
let loaded: typeof Suffixes | undefined;

/** The reader of the public suffix list, loaded with the first look-up: a start needs none. */
export function publicSuffixes(): typeof Suffixes {
  loaded ??= require('tldts') as typeof Suffixes;
  return loaded;
}
