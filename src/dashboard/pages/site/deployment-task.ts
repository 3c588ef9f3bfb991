import { CancelDeployment, DeploymentChanged } from '../../documents.ts';
import { send } from '../../lib/command.ts';
import { follow } from '../../lib/follow.ts';
import { i18n } from '../../lib/i18n.ts';
import { startTask } from '../../lib/tasks.ts';

interface Begun {
  organization: string;
  project: string;
  id: number;
  run_number: number;
  /** Called when it has succeeded. */
  onSuccess?: () => void;
}

/** A deployment that was begun here, in the tray until it has ended; cancelled there, it is cancelled at the server. */
export function followDeployment({ organization, project, id, run_number, onSuccess }: Begun): void {
  const link = `/p/${organization}/${project}/site/deployments/${id}`;
  void startTask({
    title: i18n.t('site:deployment', { number: run_number }),
    run: (report, signal) => {
      const { promise, resolve, reject } = Promise.withResolvers<string>();
      report(null, i18n.t('site:queued'));
      const close = follow({
        document: DeploymentChanged,
        variables: { organization, project, deployment: id },
        onData: ({ deploymentChanged: now }) => {
          if (!now) return;
          if (now.status !== 'completed') return report(null, i18n.t(`site:${now.status}`));
          close();
          if (now.conclusion === 'success') {
            resolve(link);
            onSuccess?.();
          } else reject(new Error(i18n.t(`site:${now.conclusion ?? 'skipped'}`)));
        },
        onEnd: (fault) => fault && reject(new Error(fault.message)),
      });
      signal.addEventListener('abort', () => {
        close();
        void send(CancelDeployment, { organization, project, input: { deployment: id } });
        reject(signal.reason);
      });
      return promise;
    },
  });
}
