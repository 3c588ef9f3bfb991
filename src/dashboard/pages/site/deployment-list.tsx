import { Group } from '@mantine/core';
import { Link, useNavigate } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import type { ShownEnvironmentFragment, SiteQuery } from '../../documents.ts';
import { useFormats } from '../../lib/format.ts';
import { usePlace } from '../../lib/place.ts';
import { List, ListRow } from '../../parts/list.tsx';
import { Mark } from '../../parts/mark.tsx';
import { MarkedText } from '../../parts/marked-text.tsx';
import { Pager } from '../../parts/pager.tsx';
import { DeploymentMark } from './deployment-mark.tsx';
import { MakeLive } from './make-live.tsx';
import classes from './site.module.css';

interface DeploymentListProps {
  /** A page of them. */
  deployments: NonNullable<NonNullable<SiteQuery['project']>['studio']['deployments']>;
  /** Cursor of that page. */
  after: string | undefined;
  /** Of these, or of this one alone, which is not named in each row then. */
  environments: readonly ShownEnvironmentFragment[] | ShownEnvironmentFragment;
}

/** Deployments, the newest first: which is live, and which can be made so. */
export function DeploymentList({ deployments, after, environments }: DeploymentListProps) {
  const { t } = useTranslation('site');
  const { organization, project } = usePlace();
  const navigate = useNavigate();
  const { ago, duration, time } = useFormats();
  const isOfOne = 'id' in environments;
  const all = isOfOne ? [environments] : environments;
  const columns = [
    t('version'),
    ...(isOfOne ? [] : [t('environment')]),
    ...[t('state'), t('took'), t('begun'), ` ${t('actions')}`],
  ];
  return (
    <>
      <List label={t('deployments')} columns={columns}>
        {deployments.nodes.map((deployment) => {
          const environment = all.find(({ id }) => id === deployment.environment?.id);
          return (
            <ListRow
              key={deployment.id}
              cells={[
                <Link
                  key="version"
                  to="/p/$organization/$project/site/deployments/$deployment"
                  params={{ organization, project, deployment: String(deployment.id) }}
                >
                  <span className={classes.clamp}>
                    #{deployment.run_number} <MarkedText text={deployment.title} />
                  </span>
                </Link>,
                ...(isOfOne ? [] : [<MarkedText key="environment" text={deployment.environment?.name ?? ''} />]),
                <DeploymentMark key="state" status={deployment.status} conclusion={deployment.conclusion} />,
                deployment.duration_ms === null ? '–' : duration(deployment.duration_ms),
                <span key="begun" title={time(deployment.created_at)}>
                  {ago(deployment.created_at)}
                  {deployment.commit && (
                    <>
                      {' · '}
                      <MarkedText text={deployment.commit.author.name} />
                    </>
                  )}
                </span>,
                <Group key="live" justify="flex-end">
                  {deployment.published && <Mark tone="good">{t('is_live')}</Mark>}
                  {environment && <MakeLive deployment={deployment} environment={environment} isCompact />}
                </Group>,
              ]}
            />
          );
        })}
      </List>
      <Pager
        total={deployments.total_count}
        after={after}
        page={deployments.page_info}
        onGo={(after) => navigate({ to: '.', search: (before) => ({ ...before, after }) })}
      />
    </>
  );
}
