import { Button, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useTranslation } from 'react-i18next';
import { type ProjectSettingsQuery, RefreshSchemas } from '../../documents.ts';
import { useCommand } from '../../lib/command.ts';
import { useCan } from '../../lib/viewer.tsx';
import { FaultAlert } from '../../parts/fault-alert.tsx';
import { Mark } from '../../parts/mark.tsx';
import { Row, Rows } from '../../parts/rows.tsx';
import { Warnings } from '../../parts/warnings.tsx';
import type { SectionProps } from './settings-query.ts';

type Schema = NonNullable<
  NonNullable<NonNullable<ProjectSettingsQuery['project']>['studio']['schemas']>['nodes'][number]
>;

/** Collections, and where the shape of their entries is known from. */
export function SchemasSection({ place, schemas, onChanged }: SectionProps & { schemas: readonly Schema[] }) {
  const { t } = useTranslation('settings');
  const can = useCan(place.organization, place.project);
  const { run, isRunning, fault } = useCommand(RefreshSchemas);
  const refresh = async () => {
    const { data } = await run(place);
    const found = data?.refreshSchemas;
    if (!found) return;
    const count = found.added.length + found.changed.length + found.removed.length;
    notifications.show({ message: count === 0 ? t('schemas_same') : t('schemas_changed', { count }) });
    onChanged();
  };
  return (
    <>
      <FaultAlert fault={fault} />
      {schemas.length === 0 && <Text c="dimmed">{t('no_schemas')}</Text>}
      {schemas.length > 0 && (
        <Rows label={t('schemas')}>
          {schemas.map(({ collection, label, path, inferred, source, url_pattern }) => (
            <Row
              key={collection}
              title={label}
              marks={inferred ? <Mark tone="warn">{t('inferred')}</Mark> : <Mark>{t(`source_${source.kind}`)}</Mark>}
              detail={
                <>
                  <code>{inferred ? path : source.line === null ? source.path : `${source.path}:${source.line}`}</code>
                  {url_pattern && (
                    <>
                      {' · '}
                      <code>{url_pattern}</code>
                    </>
                  )}
                </>
              }
            />
          ))}
        </Rows>
      )}
      <Warnings warnings={schemas.flatMap(({ warnings }) => warnings)} />
      {can('edit_studio') && (
        <div>
          <Button variant="default" loading={isRunning} onClick={refresh}>
            {t('read_again')}
          </Button>
        </div>
      )}
    </>
  );
}
