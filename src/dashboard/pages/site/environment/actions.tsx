import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { IconRocket } from '@tabler/icons-react';
import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import {
  EnvironmentHead,
  type EnvironmentHeadQueryVariables,
  type ShownEnvironmentFragment,
  StartDeployment,
} from '../../../documents.ts';
import { client } from '../../../lib/client.ts';
import { useCommand } from '../../../lib/command.ts';
import type { Fault } from '../../../lib/faults.ts';
import { usePlace } from '../../../lib/place.ts';
import { useCan } from '../../../lib/viewer.tsx';
import { OpenSite } from '../../../parts/open-site.tsx';
import { followDeployment } from '../deployment-task.ts';

interface Deploy {
  run: () => void;
  isRunning: boolean;
  fault: Fault | null;
  /** What there is of the version already, while the person decides. */
  dialog: ReactNode;
}

/** A deployment of the very version that would be deployed: one that is under way, or the one that is live. */
interface Same {
  id: number;
  run_number: number;
  isLive: boolean;
}

async function sameVersion(variables: EnvironmentHeadQueryVariables): Promise<Same | null> {
  const { data } = await client.query(EnvironmentHead, variables, { requestPolicy: 'network-only' }).toPromise();
  const { branch, latest_deployment: latest, published } = data?.project?.studio.environment ?? {};
  const head = branch?.commit?.sha;
  if (latest && latest.status !== 'completed') return latest.commit_sha === head ? { ...latest, isLive: false } : null;
  return published && published.commit_sha === head ? { ...published, isLive: true } : null;
}

/** Deploys the head of an environment's branch, and goes where it can be watched. A version that is there already is deployed again only on demand. */
export function useDeploy(environment: Pick<ShownEnvironmentFragment, 'id'> | undefined): Deploy {
  const { t } = useTranslation('site');
  const { organization, project } = usePlace();
  const navigate = useNavigate();
  const start = useCommand(StartDeployment);
  const [isLooking, setLooking] = useState(false);
  const [same, setSame] = useState<Same | null>(null);
  const show = (id: number) => {
    const params = { organization, project, deployment: String(id) };
    return navigate({ to: '/p/$organization/$project/site/deployments/$deployment', params });
  };
  const deploy = async () => {
    if (!environment) return;
    const { data } = await start.run({ organization, project, input: { environment_id: environment.id } });
    setSame(null);
    const begun = data?.startDeployment;
    if (!begun) return;
    followDeployment({ organization, project, ...begun });
    await show(begun.id);
  };
  const run = async () => {
    if (!environment) return;
    setLooking(true);
    const found = await sameVersion({ organization, project, environment: environment.id });
    setLooking(false);
    if (found) setSame(found);
    else await deploy();
  };
  const dialog = same && (
    <Modal
      opened
      onClose={() => setSame(null)}
      title={t(same.isLive ? 'same_live' : 'same_under_way', { number: same.run_number })}
    >
      <Stack>
        <Text>{t(same.isLive ? 'same_live_lead' : 'same_under_way_lead')}</Text>
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={() => void deploy()} loading={start.isRunning}>
            {t('again')}
          </Button>
          <Button onClick={() => void show(same.id)} data-autofocus>
            {t('show_deployment', { number: same.run_number })}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
  return { run: () => void run(), isRunning: isLooking || start.isRunning, fault: start.fault, dialog };
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
  return (
    <>
      <OpenSite place={{ organization, project }} environment={environment} />
      {can('edit_studio') && (
        <Button
          leftSection={<IconRocket size={16} />}
          onClick={deploy.run}
          loading={deploy.isRunning}
          disabled={!environment.branch}
        >
          {t('deploy')}
        </Button>
      )}
      {deploy.dialog}
    </>
  );
}
