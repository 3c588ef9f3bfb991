import { ActionIcon, Button, Group, Menu, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconDots } from '@tabler/icons-react';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useQuery } from 'urql';
import { DeleteDraft, DraftCounts, type DraftRowFragment } from '../../documents.ts';
import { useCommand } from '../../lib/command.ts';
import { useFormats } from '../../lib/format.ts';
import { usePlace } from '../../lib/place.ts';
import { useCan } from '../../lib/viewer.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import { List, ListRow } from '../../parts/list.tsx';
import { MarkedText } from '../../parts/marked-text.tsx';
import { PublishSheet } from '../../shell/publish-sheet.tsx';
import { Notice } from '../../shell/states.tsx';
import { useDraftPreviews } from '../site/preview-draft.tsx';
import type { DraftsSearch } from './drafts-query.ts';

/** How far a draft and the published version are apart, in words. */
export function Apart({ draft: { ahead_by, behind_by } }: { draft: DraftRowFragment }) {
  const { t } = useTranslation('drafts');
  if (ahead_by === null || behind_by === null) return t('not_counted');
  if (!ahead_by && !behind_by) return t('same');
  return [ahead_by && t('ahead', { count: ahead_by }), behind_by && t('behind', { count: behind_by })]
    .filter(Boolean)
    .join(' · ');
}

/** How many files each draft changes: it takes two versions to be compared for each, so the list does not wait for it. */
function useCounts({ q, after }: DraftsSearch): ReadonlyMap<string, number> {
  const { organization, project } = usePlace();
  const [{ data }] = useQuery({
    query: DraftCounts,
    variables: { organization, project, q: q || null, after: after ?? null },
  });
  const branches = data?.project?.studio.branches?.nodes ?? [];
  return new Map(branches.map(({ name, compare_to_default }) => [name, compare_to_default?.total_files ?? 0]));
}

interface RowProps {
  draft: DraftRowFragment;
  /** Files it changes; undefined: not known yet. */
  count: number | undefined;
  onPublish: () => void;
  /** Null: it is shown somewhere already, or may not be previewed. */
  onPreview: (() => void) | null;
  onDelete: () => void;
}

function Row({ draft, count, onPublish, onPreview, onDelete }: RowProps) {
  const { t } = useTranslation(['drafts', 'publish', 'site', 'common']);
  const { organization, project } = usePlace();
  const params = { organization, project };
  const can = useCan(organization, project);
  const formats = useFormats();
  const navigate = useNavigate();
  const { name } = draft;
  const title = draft.draft?.title ?? name;
  const search = { draft: name };
  const changedAt = draft.commit?.author.date;
  return (
    <ListRow
      cells={[
        <Link
          key="name"
          to="/p/$organization/$project/drafts/changes"
          params={params}
          search={search}
          title={t('branch', { name })}
        >
          <MarkedText text={title} />
        </Link>,
        <span key="changed" title={changedAt && formats.time(changedAt)}>
          {changedAt && `${formats.ago(changedAt)} · `}
          <MarkedText text={draft.draft?.owner.name ?? draft.commit?.author.name ?? ''} />
        </span>,
        count === undefined ? '\u2007' : formats.number(count),
        <Text key="apart" inherit miw={120} style={{ whiteSpace: 'normal' }}>
          <Apart draft={draft} />
        </Text>,
        draft.pulls?.map(({ number, title }) => (
          <Link
            key={number}
            to="/p/$organization/$project/drafts/reviews/$number"
            params={{ ...params, number: String(number) }}
            search={search}
            title={title}
          >
            #{number}
          </Link>
        )),
        <Group key="actions" gap="xs" justify="flex-end" wrap="nowrap">
          <Button
            size="compact-sm"
            variant="default"
            onClick={() => navigate({ to: '/p/$organization/$project/content', params, search })}
          >
            {t('open')}
          </Button>
          {can('edit_studio') && (
            <Menu position="bottom-end">
              <Menu.Target>
                <ActionIcon variant="subtle" color="gray" aria-label={t('more_for', { name: title })}>
                  <IconDots size={16} />
                </ActionIcon>
              </Menu.Target>
              <Menu.Dropdown>
                <Menu.Item onClick={onPublish}>{t('publish:publish')} …</Menu.Item>
                {onPreview && <Menu.Item onClick={onPreview}>{t('site:preview_draft')}</Menu.Item>}
                {can('delete_studio') && !draft.protected && (
                  <Menu.Item color="red" onClick={onDelete}>
                    {t('common:delete')} …
                  </Menu.Item>
                )}
              </Menu.Dropdown>
            </Menu>
          )}
        </Group>,
      ]}
    />
  );
}

interface DraftListProps {
  drafts: readonly DraftRowFragment[];
  /** Only some are shown, as the person searched. */
  isFiltered: boolean;
  search: DraftsSearch;
  refresh: () => void;
  /** Null: the person may not make one. */
  onNew: (() => void) | null;
}

export function DraftList({ drafts, isFiltered, search, refresh, onNew }: DraftListProps) {
  const { t } = useTranslation(['drafts', 'common']);
  const { organization, project, draft: current } = usePlace();
  const navigate = useNavigate();
  const [published, setPublished] = useState<string | null>(null);
  const counts = useCounts(search);
  const deletion = useCommand(DeleteDraft);
  const { canPreview, preview } = useDraftPreviews();
  const [deleted, setDeleted] = useState<DraftRowFragment | null>(null);
  if (drafts.length === 0 && isFiltered) return <Notice title={t('none_found')} />;
  if (drafts.length === 0)
    return (
      <Notice title={t('none')} action={onNew && <Button onClick={onNew}>{t('common:new_draft')}</Button>}>
        {t('none_lead')}
      </Notice>
    );
  const remove = async () => {
    const name = deleted?.name ?? '';
    const { fault } = await deletion.run({ organization, project, input: { name, force: true } });
    if (fault) return;
    notifications.show({ message: t('deleted', { name: deleted?.draft?.title ?? name }) });
    setDeleted(null);
    if (current === name) navigate({ to: '.', search: (before) => ({ ...before, draft: undefined }) });
    refresh();
  };
  return (
    <>
      <List
        label={t('title')}
        columns={[
          ...(['name', 'changed', 'changes', 'apart', 'review'] as const).map((column) => t(column)),
          ` ${t('actions')}`,
        ]}
      >
        {drafts.map((draft) => (
          <Row
            key={draft.name}
            draft={draft}
            count={counts.get(draft.name)}
            onPublish={() => setPublished(draft.name)}
            onPreview={canPreview(draft.name) ? () => void preview(draft.name) : null}
            onDelete={() => setDeleted(draft)}
          />
        ))}
      </List>
      <PublishSheet branch={published} onClose={() => setPublished(null)} />
      {deleted && (
        <Confirm
          title={t('delete_title', { name: deleted.draft?.title ?? deleted.name })}
          action={t('common:delete')}
          onConfirm={remove}
          onClose={() => setDeleted(null)}
          isRunning={deletion.isRunning}
          fault={deletion.fault}
        >
          {deleted.ahead_by === null ? t('delete_all') : t('delete_lead', { count: deleted.ahead_by })}{' '}
          {deleted.pulls?.length ? t('delete_reviews', { count: deleted.pulls.length }) : null}
        </Confirm>
      )}
    </>
  );
}
