import { CancelImport, ImportProgress } from '../documents.ts';
import { client } from './client.ts';
import { faultOf } from './faults.ts';
import { i18n } from './i18n.ts';
import { startTask } from './tasks.ts';

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** The import of a repository into a project, which the server has begun, in the tray until it has ended. */
export function followImport(organization: string, project: string, name: string): Promise<void> {
  return startTask({
    title: i18n.t('settings:import_task', { name }),
    async run(report, signal) {
      // What has ended meanwhile is seen below; a refusal for another reason leaves it under way.
      signal.addEventListener('abort', () => void client.mutation(CancelImport, { organization, project }).toPromise());
      for (;;) {
        const answer = await client
          .query(ImportProgress, { organization, project }, { requestPolicy: 'network-only' })
          .toPromise();
        if (answer.error && answer.error.graphQLErrors.length > 0) throw new Error(faultOf(answer.error).message);
        const state = answer.data?.project?.studio.repository?.import;
        if (state?.state === 'completed') return `/p/${organization}/${project}`;
        if (state?.state === 'failed') throw new Error(state.message ?? i18n.t('settings:import_failed'));
        if (state) report(state.total_objects > 0 ? state.received_objects / state.total_objects : null);
        await pause(1000);
      }
    },
  });
}
