import { Button } from '@mantine/core';
import { IconRocket } from '@tabler/icons-react';
import { useNavigate } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { EnvironmentPreview, type ShownEnvironmentFragment, StartDeployment } from '../../../documents.ts';
import { client } from '../../../lib/client.ts';
import { useCommand } from '../../../lib/command.ts';
import type { Fault } from '../../../lib/faults.ts';
import { usePlace } from '../../../lib/place.ts';
import { useCan } from '../../../lib/viewer.tsx';
import { followDeployment } from '../deployment-task.ts';
import { OpenButton } from '../open-button.tsx';

interface Deploy {
  run: () => void;
  isRunning: boolean;
  fault: Fault | null;
}

/** Deploys the head of an environment's branch, and goes where it can be watched. */
export function useDeploy(environment: Pick<ShownEnvironmentFragment, 'id'> | undefined): Deploy {
  const { organization, project } = usePlace();
  const navigate = useNavigate();
  const start = useCommand(StartDeployment);
  const run = async () => {
    if (!environment) return;
    const { data } = await start.run({ organization, project, input: { environment_id: environment.id } });
    const begun = data?.startDeployment;
    if (!begun) return;
    followDeployment({ organization, project, ...begun });
    const params = { organization, project, deployment: String(begun.id) };
    await navigate({ to: '/p/$organization/$project/site/deployments/$deployment', params });
  };
  return { run: () => void run(), isRunning: start.isRunning, fault: start.fault };
}

interface EnvironmentActionsProps {
  environment: ShownEnvironmentFragment;
  deploy: Deploy;
}

/** What one does with an environment most often. */
export function EnvironmentActions({ environment, deploy }: EnvironmentActionsProps) {
  const { t } = useTranslation('site');
  const { organization, project } = usePlace();
  const can = useCan(organization, project);
  const { id, name, url, published, branch } = environment;
  const find = async () => {
    const variables = { organization, project, environment: id };
    const { data } = await client.query(EnvironmentPreview, variables, { requestPolicy: 'network-only' }).toPromise();
    return data?.project?.studio.environment?.preview?.url ?? url;
  };
  return (
    <>
      {published && <OpenButton name={name} find={find} />}
      {can('edit_studio') && (
        <Button
          leftSection={<IconRocket size={16} />}
          onClick={deploy.run}
          loading={deploy.isRunning}
          disabled={!branch}
        >
          {t('deploy')}
        </Button>
      )}
    </>
  );
}
