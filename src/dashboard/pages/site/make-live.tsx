/** Rolls an environment back, or forward again: another of its deployments is shown at once, without building it anew. */
import { Button, Stack, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import {
  type DeploymentLineFragment,
  MakeLive as MakeLiveDocument,
  type ShownEnvironmentFragment,
} from '../../documents.ts';
import { send, useCommand } from '../../lib/command.ts';
import { usePlace } from '../../lib/place.ts';
import { useCan } from '../../lib/viewer.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import { Facts } from '../../parts/facts.tsx';
import { DeployedVersion } from './deployed-version.tsx';

/** Whether its files are still kept; an external provider's never were. */
const isKept = ({ conclusion, output_digest, url }: DeploymentLineFragment): boolean =>
  conclusion === 'success' && output_digest !== null && url !== null;

interface MakeLiveProps {
  deployment: DeploymentLineFragment;
  environment: ShownEnvironmentFragment;
  /** In a list, where there are many of it. */
  isCompact?: boolean;
}

export function MakeLive({ deployment, environment, isCompact = false }: MakeLiveProps) {
  const { t } = useTranslation(['site', 'common']);
  const { organization, project } = usePlace();
  const can = useCan(organization, project);
  const [isOpen, setOpen] = useState(false);
  const { run, isRunning, fault, reset } = useCommand(MakeLiveDocument);
  const isOffered = !deployment.published && isKept(deployment) && can('manage_studio');
  // What happens meanwhile closes no dialog under a person.
  if (!isOffered && !isOpen) return null;
  const { id, run_number: number } = deployment;
  const { published, latest_deployment: latest } = environment;
  const close = () => {
    reset();
    setOpen(false);
  };
  const undo = async (toast: string, before: number) => {
    notifications.hide(toast);
    const input = { environment: environment.id, published_deployment_id: before };
    const { fault } = await send(MakeLiveDocument, { organization, project, input });
    notifications.show(
      fault ? { message: fault.message, color: 'red', autoClose: false } : { message: t('made_live_undone') },
    );
  };
  const makeLive = async () => {
    const input = { environment: environment.id, published_deployment_id: id };
    const outcome = await run({ organization, project, input });
    if (outcome.fault) return;
    const toast = notifications.show({
      autoClose: 15_000,
      title: t('made_live', { number, environment: environment.name }),
      message: published && (
        <Button size="compact-sm" variant="default" onClick={() => void undo(toast, published.id)}>
          {t('common:undo')}
        </Button>
      ),
    });
    close();
  };
  const isOvertaken = latest !== null && latest.status !== 'completed' && latest.run_number > number;
  return (
    <>
      {isCompact ? (
        <Button
          variant="default"
          size="compact-sm"
          onClick={() => setOpen(true)}
          aria-label={t('make_live_of', { number })}
        >
          {t('make_live_short')}
        </Button>
      ) : (
        <Button onClick={() => setOpen(true)}>{t('make_live')}</Button>
      )}
      {isOpen && (
        <Confirm
          title={t('make_live_title', { number, environment: environment.name })}
          action={t('make_live')}
          onConfirm={() => void makeLive()}
          onClose={close}
          isRunning={isRunning}
          fault={fault}
          isHarmless
        >
          <Stack gap="sm">
            <Facts>
              <dt>{t('live_now')}</dt>
              <dd>{published ? <DeployedVersion deployment={published} /> : t('nothing')}</dd>
              <dt>{t('live_then')}</dt>
              <dd>
                <DeployedVersion deployment={deployment} />
              </dd>
            </Facts>
            <Text>{t('make_live_lead')}</Text>
            <Text>
              {isOvertaken
                ? t('make_live_overtaken', { number: latest.run_number })
                : t(environment.auto_deploy ? 'make_live_until_change' : 'make_live_until_deploy')}
            </Text>
          </Stack>
        </Confirm>
      )}
    </>
  );
}
