import { EntryText, type MediaItemFragment, RenameMediaFile } from '../../documents.ts';
import { client } from '../../lib/client.ts';
import { send } from '../../lib/command.ts';
import type { Fault } from '../../lib/faults.ts';
import { candidatePaths, directoryOf, fileAddress } from '../../lib/media.ts';
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
    const [, plain = found, rest = ''] = /^([^?#]*)(.*)$/.exec(found) ?? [];
    const form = [...forms].find((each) => plain.endsWith(each));
    if (form === undefined || !candidatePaths(entry, plain).includes(path)) return found;
    return `${plain.slice(0, plain.length - form.length)}${form === old ? name : encodeURIComponent(name)}${rest}`;
  });
}

async function contentOf(place: Place, { path }: MediaItemFragment): Promise<string> {
  const { organization, project, draft } = place;
  const response = await fetch(fileAddress({ organization, project, branch: draft ?? null }, path));
  if (!response.ok) throw new Error(response.statusText);
  const bytes = new Uint8Array(await response.arrayBuffer());
  let text = '';
  for (let at = 0; at < bytes.length; at += 32_768) text += String.fromCharCode(...bytes.subarray(at, at + 32_768));
  return btoa(text);
}

/** Gives a file another name in its directory, and changes the entries that name it, in one commit. */
export async function renameMedia(place: Place, file: MediaItemFragment, name: string): Promise<Fault | null> {
  const { organization, project, draft } = place;
  const path = `${directoryOf(file.path)}/${name}`;
  const move = [
    { op: 'upload_media', path, content: await contentOf(place, file) },
    { op: 'delete_media', path: file.path, sha: file.sha },
  ];
  const commit = (actions: unknown[]) =>
    send(RenameMediaFile, {
      ...{ organization, project },
      input: { actions, message: `Rename ${file.path} to ${name}`, ...(draft !== undefined && { branch: draft }) },
    });
  const { fault } = await commit(move);
  const referrers = referrersOf(fault);
  if (!referrers) return fault;
  const updates = await Promise.all(
    referrers.map(async ({ collection, slug }) => {
      const variables = { organization, project, branch: draft ?? null, collection, slug };
      const { data } = await client.query(EntryText, variables, { requestPolicy: 'network-only' }).toPromise();
      const entry = data?.project?.studio.entry;
      const raw = renamedIn(entry?.raw ?? '', entry?.path ?? '', file.path, name);
      return { op: 'update', collection, slug, sha: entry?.sha, raw };
    }),
  );
  return (await commit([...updates, ...move])).fault;
}
