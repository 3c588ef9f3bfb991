/** What publishing a draft does, before it is done: what changes, what is checked, what is deployed. */
import { Button, Checkbox, Drawer, Group, Stack, Text, TextInput, Title } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconAlertTriangle, IconCheck } from '@tabler/icons-react';
import { Link, useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { PublishSheet as PublishSheetDocument, type PublishSheetQuery } from '../documents.ts';
import type { Fault } from '../lib/faults.ts';
import { usePageQuery } from '../lib/page-query.ts';
import { usePlace } from '../lib/place.ts';
import { useCan } from '../lib/viewer.tsx';
import { Changes } from '../parts/changes.tsx';
import { Checks } from '../parts/checks.tsx';
import { FaultAlert } from '../parts/fault-alert.tsx';
import { MarkedText } from '../parts/marked-text.tsx';
import { OpenSite } from '../parts/open-site.tsx';
import { projectQuery } from './project-query.ts';
import { mergeReview, openReview } from './publish.ts';
import { Failure, Notice, Waiting } from './states.tsx';

type Studio = NonNullable<PublishSheetQuery['project']>['studio'];
type Branch = NonNullable<Studio['branch']>;
type Found = NonNullable<Studio['checks']>;

function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Stack gap="xs" component="section">
      <Title order={3} size="h3">
        {title}
      </Title>
      {children}
    </Stack>
  );
}

/** What the environments of the published version do when it moves. */
function Afterwards({ studio }: { studio: Studio }) {
  const { t } = useTranslation('publish');
  const place = usePlace();
  const main = studio.repository?.default_branch;
  const following = studio.environments?.nodes.filter(({ branch }) => branch?.name === main) ?? [];
  if (following.length === 0) return <Text size="sm">{t('no_environment')}</Text>;
  return (
    <Stack gap={4}>
      {following.map((environment) => (
        <Group gap={8} key={environment.id}>
          <Text size="sm">
            <bdi>{t(environment.auto_deploy ? 'deploys' : 'deploys_by_hand', { name: environment.name })}</bdi>
          </Text>
          <OpenSite place={place} environment={environment} isPlain />
        </Group>
      ))}
    </Stack>
  );
}

function Mergeable({ branch }: { branch: Branch }) {
  const { t } = useTranslation('publish');
  const { behind_by = 0, mergeable = true } = branch.compare_to_default ?? {};
  const isFine = mergeable === true;
  const Icon = isFine ? IconCheck : IconAlertTriangle;
  return (
    <Group gap="xs" wrap="nowrap" align="start" c={isFine ? 'var(--p-ink)' : 'var(--p-warn)'}>
      <Icon size={18} />
      <Text size="sm">
        {isFine
          ? t(behind_by ? 'merges_behind' : 'merges', { count: behind_by })
          : t(mergeable === null ? 'untested' : 'conflicts')}
      </Text>
    </Group>
  );
}

function Found({ checks, draft, isBlocking }: { checks: Found; draft: string; isBlocking: boolean }) {
  const { t } = useTranslation('publish');
  const { errors, warnings, truncated } = checks;
  if (errors + warnings === 0)
    return (
      <Group gap="xs" wrap="nowrap" align="start">
        <IconCheck size={18} />
        <Text size="sm">{t('no_faults')}</Text>
      </Group>
    );
  return (
    <Stack gap={4}>
      <Text size="sm">{t(isBlocking ? 'faults_block' : 'faults', { count: errors + warnings })}</Text>
      <Checks faults={checks.checks} draft={draft} />
      {truncated && <Text size="sm">{t('more_faults')}</Text>}
    </Stack>
  );
}

function Sheet({ branch, studio, onDone }: { branch: Branch; studio: Studio; onDone: () => void }) {
  const { t } = useTranslation(['publish', 'common']);
  const place = usePlace();
  const { organization, project } = place;
  const can = useCan(organization, project);
  const navigate = useNavigate();
  const main = studio.repository?.default_branch ?? '';
  const review = branch.pulls?.find(({ base, state }) => base.ref === main && state === 'open');
  const [title, setTitle] = useState(review?.title ?? branch.draft?.title ?? branch.name);
  const [isDeleteWanted, setDeleteWanted] = useState(true);
  const [doing, setDoing] = useState<'publish' | 'review' | null>(null);
  const [fault, setFault] = useState<Fault | null>(null);
  const canDelete = can('delete_studio') && !branch.protected;
  const changes = branch.compare_to_default;
  const isBlocked = studio.repository?.settings.publish_checks === 'block' && (studio.checks?.errors ?? 0) > 0;

  const openOrTake = async (): Promise<number | null> => {
    if (review) return review.number;
    const opened = await openReview(place, { head: branch.name, title });
    setFault(opened.fault);
    return opened.number;
  };
  const goToReview = (number: number) => {
    onDone();
    navigate({
      to: '/p/$organization/$project/drafts/reviews/$number',
      params: { organization, project, number: String(number) },
      search: { draft: branch.name },
    });
  };
  const publish = async () => {
    setDoing('publish');
    setFault(null);
    const number = await openOrTake();
    if (number === null) return setDoing(null);
    const outcome = await mergeReview(place, {
      ...{ number, sha: changes?.head_commit ?? '', deleteBranch: canDelete && isDeleteWanted },
    });
    setDoing(null);
    if (outcome.state === 'refused') return setFault(outcome.fault);
    if (outcome.state === 'conflict') return goToReview(number);
    const following = studio.environments?.nodes.filter((at) => at.auto_deploy && at.branch?.name === main) ?? [];
    notifications.show({
      title: t('published', { name: title }),
      message:
        following.length > 0 ? t('published_deploying', { names: following.map(({ name }) => name) }) : undefined,
      autoClose: 8000,
    });
    onDone();
    navigate({ to: '.', search: (before) => ({ ...before, draft: undefined }) });
  };
  const ask = async () => {
    setDoing('review');
    setFault(null);
    const number = await openOrTake();
    setDoing(null);
    if (number !== null) goToReview(number);
  };

  if (!changes || changes.ahead_by === 0) return <Notice title={t('nothing')}>{t('nothing_lead')}</Notice>;
  return (
    <Stack gap="lg">
      {!review && (
        <TextInput
          label={t('title_of')}
          description={t('title_hint')}
          value={title}
          onChange={(event) => setTitle(event.currentTarget.value)}
          error={fault?.fields.get('/title')}
        />
      )}
      {review && (
        <Text size="sm">
          <Link
            to="/p/$organization/$project/drafts/reviews/$number"
            params={{ organization, project, number: String(review.number) }}
            search={{ draft: branch.name }}
            onClick={onDone}
          >
            {t('open_review', { number: review.number })}
          </Link>{' '}
          <MarkedText text={review.title} />
        </Text>
      )}
      <Section title={t('what_changes', { count: changes.total_files })}>
        <Changes first={changes} />
      </Section>
      <Section title={t('checks')}>
        <Mergeable branch={branch} />
        {studio.checks && <Found checks={studio.checks} draft={branch.name} isBlocking={isBlocked} />}
      </Section>
      <Section title={t('afterwards')}>
        <Afterwards studio={studio} />
        {canDelete && (
          <Checkbox
            label={t('delete_after')}
            checked={isDeleteWanted}
            onChange={(event) => setDeleteWanted(event.currentTarget.checked)}
          />
        )}
      </Section>
      <FaultAlert fault={fault} />
      <Group>
        <Button
          onClick={publish}
          loading={doing === 'publish'}
          disabled={doing !== null || isBlocked || !can('edit_studio')}
        >
          {t(changes.mergeable === false ? 'resolve' : 'publish')}
        </Button>
        {!review && (
          <Button
            variant="default"
            onClick={ask}
            loading={doing === 'review'}
            disabled={doing !== null || !can('edit_studio')}
          >
            {t('ask_for_review')}
          </Button>
        )}
      </Group>
    </Stack>
  );
}

function Loaded({ branch: name, onDone }: { branch: string; onDone: () => void }) {
  const { organization, project } = usePlace();
  const { data, fault, refresh } = usePageQuery({
    query: PublishSheetDocument,
    variables: { organization, project, branch: name },
  });
  const studio = data?.project?.studio;
  const branch = studio?.branch;
  if (studio && branch) return <Sheet branch={branch} studio={studio} onDone={onDone} />;
  return fault ? <Failure fault={fault} onRetry={refresh} /> : <Waiting />;
}

interface PublishSheetProps {
  /** Branch of the draft; null: the sheet is closed. */
  branch: string | null;
  onClose: () => void;
}

export function PublishSheet({ branch, onClose }: PublishSheetProps) {
  const { t } = useTranslation(['publish', 'common']);
  const { data } = usePageQuery(projectQuery(usePlace()));
  const drafts = data?.project?.studio.branches?.nodes;
  const title = drafts?.find(({ name }) => name === branch)?.draft?.title ?? branch;
  return (
    <Drawer
      opened={branch !== null}
      onClose={onClose}
      position="right"
      size={640}
      title={
        <>
          {t('publish')}: <MarkedText text={title ?? ''} />
        </>
      }
    >
      {branch !== null && <Loaded branch={branch} onDone={onClose} />}
    </Drawer>
  );
}
