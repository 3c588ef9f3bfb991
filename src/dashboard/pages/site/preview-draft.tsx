/** Previews a draft that no environment shows yet: its deployment is followed in the tray, and the preview is offered at the end. */
import { Alert, Button, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconEye } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { PreviewDraft as PreviewDraftDocument, type PreviewedDraftFragment } from '../../documents.ts';
import { send } from '../../lib/command.ts';
import { i18n } from '../../lib/i18n.ts';
import { usePageQuery } from '../../lib/page-query.ts';
import { type Place, usePlace } from '../../lib/place.ts';
import { useCan } from '../../lib/viewer.tsx';
import { OpenSite } from '../../parts/open-site.tsx';
import { projectQuery, shownDraftsQuery, useEnvironments } from '../../shell/project-query.ts';
import { followDeployment } from './deployment-task.ts';

/** Offers what has been built. */
function offer(place: Place, environment: PreviewedDraftFragment, deployment: number): void {
  const shown = { ...environment, published_deployment_id: deployment };
  notifications.show({
    autoClose: false,
    title: i18n.t('site:preview_ready', { name: environment.name }),
    message: <OpenSite place={place} environment={shown} />,
  });
}

interface DraftPreviews {
  /** Id of the environment that previews are copies of; null: none is named, undefined: it is not known yet. */
  source: number | null | undefined;
  /** Whether this person can preview a draft (its branch) that no environment shows yet. */
  canPreview: (branch: string) => boolean;
  preview: (branch: string) => Promise<void>;
  isRunning: boolean;
}

export function useDraftPreviews(): DraftPreviews {
  const place = usePlace();
  const { organization, project } = place;
  const can = useCan(organization, project);
  const frame = usePageQuery(projectQuery(place));
  const previews = usePageQuery(shownDraftsQuery(place));
  const { environments, isComplete } = useEnvironments(place);
  const [isRunning, setRunning] = useState(false);
  const studio = frame.data?.project?.studio;
  const shown = new Set(environments.map(({ branch }) => branch?.name));
  const source = studio?.repository?.settings.draft_preview;
  const isOffered = isComplete && can('edit_studio') && typeof source === 'number';
  const preview = async (branch: string) => {
    setRunning(true);
    const { data, fault } = await send(PreviewDraftDocument, { organization, project, input: { branch } });
    setRunning(false);
    if (fault) {
      notifications.show({ message: fault.message, color: 'red', autoClose: false });
      return;
    }
    frame.refresh();
    previews.refresh();
    const environment = data.previewBranch;
    const deployment = environment?.latest_deployment;
    if (!environment || !deployment) return;
    followDeployment({
      organization,
      project,
      ...deployment,
      onSuccess: () => offer(place, environment, deployment.id),
    });
  };
  return { source, canPreview: (branch) => isOffered && !shown.has(branch), preview, isRunning };
}

/** On the page Site, for a draft that no environment shows: what can be done about that. */
export function PreviewDraft({ draft, onBegun }: { draft: string; onBegun: () => void }) {
  const { t } = useTranslation('site');
  const { organization, project } = usePlace();
  const can = useCan(organization, project);
  const { source, canPreview, preview, isRunning } = useDraftPreviews();
  if (can('manage_studio') && source === null)
    return (
      <Alert mb="lg" maw={960} title={t('draft_not_shown')}>
        {t('draft_no_previews')}{' '}
        <Link to="/p/$organization/$project/settings" params={{ organization, project }}>
          {t('draft_settings')}
        </Link>
      </Alert>
    );
  if (!canPreview(draft)) return null;
  return (
    <Alert mb="lg" maw={960} title={t('draft_not_shown')}>
      <Text size="sm" mb="sm">
        {t('draft_not_shown_lead')}
      </Text>
      <Button
        leftSection={<IconEye size={16} />}
        loading={isRunning}
        onClick={async () => {
          await preview(draft);
          onBegun();
        }}
      >
        {t('preview_draft')}
      </Button>
    </Alert>
  );
}
