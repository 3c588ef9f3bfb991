import { type EntryBranchFragment, FindMedia, SaveEntryToDraft } from '../../documents.ts';
import { client } from '../../lib/client.ts';
import { send } from '../../lib/command.ts';
import { i18n } from '../../lib/i18n.ts';
import type { StoredFile } from '../../lib/media.ts';
import type { Place } from '../../lib/place.ts';

/** A file as base64, which JSON can hold. */
async function base64Of(file: File): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const reader = new FileReader();
  reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/, ''));
  reader.onerror = () => reject(reader.error ?? new Error(file.name));
  reader.readAsDataURL(file);
  return promise;
}

/**
 * Stores a file in a draft that begins with it, as the branch takes changes only from others.
 * @throws Error with the reason, for a person
 */
export async function uploadToDraft(
  { organization, project }: Place,
  branch: EntryBranchFragment,
  file: File,
  directory: string,
): Promise<StoredFile & { draft: string }> {
  const path = directory === '' ? file.name : `${directory}/${file.name}`;
  const actions = [{ op: 'upload_media', path, content: await base64Of(file), rename: true }];
  const input = { base: branch.name, title: file.name, actions };
  const { data, fault } = await send(SaveEntryToDraft, { organization, project, input });
  const saved = data?.saveToDraft;
  const added = saved?.results[0]?.path;
  if (!saved?.branch || added === undefined) throw new Error(fault?.message ?? i18n.t('faults:NETWORK'));
  const at = { organization, project, branch: saved.branch.name, q: added, type: null, after: null };
  const found = await client.query(FindMedia, at, { requestPolicy: 'network-only' }).toPromise();
  const media = found.data?.project?.studio?.media?.nodes.find((one) => one.path === added);
  return { path: added, public_path: media?.public_path ?? null, draft: saved.branch.name };
}
