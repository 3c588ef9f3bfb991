import type { Actor } from './domain/identity/actor.ts';
import { Organization } from './domain/organizations/organization.entity.ts';
import type { Services } from './domain/services.ts';
import { Setting } from './domain/setting.entity.ts';
import { type FirstRun, readRecord, writeRecord } from './first-run-record.ts';
import { demo, makeDemo } from './make-demo.ts';

interface Options {
  services: Services;
  actor: Actor;
  dataDir: string;
  url: string;
  previewUrl: string;
  /** `PORTICO_DEMO`; undefined: on at the very first start. */
  demo: 'on' | 'off' | undefined;
  demoDirectory: string;
}

/**
 * Renews `first-run.json`, and at the very first start imports the demo site. Of several processes on one database one does it: the record is
 * read and replaced under a lock of the database, because one read before it would not have the token that another process is writing.
 * @returns the record, and whether the token in it is new and has to be shown.
 */
export async function firstRun(options: Options): Promise<{ record: FirstRun; isNew: boolean }> {
  const { services, actor, dataDir, url, previewUrl } = options;
  return services.orm.em.fork().transactional(async (em) => {
    await em.execute("select pg_advisory_xact_lock(hashtext('portico_first_run'))");
    const before = await readRecord(dataDir);
    const record: FirstRun = { ...before, url, preview_url: previewUrl, setup_url: `${url}/setup` };
    const done = await em.findOne(Setting, { name: 'demo' });
    const first = !done && (await em.count(Organization, { machine_name: { $ne: demo.organization } })) === 0;
    const isNew = !done && options.demo !== 'off' && (options.demo === 'on' || first);
    if (isNew) {
      const token = await makeDemo(services, actor, options.demoDirectory, before?.token);
      Object.assign(record, demo, { token });
    }
    if (JSON.stringify(before) !== JSON.stringify(record)) await writeRecord(dataDir, record);
    if (isNew) await em.insert(Setting, { name: 'demo', value: 'imported' });
    return { record, isNew };
  });
}
