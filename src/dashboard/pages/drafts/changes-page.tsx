/** What a draft has that the published version lacks, and the way to bring it up to date. */
import { Button, Group, Stack, Title } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { Navigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { type FileConflictFragment, MergeDrafts, type ResolutionInput } from '../../documents.ts';
import { useCommand } from '../../lib/command.ts';
import { useLive } from '../../lib/live.ts';
import { usePageQuery } from '../../lib/page-query.ts';
import { usePlace } from '../../lib/place.ts';
import { useCan } from '../../lib/viewer.tsx';
import { Changes } from '../../parts/changes.tsx';
import { ConflictForm } from '../../parts/conflict-form.tsx';
import { FaultAlert } from '../../parts/fault-alert.tsx';
import { MarkedText } from '../../parts/marked-text.tsx';
import { VersionList } from '../../parts/version-list.tsx';
import { Failure, Waiting } from '../../shell/states.tsx';
import { Apart } from './draft-list.tsx';
import { draftChangesQuery } from './review-query.ts';

export function ChangesPage() {
  const { t } = useTranslation(['drafts', 'common']);
  const place = usePlace();
  const { organization, project, draft } = place;
  const can = useCan(organization, project);
  const { data, fault, refresh } = usePageQuery(draftChangesQuery(place, draft));
  useLive(['branch'], refresh);
  const update = useCommand(MergeDrafts);
  const [conflicts, setConflicts] = useState<readonly FileConflictFragment[]>([]);
  const [isTooMany, setTooMany] = useState(false);
  if (draft === undefined) return <Navigate to="/p/$organization/$project/drafts" params={place} search={{}} replace />;
  const studio = data?.project?.studio;
  const branch = studio?.branch;
  if (!studio || !branch) return fault ? <Failure fault={fault} onRetry={refresh} order={1} /> : <Waiting />;
  const main = studio.repository?.default_branch ?? '';
  const changes = branch.compare_to_default;

  const bringUpToDate = async (resolutions: ResolutionInput[]) => {
    const outcome = await update.run({ organization, project, input: { head: main, base: draft, resolutions } });
    if (outcome.fault) {
      const now = outcome.fault.details.conflicts;
      if (Array.isArray(now) && now.length > 0) setConflicts(now);
      return;
    }
    const found = outcome.data.mergeBranches?.conflicts ?? [];
    setConflicts(found);
    setTooMany(outcome.data.mergeBranches?.conflicts_truncated ?? false);
    if (found.length === 0) notifications.show({ message: t('updated') });
  };
  return (
    <Stack gap="lg">
      <div>
        <Title order={1}>
          <MarkedText text={branch.draft?.title ?? branch.name} />
        </Title>
        <Apart draft={branch} />
      </div>
      {(branch.behind_by ?? 0) > 0 && can('edit_studio') && conflicts.length === 0 && (
        <Group>
          <Button variant="default" onClick={() => bringUpToDate([])} loading={update.isRunning}>
            {t('update')}
          </Button>
        </Group>
      )}
      {conflicts.length === 0 && <FaultAlert fault={update.fault} />}
      {conflicts.length > 0 ? (
        <Stack component="section" gap="sm">
          <Title order={2}>{t('conflicts')}</Title>
          <p>{t(isTooMany ? 'conflicts_too_many' : 'conflicts_lead')}</p>
          {!isTooMany && (
            <ConflictForm
              conflicts={conflicts}
              sides={{ current: t('side_draft'), incoming: t('side_published') }}
              action={t('update')}
              onResolve={bringUpToDate}
              isRunning={update.isRunning}
              fault={update.fault}
            />
          )}
        </Stack>
      ) : (
        changes && (
          <>
            <Stack component="section" gap="sm">
              <Title order={2}>{t('changes')}</Title>
              <Changes first={changes} />
            </Stack>
            {changes.commits.length > 0 && (
              <Stack component="section" gap="sm">
                <Title order={2}>{t('versions')}</Title>
                <VersionList versions={changes.commits} />
              </Stack>
            )}
          </>
        )
      )}
    </Stack>
  );
}
