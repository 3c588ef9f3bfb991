import { randomUUID } from 'node:crypto';
import { snapshotImportJob } from '../domain/crawlers/snapshots/import/import-snapshot.operations.ts';
import { writeImport } from '../domain/crawlers/snapshots/import/write-import.operations.ts';
import { systemActor } from '../domain/identity/actor.ts';
import { run } from '../domain/run.ts';
import type { Services } from '../domain/services.ts';
import type { Job } from './queue.ts';

const placeSql = `
  select organization.machine_name as organization, project.machine_name as project
  from snapshot_import join crawler on crawler.id = crawler_id join project on project.id = project_id and project.deleted_at is null
    join organization on organization.id = organization_id
  where snapshot_import.id = ?`;

/** Copies snapshots into branches, one at a time. An import whose project is gone is left. */
export function snapshotImportJobFor(services: Services): Job<typeof snapshotImportJob.payload> {
  return {
    kind: snapshotImportJob,
    async handle({ import_id }, signal) {
      const [place] = await services.orm.em
        .fork()
        .execute<{ organization: string; project: string }[]>(placeSql, [import_id]);
      if (!place) return;
      const actor = systemActor('import', ['browse_crawlers', 'manage_studio'], services.settings.public_host);
      const call = { services, actor, conditions: {}, signal, request_id: randomUUID(), address: null, facts: {} };
      await run(writeImport, call, { ...place, import_id });
    },
  };
}
