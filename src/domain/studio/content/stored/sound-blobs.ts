import { DomainError } from '../../../errors.ts';
import type { Snapshot } from '../../../ports/git-records.ts';

type Source = Pick<Snapshot, 'blobs'> & Partial<Pick<Snapshot, 'blob'>>;

/** More damaged blobs than this, and than there are sound ones: it is the repository that cannot be read. */
const fewDamaged = 20;

const isDamage = (error: unknown): error is DomainError =>
  error instanceof DomainError && error.code === 'repository_unavailable';

/**
 * Contents of blobs in the order asked; in place of one that cannot be read, why: it does not take the others with it.
 * @throws DomainError `repository_unavailable` when it is not only some
 */
export async function* soundBlobs(source: Source, oids: readonly string[]): AsyncGenerator<Buffer | DomainError> {
  let next = 0;
  if (oids.length === 1) return yield await readAlone(source, oids[0] ?? '');
  for (let damaged = 0; next < oids.length; ) {
    try {
      for await (const { content } of source.blobs(oids.slice(next))) {
        next += 1;
        yield content;
      }
    } catch (error) {
      if (!isDamage(error)) throw error;
      const alone = await readAlone(source, oids[next] ?? '');
      next += 1;
      if (alone instanceof DomainError) damaged += 1;
      if (damaged > fewDamaged && damaged > next - damaged) throw error;
      yield alone;
    }
  }
}

async function readAlone(source: Source, oid: string): Promise<Buffer | DomainError> {
  try {
    if (source.blob) return await source.blob(oid);
    for await (const { content } of source.blobs([oid])) return content;
  } catch (error) {
    if (isDamage(error)) return error;
    throw error;
  }
  throw new Error(`nothing was said of ${oid}`);
}
