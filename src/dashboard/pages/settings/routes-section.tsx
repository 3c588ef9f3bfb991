import { Button, Group, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { DetectRoutes, type DetectRoutesMutation } from '../../documents.ts';
import { useCommand } from '../../lib/command.ts';
import { useCan } from '../../lib/viewer.tsx';
import { FaultAlert } from '../../parts/fault-alert.tsx';
import { Row, Rows } from '../../parts/rows.tsx';
import { Warnings } from '../../parts/warnings.tsx';
import type { SectionProps } from './settings-query.ts';

type Detected = NonNullable<DetectRoutesMutation['detectRoutePatterns']>;

/** At which addresses entries are published: what is saved, and what the site's own configuration says. */
export function RoutesSection({ place, repository, onChanged }: SectionProps) {
  const { t } = useTranslation('settings');
  const can = useCan(place.organization, place.project);
  const [detected, setDetected] = useState<Detected | null>(null);
  const { run, isRunning, fault } = useCommand(DetectRoutes);
  const detect = async (save: boolean) => {
    const { data } = await run({ ...place, input: { save } });
    const found = data?.detectRoutePatterns;
    if (!found) return;
    if (!save) return setDetected(found);
    setDetected(null);
    notifications.show({ message: t('routes_saved') });
    onChanged();
  };
  const patterns = detected?.patterns ?? repository.route_patterns ?? [];
  const framework = detected?.framework;
  return (
    <>
      <FaultAlert fault={fault} />
      {detected && (
        <Text role="status">
          {framework ? t('framework', { name: framework.id, version: framework.version ?? '' }) : t('no_framework')}
        </Text>
      )}
      {patterns.length === 0 && <Text c="dimmed">{t(detected ? 'no_routes_found' : 'no_routes')}</Text>}
      {patterns.length > 0 && (
        <Rows label={t('routes')}>
          {patterns.map(({ collection, url_pattern, locale }) => (
            <Row
              key={`${collection} ${url_pattern} ${locale}`}
              title={<code>{url_pattern}</code>}
              detail={[collection, locale].filter(Boolean).join(' · ')}
            />
          ))}
        </Rows>
      )}
      <Warnings warnings={detected?.warnings ?? []} />
      {can('manage_studio') && (
        <Group gap="xs">
          <Button variant="default" loading={isRunning} onClick={() => detect(false)}>
            {t('detect')}
          </Button>
          {detected && detected.patterns.length > 0 && (
            <>
              <Button loading={isRunning} onClick={() => detect(true)}>
                {t('keep_routes')}
              </Button>
              <Button variant="subtle" onClick={() => setDetected(null)}>
                {t('discard_routes')}
              </Button>
            </>
          )}
        </Group>
      )}
    </>
  );
}
