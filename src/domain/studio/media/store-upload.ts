import { DomainError } from '../../errors.ts';
import type { ProjectContext } from '../../operation.ts';
import type { StoredBlob } from '../../ports/git-records.ts';
import { checkContentPath } from '../entries/write-entry.ts';
import { mediaPath } from './media-name.ts';
import { checkMediaType } from './media-types.ts';

/** Largest file that comes as base64 in JSON, bytes. */
export const inlineLimit = 25 * 1024 * 1024;

/** A file that has been stored and waits for the commit that names it. */
export interface Upload {
  path: string;
  blob: StoredBlob;
}

/**
 * Stores the content of an upload ahead of its commit.
 * @param limit bytes; the instance's own limit holds as well
 * @throws DomainError `invalid_path`, `invalid_name`, `too_large`, `unsupported_media`
 */
export async function storeUpload(
  { git, services }: Pick<ProjectContext, 'git' | 'services'>,
  path: string,
  content: AsyncIterable<Uint8Array>,
  limit: number,
): Promise<Upload> {
  const checked = mediaPath(path);
  checkContentPath(checked);
  const blob = await git.storeBlob(content, Math.min(limit, services.settings.media_limit)).catch((error: unknown) => {
    if (error instanceof DomainError && error.code === 'too_large')
      throw new DomainError('too_large', `content: ${error.message}`);
    throw error;
  });
  checkMediaType(checked, blob.head);
  return { path: checked, blob };
}
