import { i18n } from './i18n.ts';
import { type StoredFile, studioPath } from './media.ts';
import type { Place } from './place.ts';
import { requestProof } from './proof.ts';
import { startTask } from './tasks.ts';

interface Reply {
  status: number;
  body: { message?: string; path?: string; public_path?: string };
}

/** Sends a file with its progress, which `fetch` does not tell. */
function post(address: string, form: FormData, report: (share: number) => void, signal: AbortSignal): Promise<Reply> {
  const { promise, resolve, reject } = Promise.withResolvers<Reply>();
  const request = new XMLHttpRequest();
  request.open('POST', address);
  request.responseType = 'json';
  request.upload.onprogress = ({ loaded, total }) => report(loaded / total);
  request.onload = () => resolve({ status: request.status, body: request.response ?? {} });
  request.onerror = () => reject(new Error(i18n.t('faults:NETWORK')));
  request.onabort = () => reject(new DOMException('', 'AbortError'));
  signal.addEventListener('abort', () => request.abort());
  request.send(form);
  return promise;
}

interface Upload {
  file: File;
  /** Directory in the repository. */
  directory: string;
  /** The file it takes the place of; otherwise a name that is taken gets a number. */
  replaced?: { name: string; sha: string };
}

function formOf({ file, directory, replaced }: Upload, draft: string | undefined): FormData {
  const form = new FormData();
  if (draft !== undefined) form.set('branch', draft);
  form.set('path', directory);
  if (replaced) {
    form.set('overwrite', 'true');
    form.set('sha', replaced.sha);
  } else form.set('rename', 'true');
  form.set('file', file, replaced?.name ?? file.name);
  return form;
}

/**
 * Stores a file in the content; the tray shows its progress, cancels it, and tries it again when it failed.
 * @returns null when it was cancelled. @throws Error with the reason, for a person
 */
export async function uploadFile(place: Place, upload: Upload): Promise<StoredFile | null> {
  const { file } = upload;
  const { promise, resolve, reject } = Promise.withResolvers<StoredFile | null>();
  void startTask({
    title: i18n.t('common:uploading', { name: file.name }),
    isRepeatable: true,
    run: async (report, signal) => {
      try {
        for (;;) {
          const form = formOf(upload, place.draft);
          const { status, body } = await post(`${studioPath(place)}/media`, form, report, signal);
          if (status === 401 && (await requestProof('session'))) continue;
          if (status >= 300 || body.path === undefined) throw new Error(body.message ?? i18n.t('faults:NETWORK'));
          resolve({ path: body.path, public_path: body.public_path ?? null });
          return undefined;
        }
      } catch (error) {
        if (signal.aborted) resolve(null);
        else reject(error);
        throw error;
      }
    },
  });
  return promise;
}
