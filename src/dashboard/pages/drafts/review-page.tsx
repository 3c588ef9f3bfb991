/** A review: what a draft changes, whether it can be published, and its conflicts, which are resolved here. */
import { Button, Checkbox, Group, Stack, Text, Title } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import {
  ChangeReview,
  type FileConflictFragment,
  type PullStateChange,
  type ResolutionInput,
  type ReviewQuery,
} from '../../documents.ts';
import { send } from '../../lib/command.ts';
import type { Fault } from '../../lib/faults.ts';
import { useFormats } from '../../lib/format.ts';
import { useLive } from '../../lib/live.ts';
import { usePageQuery } from '../../lib/page-query.ts';
import { usePlace } from '../../lib/place.ts';
import { useCan } from '../../lib/viewer.tsx';
import { Changes } from '../../parts/changes.tsx';
import { ConflictForm } from '../../parts/conflict-form.tsx';
import { FaultAlert } from '../../parts/fault-alert.tsx';
import { MarkedText } from '../../parts/marked-text.tsx';
import { VersionList } from '../../parts/version-list.tsx';
import { mergeReview } from '../../shell/publish.ts';
import { Failure, Waiting } from '../../shell/states.tsx';
import { ReviewMark } from './review-mark.tsx';
import { reviewQuery } from './review-query.ts';

type Pull = NonNullable<NonNullable<ReviewQuery['project']>['studio']['pull']>;

function Review({ pull, refresh }: { pull: Pull; refresh: () => void }) {
  const { t } = useTranslation(['drafts', 'publish', 'common']);
  const place = usePlace();
  const { organization, project } = place;
  const can = useCan(organization, project);
  const navigate = useNavigate();
  const formats = useFormats();
  const [doing, setDoing] = useState<'merge' | 'state' | null>(null);
  const [fault, setFault] = useState<Fault | null>(null);
  const [moved, setMoved] = useState<readonly FileConflictFragment[] | null>(null);
  const [isDeleteWanted, setDeleteWanted] = useState(true);
  const isOpen = pull.state === 'open';
  const canDelete = can('delete_studio') && pull.head_branch?.protected === false;
  const conflicts = moved ?? pull.conflicts;

  const merge = async (resolutions: ResolutionInput[]) => {
    setDoing('merge');
    setFault(null);
    const deleteBranch = canDelete && isDeleteWanted;
    const outcome = await mergeReview(place, { number: pull.number, sha: pull.head.sha, deleteBranch, resolutions });
    setDoing(null);
    if (outcome.state === 'published') {
      notifications.show({ title: t('publish:published', { name: pull.title }), message: undefined });
      navigate({ to: '.', search: {} });
    } else if (outcome.state === 'refused') {
      setFault(outcome.fault);
      const now = outcome.fault.details.conflicts;
      if (Array.isArray(now)) setMoved(now);
    } else setMoved(null);
    refresh();
  };
  const change = async (input: { state?: PullStateChange; draft?: boolean }) => {
    setDoing('state');
    const { fault } = await send(ChangeReview, { organization, project, input: { number: pull.number, ...input } });
    setDoing(null);
    setFault(fault);
    refresh();
  };
  const state = pull.draft && isOpen ? 'not_ready' : pull.state;
  const files = pull.files?.nodes ?? [];
  const first = {
    ...{ head_commit: pull.head.sha, merge_base_commit: pull.base.sha, files },
    total_files: pull.files?.total_count ?? 0,
  };
  const at = pull.merged_at ?? pull.closed_at;
  return (
    <Stack gap="lg">
      <div>
        <Title order={1}>
          <MarkedText text={pull.title} />
        </Title>
        <Group gap="sm" mt={4}>
          <ReviewMark state={state} />
          <Text size="sm" c="dimmed">
            {t('review_by', { number: pull.number, name: pull.author.name, ago: formats.ago(pull.created_at) })}
            {at && ` · ${formats.time(at)}`}
          </Text>
        </Group>
        {pull.body && (
          <Text mt="sm" maw="72ch" style={{ whiteSpace: 'pre-wrap' }} dir="auto">
            <MarkedText text={pull.body} />
          </Text>
        )}
      </div>
      {conflicts.length === 0 && <FaultAlert fault={fault} />}
      {isOpen && can('edit_studio') && (
        <Stack gap="sm">
          {canDelete && (
            <Checkbox
              label={t('publish:delete_after')}
              checked={isDeleteWanted}
              onChange={(event) => setDeleteWanted(event.currentTarget.checked)}
            />
          )}
          <Group>
            {pull.draft ? (
              <Button onClick={() => change({ draft: false })} loading={doing === 'state'}>
                {t('ready')}
              </Button>
            ) : (
              conflicts.length === 0 && (
                <Button onClick={() => merge([])} loading={doing === 'merge'} disabled={doing !== null}>
                  {t('publish:publish')}
                </Button>
              )
            )}
            <Button variant="default" onClick={() => change({ state: 'closed' })} disabled={doing !== null}>
              {t('close_review')}
            </Button>
          </Group>
        </Stack>
      )}
      {pull.state === 'closed' && pull.head_branch && can('edit_studio') && (
        <Group>
          <Button variant="default" onClick={() => change({ state: 'open' })} loading={doing === 'state'}>
            {t('open_again')}
          </Button>
        </Group>
      )}
      {isOpen && (conflicts.length > 0 || pull.conflicts_truncated) && (
        <Stack component="section" gap="sm">
          <Title order={2}>{t('conflicts')}</Title>
          <Text maw="72ch">{t(pull.conflicts_truncated ? 'conflicts_too_many' : 'conflicts_lead')}</Text>
          {can('edit_studio') && !pull.draft && !pull.conflicts_truncated && (
            <ConflictForm
              conflicts={conflicts}
              sides={{ current: t('side_published'), incoming: t('side_draft') }}
              action={t('publish:publish')}
              onResolve={merge}
              isRunning={doing === 'merge'}
              fault={fault}
            />
          )}
        </Stack>
      )}
      <Stack component="section" gap="sm">
        <Title order={2}>{t('changes')}</Title>
        <Changes first={first} />
      </Stack>
      {pull.commits && pull.commits.nodes.length > 0 && (
        <Stack component="section" gap="sm">
          <Title order={2}>{t('versions')}</Title>
          <VersionList versions={pull.commits.nodes} />
        </Stack>
      )}
    </Stack>
  );
}

export function ReviewPage() {
  const place = usePlace();
  const { number } = useParams({ from: '/inside/p/$organization/$project/drafts/reviews/$number' });
  const { data, fault, refresh } = usePageQuery(reviewQuery(place, number));
  useLive(['branch', `pull:${number}`], refresh);
  const pull = data?.project?.studio.pull;
  if (pull) return <Review key={pull.number} pull={pull} refresh={refresh} />;
  return fault ? <Failure fault={fault} onRetry={refresh} order={1} /> : <Waiting />;
}
