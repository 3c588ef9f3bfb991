/** The calls a webhook has accepted, as they arrive, and how many it has refused. */
import { Button, Drawer, Group, Stack, Text, Title } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useQuery } from 'urql';
import { Delivery, type DeliveryQuery, Redeliver, type WorkflowDeliveryOutcome } from '../../documents.ts';
import { useCommand } from '../../lib/command.ts';
import { faultOf } from '../../lib/faults.ts';
import { useFormats } from '../../lib/format.ts';
import { usePlace } from '../../lib/place.ts';
import { useCan } from '../../lib/viewer.tsx';
import { Facts } from '../../parts/facts.tsx';
import { FaultAlert } from '../../parts/fault-alert.tsx';
import { List, ListRow } from '../../parts/list.tsx';
import { Pager } from '../../parts/pager.tsx';
import { Section } from '../../parts/section.tsx';
import { StateMark, type Tone } from '../../parts/state-mark.tsx';
import { Waiting } from '../../shell/states.tsx';
import { ExecutionMark } from './execution-mark.tsx';
import classes from './workflows.module.css';
import type { DeliveryList, Trigger } from './workflows-query.ts';

type OneDelivery = NonNullable<
  NonNullable<NonNullable<NonNullable<DeliveryQuery['project']>['workflow']>['trigger']>['delivery']
>;

const tones: Record<WorkflowDeliveryOutcome, Tone> = { accepted: 'good', duplicate: 'quiet', redelivery: 'running' };

function DeliveryFacts({ delivery }: { delivery: OneDelivery }) {
  const { t } = useTranslation('workflows');
  const { time, bytes } = useFormats();
  const { execution } = delivery;
  return (
    <Facts>
      <dt>{t('received')}</dt>
      <dd>{time(delivery.received_at)}</dd>
      <dt>{t('result')}</dt>
      <dd>
        <StateMark tone={tones[delivery.outcome]}>{t(`outcome_${delivery.outcome}`)}</StateMark>
      </dd>
      {execution && (
        <>
          <dt>{t('execution')}</dt>
          <dd>
            <ExecutionMark status={execution.status} outcome={execution.outcome} />
            <Text size="sm" c="dimmed">
              <code>{execution.id}</code>
            </Text>
            {execution.error && <Text size="sm">{execution.error.message}</Text>}
          </dd>
        </>
      )}
      <dt>{t('delivery_name')}</dt>
      <dd>{delivery.delivery_id ?? '–'}</dd>
      <dt>{t('proof')}</dt>
      <dd>{t('proof_of', { mode: delivery.auth.mode, version: delivery.auth.secret_version })}</dd>
      <dt>{t('size')}</dt>
      <dd>{bytes(delivery.raw_size)}</dd>
      <dt>SHA-256</dt>
      <dd>
        <code>{delivery.raw_sha256}</code>
      </dd>
    </Facts>
  );
}

/** A body as text: JSON with its lines, other text as it came. */
function bodyText(delivery: OneDelivery): string | null {
  if (delivery.body !== null && typeof delivery.body === 'object') return JSON.stringify(delivery.body, null, 2);
  return delivery.raw;
}

interface OneProps {
  at: { organization: string; project: string; workflow: string; trigger: string; delivery: string };
  onSent: () => void;
}

function DeliveryDetails({ at, onSent }: OneProps) {
  const { t } = useTranslation('workflows');
  const can = useCan(at.organization, at.project);
  const [{ data, error }] = useQuery({ query: Delivery, variables: at, requestPolicy: 'cache-and-network' });
  const redeliver = useCommand(Redeliver);
  const [sent, setSent] = useState<string | null>(null);
  const delivery = data?.project?.workflow?.trigger?.delivery;
  if (!delivery) return error ? <FaultAlert fault={faultOf(error)} /> : <Waiting />;
  const sendAgain = async () => {
    const { organization, project, workflow, trigger } = at;
    const input = { workflow, trigger, delivery: delivery.id };
    const { data } = await redeliver.run({ organization, project, input });
    setSent(data?.redeliver?.execution_id ?? null);
    onSent();
  };
  const body = bodyText(delivery);
  return (
    <Stack gap="lg">
      <FaultAlert fault={redeliver.fault} />
      <DeliveryFacts delivery={delivery} />
      {can('edit_workflows') && (
        <Group gap="sm">
          <Button
            variant="default"
            onClick={() => void sendAgain()}
            loading={redeliver.isRunning}
            disabled={delivery.has_expired}
          >
            {t('send_again')}
          </Button>
          <Text size="sm" c="dimmed" role="status">
            {delivery.has_expired ? t('bytes_expired') : sent !== null && t('sent_again', { id: sent })}
          </Text>
        </Group>
      )}
      <section aria-label={t('headers')}>
        <Title order={3} mb="xs">
          {t('headers')}
        </Title>
        <Facts>
          {Object.entries(delivery.headers as Record<string, string>).map(([name, value]) => (
            <div key={name} style={{ display: 'contents' }}>
              <dt>
                <code>{name}</code>
              </dt>
              <dd>
                <code>{String(value)}</code>
              </dd>
            </div>
          ))}
        </Facts>
      </section>
      <section aria-label={t('body')}>
        <Title order={3} mb="xs">
          {t('body')}
        </Title>
        {delivery.body_note && <Text size="sm">{delivery.body_note}</Text>}
        {delivery.body_error && (
          <Text size="sm" c="var(--p-bad)">
            {delivery.body_error.message}
          </Text>
        )}
        {body === null || body === '' ? (
          <Text c="dimmed">{t(delivery.has_expired ? 'bytes_expired' : 'no_body')}</Text>
        ) : (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: it can be scrolled by keyboard only when it can have the focus
          <pre className={classes.body} tabIndex={0}>
            {body}
          </pre>
        )}
      </section>
    </Stack>
  );
}

interface DeliveriesProps {
  workflow: string;
  trigger: string;
  deliveries: DeliveryList | undefined;
  after: string | undefined;
  /** Id of the one that is open. */
  shown: string | undefined;
  onSearch: (change: { after?: string | undefined; delivery?: string | undefined }) => void;
  refresh: () => void;
}

export function Deliveries({ workflow, trigger, deliveries, after, shown, onSearch, refresh }: DeliveriesProps) {
  const { t } = useTranslation(['workflows', 'common']);
  const { organization, project } = usePlace();
  const { ago, bytes } = useFormats();
  return (
    <section aria-labelledby="deliveries">
      <Title order={2} id="deliveries" mb="sm">
        {t('deliveries')}
      </Title>
      {!deliveries && <Waiting />}
      {deliveries?.total_count === 0 && <Text c="dimmed">{t('no_deliveries')}</Text>}
      {deliveries && deliveries.nodes.length > 0 && (
        <>
          <List
            label={t('deliveries')}
            columns={[t('event'), t('result'), t('received'), t('size'), ` ${t('actions')}`]}
          >
            {deliveries.nodes.map((delivery) => (
              <ListRow
                key={delivery.id}
                cells={[
                  <Text key="event" fw={600} dir="auto">
                    {delivery.event ?? delivery.method}
                  </Text>,
                  <StateMark key="outcome" tone={tones[delivery.outcome]}>
                    {t(`outcome_${delivery.outcome}`)}
                  </StateMark>,
                  ago(delivery.received_at),
                  bytes(delivery.raw_size),
                  <Group key="actions" justify="flex-end">
                    <Button
                      size="compact-sm"
                      variant="default"
                      onClick={() => onSearch({ delivery: delivery.id })}
                      aria-label={t('show_delivery', { name: delivery.event ?? delivery.method })}
                    >
                      {t('show')}
                    </Button>
                  </Group>,
                ]}
              />
            ))}
          </List>
          <Pager
            total={deliveries.total_count}
            after={after}
            page={deliveries.page_info}
            onGo={(next) => onSearch({ after: next })}
          />
        </>
      )}
      <Drawer.Root
        opened={shown !== undefined}
        onClose={() => onSearch({ delivery: undefined })}
        position="right"
        size={640}
      >
        <Drawer.Overlay />
        <Drawer.Content>
          <Drawer.Body pt="md">
            <Group justify="space-between" mb="md">
              <Drawer.Title>{t('delivery')}</Drawer.Title>
              <Drawer.CloseButton aria-label={t('common:close')} />
            </Group>
            {shown !== undefined && (
              <DeliveryDetails
                key={shown}
                at={{ organization, project, workflow, trigger, delivery: shown }}
                onSent={refresh}
              />
            )}
          </Drawer.Body>
        </Drawer.Content>
      </Drawer.Root>
    </section>
  );
}

/** Calls that started nothing, by reason, and the newest of them. */
export function Refusals({ trigger }: { trigger: Trigger }) {
  const { t } = useTranslation('workflows');
  const { ago } = useFormats();
  if (trigger.refusals.length === 0) return null;
  return (
    <Section title={t('refused')} lead={t('refused_lead')}>
      <Facts>
        {trigger.refusals.map(({ reason, count }) => (
          <div key={reason} style={{ display: 'contents' }}>
            <dt>{t(`refused_${reason}`)}</dt>
            <dd>{count}</dd>
          </div>
        ))}
      </Facts>
      <List label={t('latest_refusals')} columns={[t('reason'), t('method'), t('caller'), t('received')]}>
        {trigger.latest_refusals.map(({ at, reason, method, address }) => (
          <ListRow key={at} cells={[t(`refused_${reason}`), method, <bdi key="by">{address ?? '–'}</bdi>, ago(at)]} />
        ))}
      </List>
    </Section>
  );
}
