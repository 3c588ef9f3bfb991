import { setImmediate as nextTurn } from 'node:timers/promises';
import type { BlobRecord } from '../../../ports/content-cache.ts';
import type { Repository } from '../../../ports/git.ts';
import { parseFile } from '../../frontmatter/parse-file.ts';
import { blobKey, factsFrom, type Place } from '../entry-facts.ts';
import { wordsOf } from '../search.ts';

/** What one statement should carry, in characters. */
const charactersAtOnce = 4_000_000;
/** How long a slice of reading keeps the process from everything else, milliseconds. */
const slice = 8;

/**
 * Reads files for the cache, in parts that one statement can carry; gives way to other work between slices. What cannot be read is left out:
 * it may be damaged, or the commit that brings it is not stored yet.
 */
export async function* recordsOf(git: Repository, files: readonly Place[]): AsyncGenerator<BlobRecord[]> {
  try {
    yield* readAll(git, files);
  } catch {
    if (files.length > 1) for (const file of files) yield* recordsOf(git, [file]);
  }
}

async function* readAll(git: Repository, files: readonly Place[]): AsyncGenerator<BlobRecord[]> {
  let records: BlobRecord[] = [];
  let characters = 0;
  let next = 0;
  let began = performance.now();
  for await (const { content } of git.blobs(files.map(({ oid }) => oid))) {
    const file = files[next++];
    if (!file) continue;
    const record = recordOf(file, content);
    records.push(record);
    characters += record.facts.length + record.words.reduce((sum, word) => sum + word.length, 0);
    if (characters >= charactersAtOnce) {
      yield records;
      records = [];
      characters = 0;
    }
    if (performance.now() - began < slice) continue;
    await nextTurn();
    began = performance.now();
  }
  if (records.length > 0) yield records;
}

function recordOf(file: Place, content: Buffer): BlobRecord {
  const parsed = parseFile(content, file.path);
  const facts = JSON.stringify(factsFrom(parsed, content.length));
  return { ...blobKey(file), facts, words: wordsOf(parsed) };
}
