/** What holds for a whole project: its name, its repository, how content is published, and what was found in it. */
import { Alert, Title } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { RenameProject } from '../../documents.ts';
import { useCommand } from '../../lib/command.ts';
import { usePageQuery } from '../../lib/page-query.ts';
import { usePlace } from '../../lib/place.ts';
import { usePolling } from '../../lib/polling.ts';
import { useCan } from '../../lib/viewer.tsx';
import { NameForm } from '../../parts/name-form.tsx';
import { Section } from '../../parts/section.tsx';
import { Failure, Waiting } from '../../shell/states.tsx';
import { Deletion } from './deletion.tsx';
import { PublishingForm } from './publishing-form.tsx';
import { RepositorySection } from './repository-section.tsx';
import { RoutesSection } from './routes-section.tsx';
import { SchemasSection } from './schemas-section.tsx';
import { settingsQuery } from './settings-query.ts';

export function SettingsPage() {
  const { t } = useTranslation('settings');
  const { organization, project } = usePlace();
  const place = { organization, project };
  const can = useCan(organization, project);
  const { data, fault, refresh } = usePageQuery(settingsQuery(place));
  const rename = useCommand(RenameProject);
  const found = data?.project;
  const repository = found?.studio.repository;
  const importing = repository?.import?.state;
  usePolling(importing === 'queued' || importing === 'running', refresh);
  if (!found || !repository)
    return fault ? <Failure fault={fault} onRetry={refresh} order={1} /> : <Waiting rows={12} />;
  const shared = { place, repository, onChanged: refresh };
  const branches = found.studio.branches?.nodes.map(({ name }) => name) ?? [];
  return (
    <>
      <Title order={1} mb="lg">
        {t('title')}
      </Title>
      {!can('manage_studio') && (
        <Alert mb="lg" color="yellow">
          {t('read_only')}
        </Alert>
      )}
      {can('manage_organization') && (
        <Section title={t('name')} lead={t('name_lead')}>
          <NameForm
            key={found.name}
            before={found.name ?? ''}
            {...rename}
            onSave={(name) => rename.run({ ...place, input: { name } })}
          />
        </Section>
      )}
      <Section title={t('repository')} lead={t('repository_lead')}>
        <RepositorySection {...shared} isEmpty={branches.length === 0} />
      </Section>
      {branches.length > 0 && (
        <>
          <Section title={t('publishing')} lead={t('publishing_lead')}>
            <PublishingForm {...shared} branches={branches} roots={found.studio.content_roots?.nodes ?? []} />
          </Section>
          <Section title={t('schemas')} lead={t('schemas_lead')}>
            <SchemasSection {...shared} schemas={found.studio.schemas?.nodes ?? []} />
          </Section>
          <Section title={t('routes')} lead={t('routes_lead')}>
            <RoutesSection
              {...shared}
              collections={(found.studio.schemas?.nodes ?? []).map(({ collection }) => collection)}
            />
          </Section>
        </>
      )}
      {can('manage_organization') && (
        <Section title={t('danger')} tone="danger">
          <Deletion place={place} name={found.name ?? project} />
        </Section>
      )}
    </>
  );
}
