import { EntryText, type MediaItemFragment } from '../../documents.ts';
import { type ChangesOutcome, commitChanges, type FileAction } from '../../lib/changes.ts';
import { client } from '../../lib/client.ts';
import type { Fault } from '../../lib/faults.ts';
import { candidatePaths, directoryOf } from '../../lib/media.ts';
import type { Place } from '../../lib/place.ts';

/** An entry that names a file, as a refusal says it. */
export interface Referrer {
  collection: string;
  slug: string;
  path: string;
}

/** Entries in whose way a deletion is; null when it was refused for something else. */
export const referrersOf = (fault: Fault | null): Referrer[] | null =>
  fault?.reason === 'in_use' ? ((fault.details.references ?? []) as Referrer[]) : null;

/** What could be the path or address of a file in a text. */
const token = /[^\s"'`()<>[\]{}|,;]+/g;

/** The text of an entry in which a file has another name; what leads to other files stays. @param entry path of the entry */
export function renamedIn(text: string, entry: string, path: string, name: string): string {
  const old = path.slice(path.lastIndexOf('/') + 1);
  const forms = new Set([old, encodeURIComponent(old), encodeURI(old)]);
  return text.replace(token, (found) => {
    const [, plain = found, rest = ''] = /^([^?#]*)(.*)/s.exec(found) ?? [];
    const form = [...forms].find((each) => plain.endsWith(each));
    if (form === undefined || !candidatePaths(entry, plain).includes(path)) return found;
    return `${plain.slice(0, plain.length - form.length)}${form === old ? name : encodeURIComponent(name)}${rest}`;
  });
}

/** Gives a file another name in its directory, and changes the entries that name it, in one commit. */
export async function renameMedia(place: Place, file: MediaItemFragment, name: string): Promise<ChangesOutcome> {
  const { organization, project, draft } = place;
  const texts = [`${file.name} → ${name}`, `Rename ${file.path} to ${name}`] as const;
  const path = [directoryOf(file.path), name].filter(Boolean).join('/');
  const move: FileAction = { op: 'move_media', from: file.path, path, sha: file.sha };
  const outcome = await commitChanges(place, [move], ...texts);
  const referrers = referrersOf(outcome.fault);
  if (!referrers) return outcome;
  const updates = await Promise.all(
    referrers.map(async ({ collection, slug }) => {
      const variables = { organization, project, branch: draft ?? null, collection, slug };
      const { data } = await client.query(EntryText, variables, { requestPolicy: 'network-only' }).toPromise();
      const entry = data?.project?.studio.entry;
      const raw = renamedIn(entry?.raw ?? '', entry?.path ?? '', file.path, name);
      return { op: 'update' as const, collection, slug, ...(entry && { sha: entry.sha }), raw };
    }),
  );
  return commitChanges(place, [...updates, move], ...texts);
}
