import { Group } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import type { ShownEnvironmentFragment } from '../../../documents.ts';
import { useFormats } from '../../../lib/format.ts';
import { usePlace } from '../../../lib/place.ts';
import { Facts } from '../../../parts/facts.tsx';
import { DeployedVersion } from '../deployed-version.tsx';
import { DeploymentMark } from '../deployment-mark.tsx';

/** What is live in an environment, and what has become of its latest deployment. */
export function EnvironmentFacts({ environment }: { environment: ShownEnvironmentFragment }) {
  const { t } = useTranslation('site');
  const { organization, project } = usePlace();
  const { ago } = useFormats();
  const { published, latest_deployment: latest } = environment;
  return (
    <Facts>
      <dt>{t('live')}</dt>
      <dd>
        {published ? (
          <>
            <DeployedVersion deployment={published} />
            {published.completed_at && ` · ${ago(published.completed_at)}`}
          </>
        ) : (
          t('nothing_live')
        )}
      </dd>
      {latest && (
        <>
          <dt>{t('latest')}</dt>
          <dd>
            <Group gap="xs">
              <Link
                to="/p/$organization/$project/site/deployments/$deployment"
                params={{ organization, project, deployment: String(latest.id) }}
              >
                {t('deployment', { number: latest.run_number })}
              </Link>
              <DeploymentMark status={latest.status} conclusion={latest.conclusion} />
            </Group>
          </dd>
        </>
      )}
    </Facts>
  );
}
