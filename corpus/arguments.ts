import { parseArgs } from 'node:util';

/** What is wrong with the command line, in a sentence for the person who typed it. */
export class UsageError extends Error {}

export interface Options {
  /** Directories and repositories, as given. */
  sources: string[];
  json: boolean;
  help: boolean;
  /** At most so many files of each source, evenly spread. */
  sample: number | undefined;
  /** Random three-way merges for each source. */
  random: number;
  /** Branch or commit instead of every branch head. */
  ref: string | undefined;
  /** Where reproductions go. */
  fixtures: string | undefined;
  seed: string;
}

export const usage = `npm run corpus -- <directory or git repository>… [options]

  --json            one JSON document on standard output, and nothing else
  --sample <n>      at most n files of each source, evenly spread
  --random <n>      n random three-way merges for each source
  --seed <text>     other random choices; the same seed makes the same ones (default 1)
  --ref <ref>       this branch or commit instead of every branch head
  --fixtures <dir>  where a wrong result is written with its file and edit (default: a new temporary directory)
`;

const string = { type: 'string' } as const;
const flag = { type: 'boolean' } as const;
const known = { json: flag, help: flag, sample: string, random: string, seed: string, ref: string, fixtures: string };

/** @throws UsageError */
export function parseOptions(words: readonly string[]): Options {
  const { values, positionals } = parse(words);
  const { json = false, help = false, ref, fixtures, seed = '1' } = values;
  if (positionals.length === 0 && !help) throw new UsageError('Name at least one directory or git repository.');
  const sample = values.sample === undefined ? undefined : wholeNumber('--sample', values.sample, 1);
  const random = wholeNumber('--random', values.random ?? '0', 0);
  for (const [name, value] of Object.entries({ '--ref': ref, '--fixtures': fixtures })) {
    if (value === '') throw new UsageError(`${name} needs a value.`);
  }
  return { sources: positionals, json, help, sample, random, ref, fixtures, seed };
}

function parse(words: readonly string[]) {
  try {
    return parseArgs({ args: [...words], options: known, allowPositionals: true });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new UsageError(`${message.split(/\.\s/, 1)[0]?.replace(/\.$/, '')}.`);
  }
}

function wholeNumber(name: string, text: string, least: number): number {
  if (/^\d{1,7}$/.test(text) && Number(text) >= least) return Number(text);
  throw new UsageError(`${name} must be a whole number from ${least} to 9999999, not "${text}".`);
}
