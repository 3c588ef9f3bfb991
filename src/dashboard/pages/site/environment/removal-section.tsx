import { Button, Switch, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { DeleteEnvironment } from '../../../documents.ts';
import { useCommand } from '../../../lib/command.ts';
import { Confirm } from '../../../parts/confirm.tsx';
import { FaultAlert } from '../../../parts/fault-alert.tsx';
import { Section } from '../../../parts/section.tsx';
import type { EnvironmentSectionProps } from '../site-query.ts';
import classes from './removal-section.module.css';
import { useUpdate } from './use-settings.ts';

function Act({ lead, children }: { lead: string; children: ReactNode }) {
  return (
    <div className={classes.act}>
      <Text>{lead}</Text>
      {children}
    </div>
  );
}

function TakeDown({ environment, onChanged }: EnvironmentSectionProps) {
  const { t } = useTranslation('environment');
  const { name, auto_deploy } = environment;
  const { save, isRunning, fault } = useUpdate(environment.id, onChanged);
  const [isOpen, setOpen] = useState(false);
  const takeDown = async () => {
    if (await save({ published_deployment_id: null })) setOpen(false);
  };
  return (
    <Act lead={t('take_down_lead')}>
      <Button variant="outline" color="red" onClick={() => setOpen(true)}>
        {t('take_down')}
      </Button>
      {isOpen && (
        <Confirm
          title={t('take_down_title', { name })}
          action={t('take_down')}
          onConfirm={() => void takeDown()}
          onClose={() => setOpen(false)}
          isRunning={isRunning}
          fault={fault}
        >
          {t(auto_deploy ? 'take_down_until_change' : 'take_down_until_deploy')}
        </Confirm>
      )}
    </Act>
  );
}

function Deletion({ organization, project, environment }: EnvironmentSectionProps) {
  const { t } = useTranslation(['environment', 'common']);
  const navigate = useNavigate();
  const { run, isRunning, fault, reset } = useCommand(DeleteEnvironment);
  const [isOpen, setOpen] = useState(false);
  const { id, name, slug, latest_deployment: latest } = environment;
  // One that has begun after the page was read is refused at first.
  const isDeploying = (latest !== null && latest.status !== 'completed') || fault?.reason === 'in_use';
  const close = () => {
    reset();
    setOpen(false);
  };
  const remove = async () => {
    const outcome = await run({ organization, project, input: { environment: id, force: isDeploying } });
    if (outcome.fault) return;
    notifications.show({ message: t('deleted', { name }) });
    await navigate({ to: '/p/$organization/$project/site', params: { organization, project } });
  };
  return (
    <Act lead={t(environment.protected ? 'delete_protected' : 'delete_lead')}>
      <Button variant="outline" color="red" onClick={() => setOpen(true)} disabled={environment.protected}>
        {t('delete')}
      </Button>
      {isOpen && (
        <Confirm
          title={t('delete_title', { name })}
          action={t('delete')}
          onConfirm={() => void remove()}
          onClose={close}
          isRunning={isRunning}
          fault={fault}
          typed={slug}
        >
          {t('delete_lead')} {isDeploying && t('delete_deploying')}
        </Confirm>
      )}
    </Act>
  );
}

/** What takes the site away from those who see it. */
export function RemovalSection(props: EnvironmentSectionProps) {
  const { t } = useTranslation('environment');
  const { environment, onChanged } = props;
  const { save, isRunning, fault } = useUpdate(environment.id, onChanged);
  return (
    <Section title={t('removal')} tone="danger">
      <FaultAlert fault={fault} />
      {!environment.draft_preview && (
        <Switch
          label={t('protected')}
          description={t('protected_hint')}
          checked={environment.protected}
          disabled={isRunning}
          onChange={(event) => void save({ protected: event.currentTarget.checked })}
        />
      )}
      {environment.published && <TakeDown {...props} />}
      <Deletion {...props} />
    </Section>
  );
}
