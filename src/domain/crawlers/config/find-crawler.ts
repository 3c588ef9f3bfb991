import { LockMode } from '@mikro-orm/core';
import { DomainError } from '../../../kernel/errors.ts';
import { isUuid } from '../../../lib/ids.ts';
import type { ProjectContext } from '../../projects/operation.ts';
import { Crawler } from './crawler.entity.ts';

type Context = Pick<ProjectContext, 'em'> & { project: Pick<ProjectContext['project'], 'id'> };

const numberForm = /^[1-9]\d{0,9}$/;
const maxId = 2 ** 31 - 1;

const unknown = () => new DomainError('not_found', 'Crawler not found');

/** What a name stands for; null for one that cannot name a crawler. */
function wanted(name: string): { uuid: string } | { id: number } | null {
  const lower = name.toLowerCase();
  if (isUuid(lower)) return { uuid: lower };
  return numberForm.test(name) && Number(name) <= maxId ? { id: Number(name) } : null;
}

/**
 * A crawler of the project by its UUID, in any case, or its number.
 * @param options.lock holds its row until the transaction ends, so that what is decided by it stays so
 * @throws DomainError `not_found` for one that is unknown, deleted, or of another project
 */
export async function findCrawler(
  { em, project }: Context,
  name: string,
  { lock = false }: { lock?: boolean } = {},
): Promise<Crawler> {
  const where = wanted(name);
  if (!where) throw unknown();
  const row = await em.findOne(
    Crawler,
    { ...where, project_id: project.id, deleted_at: null },
    { refresh: true, ...(lock && { lockMode: LockMode.PESSIMISTIC_WRITE }) },
  );
  if (!row) throw unknown();
  return row;
}

/** The crawler an input that was refused names (`find` of an operation); null when it names none. @throws DomainError `not_found` */
export const namedCrawler = async (context: Context, { crawler }: Record<string, unknown>): Promise<Crawler | null> =>
  typeof crawler === 'string' ? findCrawler(context, crawler) : null;
