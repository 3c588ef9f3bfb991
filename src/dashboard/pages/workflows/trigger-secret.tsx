/** The secret of a webhook: to see it (Reveal) and to replace it (Rotate), with what that breaks. */
import { Alert, Button, Group, List, Modal, Select, Stack, Text } from '@mantine/core';
import { IconEye, IconEyeOff, IconRefresh } from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { RevealTriggerSecret, RevokeTriggerSecret, RotateTriggerSecret } from '../../documents.ts';
import { useCommand } from '../../lib/command.ts';
import { useFormats } from '../../lib/format.ts';
import { usePlace } from '../../lib/place.ts';
import { useCan } from '../../lib/viewer.tsx';
import { CommandForm } from '../../parts/command-form.tsx';
import { Copyable } from '../../parts/copyable.tsx';
import { FaultAlert } from '../../parts/fault-alert.tsx';
import type { DeliveryList, Trigger } from './workflows-query.ts';

/** Milliseconds after which a secret is hidden again. */
const shownFor = 60_000;

/** Seconds for which the previous secret stays good. */
const graces = ['0', '3600', '86400', '604800'] as const;

interface RotateProps {
  workflow: { id: string; name: string };
  trigger: Trigger;
  /** The newest. */
  deliveries: DeliveryList | undefined;
  onClose: () => void;
  onDone: (secret: string) => void;
}

function Rotate({ workflow, trigger, deliveries, onClose, onDone }: RotateProps) {
  const { t } = useTranslation('workflows');
  const { organization, project } = usePlace();
  const { ago } = useFormats();
  const rotate = useCommand(RotateTriggerSecret);
  const [grace, setGrace] = useState<string>('0');
  const events = [...new Set(deliveries?.nodes.map(({ event }) => event).filter((event) => event !== null))];
  const submit = async () => {
    const input = { workflow: workflow.id, trigger: trigger.id, grace_period_seconds: Number(grace) };
    const { data } = await rotate.run({ organization, project, input });
    const secret = data?.rotateTriggerSecret?.secret;
    if (secret !== undefined) onDone(secret);
  };
  return (
    <Modal opened onClose={onClose} title={t('rotate_title')} size="lg">
      <CommandForm
        submit={t('rotate')}
        onSubmit={() => void submit()}
        isRunning={rotate.isRunning}
        fault={rotate.fault}
        onCancel={onClose}
      >
        <Text>{t(grace === '0' ? 'rotate_breaks_now' : 'rotate_breaks_later')}</Text>
        <List size="sm" spacing={4}>
          <List.Item>{t('rotate_breaks_senders', { url: trigger.url ?? '' })}</List.Item>
          <List.Item>{t('rotate_breaks_workflow', { name: workflow.name })}</List.Item>
        </List>
        <Text size="sm" c="dimmed">
          {trigger.last_delivery_at
            ? t('rotate_last', { when: ago(trigger.last_delivery_at) })
            : t('rotate_no_delivery')}
          {events.length > 0 && ` ${t('rotate_events', { events: events.join(', ') })}`}
        </Text>
        <Select
          label={t('grace')}
          description={t('grace_hint')}
          data={graces.map((value) => ({ value, label: t(`grace_${value}`) }))}
          value={grace}
          onChange={(value) => setGrace(value ?? '0')}
        />
      </CommandForm>
    </Modal>
  );
}

interface SecretProps {
  workflow: { id: string; name: string };
  trigger: Trigger;
  /** The newest. */
  deliveries: DeliveryList | undefined;
  refresh: () => void;
}

export function TriggerSecret({ workflow, trigger, deliveries, refresh }: SecretProps) {
  const { t } = useTranslation('workflows');
  const { organization, project } = usePlace();
  const { ago, time } = useFormats();
  const can = useCan(organization, project);
  const reveal = useCommand(RevealTriggerSecret);
  const revoke = useCommand(RevokeTriggerSecret);
  const [secret, setSecret] = useState<string | null>(null);
  const [isNew, setNew] = useState(false);
  const [isRotating, setRotating] = useState(false);
  useEffect(() => {
    if (secret === null) return;
    const timer = setTimeout(() => setSecret(null), shownFor);
    return () => clearTimeout(timer);
  }, [secret]);

  const show = async () => {
    const { data } = await reveal.run({ organization, project, input: { workflow: workflow.id, trigger: trigger.id } });
    setNew(false);
    setSecret(data?.revealTriggerSecret?.secret ?? null);
  };
  const hide = () => setSecret(null);
  const endGrace = async () => {
    const input = { workflow: workflow.id, trigger: trigger.id, which: 'previous' as const };
    await revoke.run({ organization, project, input });
    refresh();
  };
  if (!can('manage_workflows')) return <Text c="dimmed">{t('secret_of_managers')}</Text>;
  const hasSecret = trigger.secret_state === 'set' || trigger.secret_state === 'grace';
  return (
    <Stack gap="sm">
      <FaultAlert fault={reveal.fault ?? revoke.fault} />
      {isNew && secret !== null && (
        <Text size="sm" role="status">
          {t('rotated')}
        </Text>
      )}
      {secret !== null && <Copyable value={secret} label={t('secret')} />}
      <Group gap="xs">
        {secret !== null ? (
          <Button variant="default" leftSection={<IconEyeOff size={16} />} onClick={hide}>
            {t('hide')}
          </Button>
        ) : (
          <Button
            variant="default"
            leftSection={<IconEye size={16} />}
            onClick={() => void show()}
            loading={reveal.isRunning}
            disabled={!hasSecret}
          >
            {t('reveal')}
          </Button>
        )}
        <Button variant="default" leftSection={<IconRefresh size={16} />} onClick={() => setRotating(true)}>
          {t('rotate')}
        </Button>
      </Group>
      {trigger.secret_state === 'grace' && trigger.previous_secret_expires_at && (
        <Alert color="yellow">
          <Text size="sm">
            {t('grace_until', { time: time(trigger.previous_secret_expires_at) })}{' '}
            {trigger.previous_secret_last_used_at
              ? t('grace_used', { when: ago(trigger.previous_secret_last_used_at) })
              : t('grace_unused')}
          </Text>
          <Button mt="xs" size="xs" variant="default" onClick={() => void endGrace()} loading={revoke.isRunning}>
            {t('end_grace')}
          </Button>
        </Alert>
      )}
      {trigger.secret_state === 'revoked' && <Alert color="red">{t('secret_revoked_lead')}</Alert>}
      {trigger.secret_state === 'unreadable' && <Alert color="red">{t('secret_unreadable_lead')}</Alert>}
      {isRotating && (
        <Rotate
          workflow={workflow}
          trigger={trigger}
          deliveries={deliveries}
          onClose={() => setRotating(false)}
          onDone={(made) => {
            setRotating(false);
            setNew(true);
            setSecret(made);
            refresh();
          }}
        />
      )}
    </Stack>
  );
}
