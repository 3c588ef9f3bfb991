import { DomainError, fieldError } from '../../errors.ts';
import type { ProjectContext } from '../../operation.ts';
import type { StoredBlob } from '../../ports/git-records.ts';
import type { Spooled } from '../../ports/spool.ts';
import { refusalOfMedia, refusalOfName } from '../content/admission.ts';
import { mediaPath } from './media-name.ts';
import { mediaTypeProblem } from './media-types.ts';

/** Largest file that comes as base64 in JSON, bytes. */
const inlineLimit = 25 * 1024 * 1024;

/** A file that has been stored and waits for the commit that names it. */
export interface Upload {
  path: string;
  blob: StoredBlob;
}

interface Incoming {
  path: string;
  content: AsyncIterable<Uint8Array> | Spooled;
  /** What the caller gave the content as. */
  field: 'content' | 'file';
}

/** The path an upload is stored at, by its name alone. @throws DomainError `invalid_path`, `invalid_name`, `unsupported_media` */
export function uploadPath(path: string): string {
  const checked = mediaPath(path);
  const refused = refusalOfName(checked);
  if (refused) throw fieldError(refused.code, 'path', refused.problem);
  const type = mediaTypeProblem(checked, null);
  if (type) throw fieldError('unsupported_media', 'path', type.problem);
  return checked;
}

/**
 * Stores the content of an upload ahead of its commit.
 * What comes as text has a limit of its own; the instance's holds for all.
 * @throws DomainError `invalid_path`, `invalid_name`, `too_large`, `unsupported_media`
 */
export async function storeUpload(
  { git, services }: Pick<ProjectContext, 'git' | 'services'>,
  { path, content, field }: Incoming,
): Promise<Upload> {
  const checked = uploadPath(path);
  const blob = await git
    .storeBlob(
      content,
      Math.min(field === 'content' ? inlineLimit : Number.POSITIVE_INFINITY, services.settings.media_limit),
    )
    .catch((error: unknown) => {
      if (error instanceof DomainError && error.code === 'too_large')
        throw fieldError('too_large', field, error.message);
      throw error;
    });
  const unfit = refusalOfMedia({ path: checked, ...blob }, services.settings.media_limit);
  if (unfit) throw fieldError(unfit.code, unfit.of === 'path' ? 'path' : field, unfit.problem);
  return { path: checked, blob };
}
