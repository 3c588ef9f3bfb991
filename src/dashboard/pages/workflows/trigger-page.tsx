/** A trigger: its address and secret, how to set the other side up, and what has come in. */
import { Alert, Anchor, Button, Group, Menu, Radio, Stack, Switch, Text, Title } from '@mantine/core';
import { IconDots } from '@tabler/icons-react';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useCallback, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { DeleteTrigger, UpdateTrigger, type WebhookAuthMode } from '../../documents.ts';
import { useCommand } from '../../lib/command.ts';
import { useFormats } from '../../lib/format.ts';
import { usePageQuery } from '../../lib/page-query.ts';
import { usePlace } from '../../lib/place.ts';
import { usePolling } from '../../lib/polling.ts';
import { useCan } from '../../lib/viewer.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import { Copyable } from '../../parts/copyable.tsx';
import { FaultAlert } from '../../parts/fault-alert.tsx';
import { Section } from '../../parts/section.tsx';
import { Failure, Waiting } from '../../shell/states.tsx';
import { Deliveries, Refusals } from './deliveries.tsx';
import { SetupGuide } from './setup-guide.tsx';
import { TriggerMark } from './trigger-mark.tsx';
import { TriggerSecret } from './trigger-secret.tsx';
import classes from './workflows.module.css';
import {
  type DeliveryList,
  deliveriesQuery,
  type Trigger,
  type TriggerWorkflow,
  triggerQuery,
} from './workflows-query.ts';

interface PartProps {
  workflow: TriggerWorkflow;
  trigger: Trigger;
  refresh: () => void;
}

/** How callers prove that they know the secret. */
function AuthMode({ workflow, trigger, refresh }: PartProps) {
  const { t } = useTranslation('workflows');
  const { organization, project } = usePlace();
  const can = useCan(organization, project);
  const update = useCommand(UpdateTrigger);
  const choose = async (auth_mode: WebhookAuthMode) => {
    await update.run({ organization, project, input: { workflow: workflow.id, trigger: trigger.id, auth_mode } });
    refresh();
  };
  return (
    <>
      <FaultAlert fault={update.fault} />
      <Radio.Group
        label={t('auth_mode')}
        value={trigger.auth_mode}
        onChange={(value) => void choose(value as WebhookAuthMode)}
      >
        <Stack gap="xs" mt="xs">
          {(['secret', 'hmac'] as const).map((mode) => (
            <Radio
              key={mode}
              value={mode}
              label={t(`mode_${mode}`)}
              description={t(`mode_${mode}_hint`)}
              disabled={!can('edit_workflows') || update.isRunning}
            />
          ))}
        </Stack>
      </Radio.Group>
    </>
  );
}

function Webhook({ workflow, trigger, deliveries, refresh }: PartProps & { deliveries: DeliveryList | undefined }) {
  const { t } = useTranslation('workflows');
  return (
    <>
      <Section title={t('address')} lead={t('address_lead')}>
        <Copyable value={trigger.url ?? ''} label={t('payload_url')} />
        <AuthMode workflow={workflow} trigger={trigger} refresh={refresh} />
      </Section>
      <Section title={t('secret')} lead={t('secret_lead')}>
        <TriggerSecret workflow={workflow} trigger={trigger} deliveries={deliveries} refresh={refresh} />
      </Section>
      <Section title={t('guide')} lead={t('guide_lead')}>
        <SetupGuide trigger={trigger} />
      </Section>
    </>
  );
}

function Cron({ trigger }: { trigger: Trigger }) {
  const { t } = useTranslation('workflows');
  const { time } = useFormats();
  return (
    <Section title={t('type_cron')} lead={t('cron_hint')}>
      <Text>
        <code>{trigger.schedule_cron_string}</code> · {trigger.timezone}
      </Text>
      {trigger.next_fires.length > 0 && (
        <div>
          <Text fw={600} mb={4}>
            {t('next_fires')}
          </Text>
          {trigger.next_fires.map((at) => (
            <Text key={at}>{time(at)}</Text>
          ))}
        </div>
      )}
    </Section>
  );
}

export function TriggerPage() {
  const { t } = useTranslation(['workflows', 'common']);
  const from = '/inside/p/$organization/$project/workflows/$workflow/triggers/$trigger';
  const { organization, project } = usePlace();
  const { workflow: id, trigger: triggerId } = useParams({ from });
  const search = useSearch({ from });
  const navigate = useNavigate({ from: '/p/$organization/$project/workflows/$workflow/triggers/$trigger' });
  const can = useCan(organization, project);
  const at = { organization, project, workflow: id, trigger: triggerId };
  const { data, fault, refresh } = usePageQuery(triggerQuery(at));
  const received = usePageQuery(deliveriesQuery(at, search));
  const update = useCommand(UpdateTrigger);
  const remove = useCommand(DeleteTrigger);
  const [isDeleting, setDeleting] = useState(false);
  const workflow = data?.project?.workflow;
  const trigger = workflow?.trigger;
  const deliveries = received.data?.project?.workflow?.trigger?.deliveries;
  const { refresh: refreshDeliveries } = received;
  const refreshAll = useCallback(() => {
    refresh();
    refreshDeliveries();
  }, [refresh, refreshDeliveries]);
  // No subscription names deliveries yet.
  usePolling(trigger?.type === 'webhook', refreshAll);
  if (fault && !trigger) return <Failure fault={fault} onRetry={refresh} order={1} />;
  if (!workflow || !trigger) return <Waiting />;
  const toTriggers = {
    to: '/p/$organization/$project/workflows/$workflow',
    params: { organization, project, workflow: id },
    search: { tab: 'triggers' },
  } as const;
  const toggle = async (enabled: boolean) => {
    await update.run({ organization, project, input: { workflow: id, trigger: trigger.id, enabled } });
    refresh();
  };
  const confirmDelete = async () => {
    const outcome = await remove.run({ organization, project, input: { workflow: id, trigger: trigger.id } });
    if (!outcome.fault) await navigate(toTriggers);
  };
  const title = trigger.type === 'webhook' ? t('type_webhook') : t('type_cron');
  return (
    <>
      <Anchor
        size="sm"
        className={classes.up ?? ''}
        dir="auto"
        renderRoot={(props) => <Link {...toTriggers} {...props} />}
      >
        {workflow.name}
      </Anchor>
      <Group justify="space-between" mb="md">
        <Group gap="md">
          <Title order={1}>{title}</Title>
          <TriggerMark enabled={trigger.enabled} secret={trigger.secret_state} />
        </Group>
        <Group gap="sm">
          <Switch
            label={t('enabled')}
            checked={trigger.enabled}
            disabled={!can('edit_workflows') || update.isRunning}
            onChange={(event) => void toggle(event.currentTarget.checked)}
          />
          {can('delete_workflows') && (
            <Menu position="bottom-end">
              <Menu.Target>
                <Button variant="default" px="xs" aria-label={t('common:actions_for', { name: title })}>
                  <IconDots size={16} />
                </Button>
              </Menu.Target>
              <Menu.Dropdown>
                <Menu.Item color="var(--p-bad)" onClick={() => setDeleting(true)}>
                  {t('delete_trigger')}
                </Menu.Item>
              </Menu.Dropdown>
            </Menu>
          )}
        </Group>
      </Group>
      <FaultAlert fault={update.fault} />
      {!workflow.enabled && (
        <Alert color="yellow" mb="md">
          {t('workflow_off')}
        </Alert>
      )}
      {trigger.type === 'webhook' ? (
        <>
          <Webhook workflow={workflow} trigger={trigger} deliveries={deliveries ?? undefined} refresh={refresh} />
          <Deliveries
            workflow={id}
            trigger={trigger.id}
            deliveries={deliveries ?? undefined}
            after={search.after}
            shown={search.delivery}
            onSearch={(change) => navigate({ search: (before) => ({ ...before, ...change }) })}
            refresh={refreshAll}
          />
          <Refusals trigger={trigger} />
        </>
      ) : (
        <Cron trigger={trigger} />
      )}
      {isDeleting && (
        <Confirm
          title={t('delete_trigger')}
          action={t('common:delete')}
          onConfirm={() => void confirmDelete()}
          onClose={() => setDeleting(false)}
          isRunning={remove.isRunning}
          fault={remove.fault}
        >
          {t(trigger.type === 'webhook' ? 'delete_webhook_lead' : 'delete_cron_lead')}
        </Confirm>
      )}
    </>
  );
}
