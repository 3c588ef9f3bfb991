import type { EntryBranchFragment } from '../../documents.ts';
import { i18n } from '../../lib/i18n.ts';
import { type StoredFile, studioPath } from '../../lib/media.ts';
import type { Place } from '../../lib/place.ts';
import { requestProof } from '../../lib/proof.tsx';
import { startTask } from '../../lib/tasks.ts';

interface Reply {
  status: number;
  body: { message?: string; path?: string; public_path?: string; branch?: { name: string } | null };
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

/**
 * Stores a file in the content, under another name where its own is taken; the tray shows its progress.
 * @returns null when it was cancelled. @throws Error with the reason, for a person
 */
export async function uploadFile(
  place: Place,
  branch: EntryBranchFragment,
  file: File,
  directory: string,
): Promise<StoredFile | null> {
  const { promise, resolve, reject } = Promise.withResolvers<StoredFile | null>();
  void startTask({
    title: i18n.t('entry:uploading', { name: file.name }),
    run: async (report, signal) => {
      try {
        for (;;) {
          const form = new FormData();
          form.set('branch', branch.name);
          form.set('path', directory);
          form.set('rename', 'true');
          form.set('file', file);
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
