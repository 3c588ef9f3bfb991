/** What starts a workflow: a call from outside, or the clock. */
import { Button, Group, Modal, Radio, Stack, TextInput } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { CreateTrigger, type WebhookAuthMode, type WorkflowTriggerType } from '../../documents.ts';
import { useCommand } from '../../lib/command.ts';
import { useFormats } from '../../lib/format.ts';
import { usePlace } from '../../lib/place.ts';
import { useCan } from '../../lib/viewer.tsx';
import { CommandForm } from '../../parts/command-form.tsx';
import { List, ListRow } from '../../parts/list.tsx';
import { Notice, Waiting } from '../../shell/states.tsx';
import { TriggerMark } from './trigger-mark.tsx';
import type { WorkflowTabProps } from './workflows-query.ts';

interface NewTriggerProps {
  workflow: string;
  /** The address names the workflow, so there is one webhook at most. */
  hasWebhook: boolean;
  onClose: () => void;
  onDone: (trigger: string) => void;
}

function NewTrigger({ workflow, hasWebhook, onClose, onDone }: NewTriggerProps) {
  const { t } = useTranslation('workflows');
  const { organization, project } = usePlace();
  const create = useCommand(CreateTrigger);
  const [type, setType] = useState<WorkflowTriggerType>(hasWebhook ? 'cron' : 'webhook');
  const [mode, setMode] = useState<WebhookAuthMode>('secret');
  const [cron, setCron] = useState('0 6 * * *');
  const [timezone, setTimezone] = useState(Intl.DateTimeFormat().resolvedOptions().timeZone);
  const { fault } = create;
  const submit = async () => {
    const settings = type === 'webhook' ? { auth_mode: mode } : { schedule_cron_string: cron, timezone };
    const { data } = await create.run({ organization, project, input: { workflow, type, ...settings } });
    const id = data?.createTrigger?.id;
    if (id !== undefined) onDone(id);
  };
  return (
    <Modal opened onClose={onClose} title={t('new_trigger')} size="lg">
      <CommandForm
        submit={t('create')}
        onSubmit={() => void submit()}
        isRunning={create.isRunning}
        fault={fault}
        beside={['/schedule_cron_string', '/timezone']}
        onCancel={onClose}
      >
        <Radio.Group label={t('trigger_type')} value={type} onChange={(value) => setType(value as WorkflowTriggerType)}>
          <Stack gap="xs" mt="xs">
            <Radio
              value="webhook"
              label={t('type_webhook')}
              description={t(hasWebhook ? 'webhook_taken' : 'webhook_hint')}
              disabled={hasWebhook}
            />
            <Radio value="cron" label={t('type_cron')} description={t('cron_hint')} />
          </Stack>
        </Radio.Group>
        {type === 'webhook' ? (
          <Radio.Group label={t('auth_mode')} value={mode} onChange={(value) => setMode(value as WebhookAuthMode)}>
            <Stack gap="xs" mt="xs">
              <Radio value="secret" label={t('mode_secret')} description={t('mode_secret_hint')} />
              <Radio value="hmac" label={t('mode_hmac')} description={t('mode_hmac_hint')} />
            </Stack>
          </Radio.Group>
        ) : (
          <>
            <TextInput
              label={t('cron')}
              description={t('cron_fields')}
              value={cron}
              onChange={(event) => setCron(event.currentTarget.value)}
              error={fault?.fields.get('/schedule_cron_string')}
              spellCheck={false}
            />
            <TextInput
              label={t('time_zone')}
              value={timezone}
              onChange={(event) => setTimezone(event.currentTarget.value)}
              error={fault?.fields.get('/timezone')}
              spellCheck={false}
            />
          </>
        )}
      </CommandForm>
    </Modal>
  );
}

export function TriggersTab({ workflow, refresh }: WorkflowTabProps) {
  const { t } = useTranslation('workflows');
  const { organization, project } = usePlace();
  const { ago, time } = useFormats();
  const navigate = useNavigate();
  const can = useCan(organization, project);
  const [isAdding, setAdding] = useState(false);
  const triggers = workflow.triggers?.nodes;
  if (!triggers) return <Waiting />;
  const place = { organization, project, workflow: workflow.id };
  const add = can('edit_workflows') && (
    <Button leftSection={<IconPlus size={16} />} onClick={() => setAdding(true)}>
      {t('new_trigger')}
    </Button>
  );
  return (
    <>
      {triggers.length === 0 ? (
        <Notice title={t('no_triggers')} action={add}>
          {t('no_triggers_lead')}
        </Notice>
      ) : (
        <>
          <Group justify="flex-end" mb="sm">
            {add}
          </Group>
          <List
            label={t('tab_triggers')}
            columns={[t('trigger'), t('mode'), t('state'), t('last_delivery'), t('refused')]}
          >
            {triggers.map((trigger) => (
              <ListRow
                key={trigger.id}
                cells={[
                  <Link
                    key="trigger"
                    to="/p/$organization/$project/workflows/$workflow/triggers/$trigger"
                    params={{ ...place, trigger: trigger.id }}
                  >
                    {trigger.type === 'webhook' ? t('type_webhook') : trigger.schedule_cron_string}
                  </Link>,
                  trigger.auth_mode ?? trigger.timezone,
                  <TriggerMark key="state" enabled={trigger.enabled} secret={trigger.secret_state} />,
                  trigger.type === 'webhook'
                    ? trigger.last_delivery_at
                      ? ago(trigger.last_delivery_at)
                      : t('never')
                    : trigger.next_fires[0]
                      ? t('next_fire', { time: time(trigger.next_fires[0]) })
                      : '–',
                  trigger.refusals.reduce((sum, { count }) => sum + count, 0),
                ]}
              />
            ))}
          </List>
        </>
      )}
      {isAdding && (
        <NewTrigger
          workflow={workflow.id}
          hasWebhook={triggers.some(({ type }) => type === 'webhook')}
          onClose={() => setAdding(false)}
          onDone={(trigger) => {
            refresh();
            void navigate({
              to: '/p/$organization/$project/workflows/$workflow/triggers/$trigger',
              params: { ...place, trigger },
            });
          }}
        />
      )}
    </>
  );
}
