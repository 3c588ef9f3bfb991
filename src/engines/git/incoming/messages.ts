import { DomainError } from '../../../kernel/errors.ts';
import { longestMessage } from '../../../ports/git-writes.ts';
import { CatFile, type StoredObject } from '../objects/cat-file.ts';
import { type ObjectPlace, objectLines } from './large-blobs.ts';
import type { Tip } from './limits.ts';

/** Bytes of a commit or tag as a whole: the longest message, four bytes to a character at most, and as much again for signatures above it. */
const largest = 8 * longestMessage;
/** Objects per request for sizes. */
const atOnce = 1_000;

const tooLong = (kind: string, name: string) =>
  new DomainError(
    'too_large',
    `the message of ${kind} ${name} is longer than ${longestMessage} characters; shorten it`,
  );

/**
 * Holds the messages of the commits and annotated tags that are new with some tips against the limit that holds for commits made here.
 *
 * @throws DomainError `too_large` naming the first that is over it
 */
export async function checkMessages(place: ObjectPlace, tips: readonly Tip[]): Promise<void> {
  if (tips.length === 0) return;
  const objects = new CatFile(place.processes, place.gitDir, { env: place.env, signal: place.signal });
  const check = async (oids: readonly string[]) => {
    const found = await Promise.all(oids.map((oid) => objects.ask(oid, false)));
    for (const object of found) {
      // Most messages are far shorter than their limit: few objects are read.
      if (object === null || object.size <= longestMessage) continue;
      const name = tips.find(({ oid }) => oid === object.oid)?.name ?? object.oid;
      if (object.size > largest)
        throw new DomainError('too_large', `${object.type} ${name} is larger than ${largest / 1024} KiB`);
      const read = await objects.ask(object.oid, true);
      if (read !== null && messageOf(read).length > longestMessage)
        throw tooLong(object.type, object.type === 'tag' ? name : object.oid);
    }
  };
  try {
    let open: string[] = [];
    const args = ['--filter=tree:0', '--no-object-names', '--stdin', '--not', '--all'];
    for await (const oid of objectLines(place, args, tips)) {
      open.push(oid);
      if (open.length < atOnce) continue;
      await check(open);
      open = [];
    }
    await check(open);
  } finally {
    await objects.close();
  }
}

/** What stands below the headers, without the newline that ends every message. */
function messageOf({ content }: StoredObject): string {
  const text = content?.toString('utf8') ?? '';
  const at = text.indexOf('\n\n');
  return at === -1 ? '' : text.slice(at + 2).replace(/\n$/, '');
}
