import type { Services } from '../../../kernel/services.ts';
import type { CookieJar } from '../crawl/fetch/cookies.ts';
import type { CrawlerRun } from './crawler-run.entity.ts';

/** Milliseconds between two looks at what has changed. */
const saveEvery = 2_000;
/** Text that is still saved; characters. */
const longest = 1024 * 1024;

type Needs = Pick<Services, 'orm' | 'secrets' | 'log'>;
type Owned = Pick<CrawlerRun, 'id' | 'epoch'>;

const readSql = 'select cookies from crawler_run where id = ?';
const saveSql = 'update crawler_run set cookies = ? where id = ? and epoch = ?';

/**
 * Gives a jar what a run's last worker had, and saves what changes in it, sealed, so that the next one has it too.
 * @param organization_id whose key seals them
 * @returns how to end it; saves what is not saved yet
 */
export async function keepCookies(
  { orm, secrets, log }: Needs,
  { id, epoch }: Owned,
  organization_id: number,
  jar: CookieJar,
): Promise<() => Promise<void>> {
  const [row] = await orm.em.fork().execute<{ cookies: string | null }[]>(readSql, [id]);
  if (row?.cookies != null && jar.changes === 0)
    jar.restore(await secrets.decrypt(organization_id, 'crawler.cookies', id, 1, row.cookies));
  let saved = jar.changes;
  let saving: Promise<void> = Promise.resolve();
  const save = async () => {
    const { changes } = jar;
    const text = changes === saved ? null : jar.dump();
    if (text === null || text.length > longest) return;
    const sealed = await secrets.encrypt(organization_id, 'crawler.cookies', id, 1, text);
    await orm.em.fork().execute(saveSql, [sealed, id, epoch]);
    saved = changes;
  };
  const look = () => {
    saving = saving
      .then(save)
      .catch((err: unknown) => log.debug({ err, run: id }, 'the cookies of a run were not saved'));
    return saving;
  };
  const timer = setInterval(look, saveEvery);
  return () => {
    clearInterval(timer);
    return look();
  };
}
