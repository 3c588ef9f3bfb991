import { Alert, Button, Progress, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { CancelImport, RemoveRemote, SyncRepository } from '../../documents.ts';
import { useCommand } from '../../lib/command.ts';
import { useFormats } from '../../lib/format.ts';
import { useCan } from '../../lib/viewer.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import { Copyable } from '../../parts/copyable.tsx';
import { FaultAlert } from '../../parts/fault-alert.tsx';
import { Mark } from '../../parts/mark.tsx';
import { Row, Rows } from '../../parts/rows.tsx';
import { ImportForm } from './import-form.tsx';
import type { Repository, SectionProps } from './settings-query.ts';

/** How far an import is, or how it ended. */
function Importing({
  importing,
  place,
  onChanged,
}: { importing: NonNullable<Repository['import']> } & Omit<SectionProps, 'repository'>) {
  const { t } = useTranslation(['settings', 'common']);
  const { number } = useFormats();
  const can = useCan(place.organization, place.project);
  const cancel = useCommand(CancelImport);
  const { state, url, message, received_objects, total_objects } = importing;
  if (state === 'failed')
    return (
      <Alert color="red" role="alert" title={t('import_failed_title', { url })}>
        {message}
      </Alert>
    );
  if (state === 'completed') return message && <Alert color="yellow">{message}</Alert>;
  const isCounted = total_objects > 0;
  return (
    <div>
      <Text mb={4}>{t('importing', { url })}</Text>
      <Progress
        value={isCounted ? (received_objects / total_objects) * 100 : 100}
        animated={!isCounted}
        aria-label={t('importing', { url })}
      />
      <Text size="sm" c="dimmed" mt={4}>
        {isCounted
          ? t('import_objects', { received: number(received_objects), total: number(total_objects) })
          : t(state === 'queued' ? 'import_queued' : 'import_begun')}
      </Text>
      <FaultAlert fault={cancel.fault} />
      {can('manage_studio') && (
        <Button
          variant="default"
          size="xs"
          mt="xs"
          loading={cancel.isRunning}
          onClick={() => cancel.run(place).then(onChanged)}
        >
          {t('common:cancel')}
        </Button>
      )}
    </div>
  );
}

const tones = { in_sync: 'good', pending: 'warn', diverged: 'bad', error: 'bad' } as const;

/** The repository elsewhere that this one follows and is pushed to. */
function Mirror({ place, repository, onChanged }: SectionProps) {
  const { t } = useTranslation('settings');
  const { ago } = useFormats();
  const can = useCan(place.organization, place.project);
  const [isLeaving, setLeaving] = useState(false);
  const sync = useCommand(SyncRepository);
  const leave = useCommand(RemoveRemote);
  const { upstream, sync: standing, diverged } = repository;
  if (!upstream) return null;
  const synchronise = async () => {
    const { data } = await sync.run(place);
    if (data) notifications.show({ message: t(`sync_${data.syncRepository?.state ?? 'pending'}`) });
    onChanged();
  };
  const stop = async () => {
    const { fault } = await leave.run(place);
    if (fault) return;
    setLeaving(false);
    onChanged();
  };
  return (
    <>
      <FaultAlert fault={sync.fault} />
      <Rows label={t('mirror')}>
        <Row
          title={upstream.url}
          marks={standing && <Mark tone={tones[standing.state]}>{t(`sync_${standing.state}`)}</Mark>}
          detail={[
            standing?.message,
            standing?.last_fetched_at && t('fetched', { when: ago(standing.last_fetched_at) }),
            standing?.last_pushed_at && t('pushed', { when: ago(standing.last_pushed_at) }),
            t(`push_${upstream.push}`),
          ]
            .filter(Boolean)
            .join(' · ')}
          actions={
            can('edit_studio') && (
              <Button variant="default" size="xs" loading={sync.isRunning} onClick={synchronise}>
                {t('sync_now')}
              </Button>
            )
          }
        />
        {diverged.map(({ branch, message, conflicts }) => (
          <Row
            key={branch}
            title={branch}
            marks={<Mark tone="bad">{t('conflicts', { count: conflicts.length })}</Mark>}
            detail={[message, ...conflicts.map(({ path }) => path)].join(' · ')}
          />
        ))}
      </Rows>
      <Copyable label={t('hook_url')} value={upstream.hook_url} />
      {can('manage_studio') && (
        <div>
          <Button variant="default" onClick={() => setLeaving(true)}>
            {t('stop_mirror')}
          </Button>
        </div>
      )}
      {isLeaving && (
        <Confirm
          title={t('stop_mirror_title')}
          action={t('stop_mirror')}
          onConfirm={stop}
          onClose={() => setLeaving(false)}
          isRunning={leave.isRunning}
          fault={leave.fault}
        >
          {t('stop_mirror_lead', { url: upstream.url })}
        </Confirm>
      )}
    </>
  );
}

export function RepositorySection({ isEmpty, ...shared }: SectionProps & { isEmpty: boolean }) {
  const { t } = useTranslation('settings');
  const { organization, project } = shared.place;
  const can = useCan(organization, project);
  const { clone_url, import: importing } = shared.repository;
  const isUnderWay = importing?.state === 'queued' || importing?.state === 'running';
  return (
    <>
      <Copyable label={t('clone_url')} hint={t('clone_hint')} value={clone_url} />
      {importing && <Importing importing={importing} {...shared} />}
      <Mirror {...shared} />
      {isEmpty && can('manage_studio') && (
        // It keeps what was filled in, for another try.
        <div hidden={isUnderWay}>
          <ImportForm {...shared} />
        </div>
      )}
    </>
  );
}
