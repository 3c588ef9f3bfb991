/** Files stored in the content: on the branch one works on, or where that takes no commits, in a draft that is begun with them. */
import { decodedUri } from '../../lib/text.ts';
import { FindMedia, type MediaKind } from '../documents.ts';
import { client } from './client.ts';
import { translated } from './faults.ts';
import { i18n } from './i18n.ts';
import { directoryOf, type StoredFile, studioPath } from './media.ts';
import type { Place } from './place.ts';
import { requestProof } from './proof.ts';
import { startTask } from './tasks.ts';

interface Reply {
  status: number;
  body: {
    code?: string;
    message?: string;
    path?: string;
    public_path?: string;
    link?: string;
    branch?: { name: string } | null;
    results?: { path: string }[];
  };
}

/** Sends a file with its progress, which `fetch` does not report; a string is JSON. */
function post(
  address: string,
  body: FormData | string,
  report: (share: number) => void,
  signal: AbortSignal,
): Promise<Reply> {
  const { promise, resolve, reject } = Promise.withResolvers<Reply>();
  const request = new XMLHttpRequest();
  request.open('POST', address);
  if (typeof body === 'string') request.setRequestHeader('Content-Type', 'application/json');
  request.responseType = 'json';
  request.upload.onprogress = ({ loaded, total }) => report(loaded / total);
  request.onload = () => resolve({ status: request.status, body: request.response ?? {} });
  request.onerror = () => reject(new Error(i18n.t('faults:NETWORK')));
  request.onabort = () => reject(new DOMException('', 'AbortError'));
  signal.addEventListener('abort', () => request.abort());
  request.send(body);
  return promise;
}

/** Where files are stored. */
interface UploadPlace extends Place {
  /** The branch takes changes only from others: the file begins a draft. */
  opensDraft: boolean;
}

interface Upload {
  file: File;
  /** Directory in the repository. */
  directory: string;
  /** The file it takes the place of; otherwise a name that is taken gets a number. */
  replaced?: { name: string; sha: string };
}

const fileName = ({ file, replaced }: Upload): string => replaced?.name ?? file.name;

function formOf(upload: Upload, draft: string | undefined): FormData {
  const { file, directory, replaced } = upload;
  const form = new FormData();
  if (draft !== undefined) form.set('branch', draft);
  form.set('path', directory);
  if (replaced) {
    form.set('overwrite', 'true');
    form.set('sha', replaced.sha);
  } else form.set('rename', 'true');
  form.set('file', file, fileName(upload));
  return form;
}

/** A file as base64, which JSON can hold. */
export async function base64Of(file: Blob): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const reader = new FileReader();
  reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/, ''));
  reader.onerror = () => reject(reader.error ?? new Error());
  reader.readAsDataURL(file);
  return promise;
}

/** The body that begins a draft with the file. */
async function draftOf(upload: Upload, base: string | undefined): Promise<string> {
  const { file, directory, replaced } = upload;
  const name = fileName(upload);
  const path = directory === '' ? name : `${directory}/${name}`;
  const how = replaced ? { overwrite: true, sha: replaced.sha } : { rename: true };
  const actions = [{ op: 'upload_media', path, content: await base64Of(file), ...how }];
  return JSON.stringify({ actions, title: name, ...(base !== undefined && { base }) });
}

/** The first files of the content by path. @param q part of the path; null: any */
async function findMedia(
  { organization, project }: Pick<Place, 'organization' | 'project'>,
  branch: string | null,
  q: string | null,
  type: MediaKind | null,
): Promise<StoredFile[]> {
  const variables = { organization, project, branch, q, type, after: null };
  const { data } = await client.query(FindMedia, variables, { requestPolicy: 'network-only' }).toPromise();
  return data?.project?.studio?.media?.nodes ?? [];
}

/** Address the site uses for a file, and what entries name it by, where it has them. */
async function addressesOf(
  place: Place,
  branch: string,
  path: string,
): Promise<Pick<StoredFile, 'public_path' | 'link'>> {
  const found = (await findMedia(place, branch, path, null)).find((file) => file.path === path);
  return { public_path: found?.public_path ?? null, link: found?.link ?? null };
}

/**
 * Directory that new files of an entry come to: beside the file that it names, if that lies beside the entry; or the entry's own one; or else beside
 * what it names by an address or an alias, or where the site has its first picture.
 * @param named how the entry names a file that it has; null: it has none
 * @param own directory for new files of the entry or the field; null: that of the collection, if it has one
 */
export async function uploadDirectory(
  place: Pick<Place, 'organization' | 'project'> & {
    branch: string | null;
    path: string | null;
    mediaPath: string | null;
  },
  named: string | null,
  own: string | null,
): Promise<string> {
  const isBeside = named !== null && place.path !== null && !/^(?:[/#{]|[~@]\/|[a-z][a-z0-9+.-]*:)/i.test(named);
  if (isBeside) return directoryOf(new URL(named, `http://x/${place.path}`).pathname.slice(1));
  const set = own ?? place.mediaPath;
  if (set !== null) return set;
  // Behind an alias (`~/`, `@/`) or a template for the address of the site.
  const [plain = ''] = named?.split('}}').at(-1)?.split(/[?#]/) ?? [];
  const rooted = decodedUri(plain.replace(/^[@~]?\//, ''));
  const likely = rooted === '' ? [] : await findMedia(place, place.branch, rooted, null);
  const found = likely.find(
    ({ path, public_path }) => path === rooted || path.endsWith(`/${rooted}`) || public_path === named,
  );
  const [first] = found ? [found] : await findMedia(place, place.branch, null, 'image');
  return directoryOf(first?.path ?? '');
}

/** A file as it was stored. */
export interface Uploaded extends StoredFile {
  /** Branch of the draft that was begun with it; null: it is where one works. */
  begun: string | null;
}

/**
 * Stores a file in the content; the tray shows its progress, cancels it, and tries it again when it failed.
 * @param place it may be known only when another upload has ended
 * @returns null when it was cancelled. @throws Error with the reason, for a person
 */
export async function uploadFile(place: UploadPlace | Promise<UploadPlace>, upload: Upload): Promise<Uploaded | null> {
  const { promise, resolve, reject } = Promise.withResolvers<Uploaded | null>();
  void startTask({
    title: i18n.t('common:uploading', { name: upload.file.name }),
    isRepeatable: true,
    run: async (report, signal) => {
      const send = async (address: string, body: FormData | string): Promise<Reply> => {
        for (;;) {
          signal.throwIfAborted();
          const reply = await post(address, body, report, signal);
          if (reply.status !== 401 || !(await requestProof('session'))) return reply;
        }
      };
      try {
        const at = await place;
        const { status, body } = at.opensDraft
          ? await send(`${studioPath(at)}/drafts`, await draftOf(upload, at.draft))
          : await send(`${studioPath(at)}/media`, formOf(upload, at.draft));
        const path = at.opensDraft ? body.results?.[0]?.path : body.path;
        if (status >= 300 || path === undefined)
          throw new Error(translated(body.code ?? 'NETWORK', body.message ?? ''));
        const begun = body.branch?.name ?? null;
        const { public_path = null, link = null } = begun === null ? body : await addressesOf(at, begun, path);
        resolve({ path, public_path, link, begun });
        return undefined;
      } catch (error) {
        if (signal.aborted) resolve(null);
        else reject(error);
        throw error;
      }
    },
  });
  return promise;
}
