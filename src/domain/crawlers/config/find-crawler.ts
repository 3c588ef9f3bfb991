import { type FindOneOptions, LockMode } from '@mikro-orm/core';
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

/** What of a crawler's row may be large, or is secret. */
export const contents = ['settings', 'secrets', 'webhook_secret'] as const;
type Content = (typeof contents)[number];

/** A crawler of which no settings are read. */
export type LocatedCrawler = Pick<Crawler, Exclude<keyof Crawler & string, Content>>;

/** @throws DomainError `not_found` for one that is unknown, deleted, or of another project */
async function find(
  { em, project }: Context,
  name: string,
  options: FindOneOptions<Crawler, never, '*', Content>,
): Promise<Crawler> {
  const where = wanted(name);
  const alive = { project_id: project.id, deleted_at: null };
  const row = where && (await em.findOne(Crawler, { ...where, ...alive }, { refresh: true, ...options }));
  if (!row) throw unknown();
  return row as Crawler;
}

/**
 * A crawler of the project by its UUID, in any case, or its number.
 * @param options.lock holds its row until the transaction ends, so that what is decided by it stays so
 * @throws DomainError `not_found` for one that is unknown, deleted, or of another project
 */
export const findCrawler = (
  context: Context,
  name: string,
  { lock = false }: { lock?: boolean } = {},
): Promise<Crawler> => find(context, name, lock ? { lockMode: LockMode.PESSIMISTIC_WRITE } : {});

/** The same without its settings, for what does not go by them. @throws DomainError `not_found` */
export const locateCrawler = (context: Context, name: string): Promise<LocatedCrawler> =>
  find(context, name, { exclude: contents });

/** The crawler an input that was refused names (`find` of an operation); null when it names none. @throws DomainError `not_found` */
export const namedCrawler = async (
  context: Context,
  { crawler }: Record<string, unknown>,
): Promise<LocatedCrawler | null> => (typeof crawler === 'string' ? locateCrawler(context, crawler) : null);
