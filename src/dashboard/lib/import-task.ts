import { CancelImport, ImportProgress, ImportRepository, type ImportRepositoryInput } from '../documents.ts';
import { client } from './client.ts';
import { send } from './command.ts';
import { faultOf } from './faults.ts';
import { i18n } from './i18n.ts';
import { startTask } from './tasks.ts';

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

interface Import {
  organization: string;
  project: string;
  /** What the project is called. */
  name: string;
  /** What is imported, with its credentials, for another try. */
  input: ImportRepositoryInput;
}

/** The import of a repository into a project, which the server has begun, in the tray until it has ended. */
export function followImport({ organization, project, name, input }: Import): Promise<void> {
  let isBegun = true;
  return startTask({
    title: i18n.t('settings:import_task', { name }),
    isRepeatable: true,
    async run(report, signal) {
      if (!isBegun) {
        const shown = { additionalTypenames: ['Repository'] };
        const { fault } = await send(ImportRepository, { organization, project, input }, shown);
        if (fault) throw new Error(fault.message);
      }
      isBegun = false;
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
