/** A project at a glance: what needs a person, what is live, what happened. */
import { Button, Group, Stack, Text, Title } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import type { HomeQuery } from '../../documents.ts';
import { useLive } from '../../lib/live.ts';
import { usePageQuery } from '../../lib/page-query.ts';
import { usePlace } from '../../lib/place.ts';
import { usePolling } from '../../lib/polling.ts';
import { useCan } from '../../lib/viewer.tsx';
import { MarkedText } from '../../parts/marked-text.tsx';
import { OpenSite } from '../../parts/open-site.tsx';
import { Row, Rows } from '../../parts/rows.tsx';
import { VersionList } from '../../parts/version-list.tsx';
import { Failure, Notice, Waiting } from '../../shell/states.tsx';
import { DeploymentMark } from '../site/deployment-mark.tsx';
import { homeQuery } from './home-query.ts';
import { Needs } from './needs.tsx';

type Studio = NonNullable<HomeQuery['project']>['studio'];

/** Environments that are shown; the page *Site* has all. */
const mostShown = 20;

function Live({ studio }: { studio: Studio }) {
  const { t } = useTranslation(['home', 'publish']);
  const place = usePlace();
  const { organization, project } = place;
  const environments = studio.environments?.nodes.slice(0, mostShown) ?? [];
  const can = useCan(organization, project);
  const toSite = can('manage_studio') && (
    <Link to="/p/$organization/$project/site" params={{ organization, project }} search={{ new: true }}>
      {t('to_site')}
    </Link>
  );
  if (environments.length === 0)
    return (
      <Text c="dimmed">
        {t('nothing_live')} {toSite}
      </Text>
    );
  return (
    <Rows label={t('live')}>
      {environments.map(({ branch, latest_deployment, ...environment }) => (
        <Row
          key={environment.id}
          title={<MarkedText text={environment.name} />}
          marks={
            latest_deployment && (
              <DeploymentMark status={latest_deployment.status} conclusion={latest_deployment.conclusion} />
            )
          }
          detail={
            <>
              {branch && <MarkedText text={branch.name} />}
              {!latest_deployment && <> · {t('never_deployed')}</>}
            </>
          }
          actions={<OpenSite place={place} environment={environment} isPlain />}
        />
      ))}
    </Rows>
  );
}

/** A project without content says what to do first, or what is being done. */
function First({ importing }: { importing: 'under_way' | 'failed' | null }) {
  const { t } = useTranslation('home');
  const { organization, project } = usePlace();
  const params = { organization, project };
  const toImport = (text: string) => (
    <Button renderRoot={(button) => <Link to="/p/$organization/$project/settings" params={params} {...button} />}>
      {text}
    </Button>
  );
  if (importing === 'under_way')
    return (
      <Notice title={t('importing')} action={toImport(t('follow_import'))}>
        {t('importing_lead')}
      </Notice>
    );
  return (
    <Notice
      title={t(importing === 'failed' ? 'import_failed' : 'first')}
      action={
        <Group>
          {toImport(t(importing === 'failed' ? 'import_again' : 'import'))}
          <Button
            variant="default"
            renderRoot={(button) => <Link to="/p/$organization/$project/content" params={params} {...button} />}
          >
            {t('write')}
          </Button>
        </Group>
      }
    >
      {t(importing === 'failed' ? 'import_failed_lead' : 'first_lead')}
    </Notice>
  );
}

export function HomePage() {
  const { t } = useTranslation('home');
  const place = usePlace();
  const { data, fault, refresh } = usePageQuery(homeQuery(place));
  useLive(['branch', 'pull', 'deployment'], refresh);
  const found = data?.project;
  const state = found?.studio.repository?.import?.state;
  const isImporting = state === 'queued' || state === 'running';
  usePolling(isImporting, refresh);
  if (!found) return fault ? <Failure fault={fault} onRetry={refresh} order={1} /> : <Waiting />;
  const { studio } = found;
  const versions = studio.commits?.nodes ?? [];
  return (
    <Stack gap="xl">
      <Title order={1}>
        <MarkedText text={found.name ?? place.project} />
      </Title>
      {versions.length === 0 ? (
        <First importing={isImporting ? 'under_way' : state === 'failed' ? 'failed' : null} />
      ) : (
        <>
          <Stack component="section" gap="sm">
            <Title order={2}>{t('needs')}</Title>
            <Needs project={found} />
          </Stack>
          <Stack component="section" gap="sm">
            <Title order={2}>{t('live')}</Title>
            <Live studio={studio} />
          </Stack>
          <Stack component="section" gap="sm">
            <Title order={2}>{t('happened')}</Title>
            <VersionList versions={versions} collections={studio.collections?.nodes.map(({ name }) => name) ?? []} />
          </Stack>
        </>
      )}
    </Stack>
  );
}
