import { setImmediate as nextTurn } from 'node:timers/promises';
import { type DraftFault, faultAt } from './draft-fields.ts';

/**
 * Instructions of all compiled patterns of a list. Every run compiles them anew, and each URL may have to pass them all, on the thread that
 * serves everybody: a million steps take some milliseconds, and a URL has up to 2,048 characters. A pattern has about as many instructions
 * as characters, so this refuses none but counted repetitions.
 */
const maxProgram = 125_000;
const maxCause = 200;

const causeOf = (error: unknown) =>
  (error instanceof Error ? error.message : String(error)).replace(/^error parsing regexp: /, '').slice(0, maxCause);

/** Faults of patterns that are no regular expressions of RE2's syntax. Others have their turn between two of them. */
export async function patternFaults(field: 'include' | 'exclude', patterns: readonly string[]): Promise<DraftFault[]> {
  if (patterns.length === 0) return [];
  const { RE2JS } = await import('re2js');
  const faults: DraftFault[] = [];
  let size = 0;
  for (const [index, pattern] of patterns.entries()) {
    const refuse = (cause: string) => faults.push(faultAt(field, [index], `is not a valid pattern: ${cause}`));
    try {
      size += RE2JS.compile(pattern).programSize();
    } catch (error) {
      refuse(causeOf(error));
    }
    if (size > maxProgram) {
      refuse('the patterns before it and it are too large together');
      break;
    }
    await nextTurn();
  }
  return faults;
}
