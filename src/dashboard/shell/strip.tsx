/** Below the bar of a project: in which version one works, what a save does, what is being deployed, and the way to publish. */
import { Button } from '@mantine/core';
import { IconCircleCheck, IconCircleX, IconClock } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { FollowingEnvironmentFragment, ProjectFrameQuery } from '../documents.ts';
import type { Place } from '../lib/place.ts';
import { useCan } from '../lib/viewer.tsx';
import { OpenSite } from '../parts/open-site.tsx';
import { useEnvironments } from './project-query.ts';
import classes from './strip.module.css';

const PublishSheet = lazy(async () => ({ default: (await import('./publish-sheet.tsx')).PublishSheet }));

type Studio = NonNullable<ProjectFrameQuery['project']>['studio'];

/** What a save does in the version that is shown, as a key of the texts. */
function saveText(place: Place, studio: Studio, canEdit: boolean) {
  const main = studio.repository?.default_branch;
  const branch = studio.branches?.nodes.find(({ name }) => name === (place.draft ?? main));
  if (!canEdit) return 'save_never';
  if (branch?.can_commit.allowed === false) return 'save_opens_draft';
  return place.draft === undefined ? 'save_publishes' : 'save_in_draft';
}

/** The newest deployment of the environment that shows this version. */
function Deployed({ place, environment }: { place: Place; environment: FollowingEnvironmentFragment }) {
  const { t } = useTranslation('publish');
  const deployment = environment.latest_deployment;
  if (!deployment) return null;
  const state = deployment.conclusion ?? deployment.status;
  const isGood = state === 'success';
  const Icon = isGood ? IconCircleCheck : deployment.status === 'completed' ? IconCircleX : IconClock;
  return (
    <span role="status">
      <Link
        className={classes.deployment}
        data-state={state}
        to="/p/$organization/$project/site"
        params={place}
        search={{}}
      >
        <Icon size={16} />
        <span>{t(`deployment_${state}`, { name: environment.name })}</span>
      </Link>
    </span>
  );
}

interface StripProps {
  place: Place;
  studio: Studio;
}

export function Strip({ place, studio }: StripProps) {
  const { t } = useTranslation('publish');
  const { organization, project, draft } = place;
  const can = useCan(organization, project);
  const [published, setPublished] = useState<string | null>(null);
  const shown = draft ?? studio.repository?.default_branch;
  const environment = useEnvironments(place).environments.find(({ branch }) => branch?.name === shown);
  const count = studio.branch?.compare_to_default?.total_files;
  return (
    <section className={classes.strip} aria-label={t('version')}>
      <span className={classes.save}>{t(saveText(place, studio, can('edit_studio')))}</span>
      {environment && <Deployed place={place} environment={environment} />}
      {environment && <OpenSite place={place} environment={environment} isPlain />}
      {draft !== undefined && studio.branch && (
        <>
          <Link
            to="/p/$organization/$project/drafts/changes"
            params={{ organization, project }}
            search={{ draft }}
            className={classes.changes}
          >
            {t('changes', { count: count ?? 0 })}
          </Link>
          {can('edit_studio') && (
            <Button size="compact-sm" onClick={() => setPublished(draft)}>
              {t('publish')}
            </Button>
          )}
        </>
      )}
      <Suspense>
        {published !== null && <PublishSheet branch={published} onClose={() => setPublished(null)} />}
      </Suspense>
    </section>
  );
}
