import { Box, Button, Group, SegmentedControl, Tabs, Title } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { useLive } from '../../lib/live.ts';
import { usePageQuery } from '../../lib/page-query.ts';
import { usePlace } from '../../lib/place.ts';
import { useCan } from '../../lib/viewer.tsx';
import { Pager } from '../../parts/pager.tsx';
import { SearchField } from '../../parts/search-field.tsx';
import { Failure, Waiting } from '../../shell/states.tsx';
import { DraftList } from './draft-list.tsx';
import { type DraftsSearch, draftsQuery } from './drafts-query.ts';
import { NewDraft } from './new-draft.tsx';
import { ReviewList } from './review-list.tsx';

/** All drafts of a project, and all reviews. */
export function DraftsPage() {
  const { t } = useTranslation(['drafts', 'common']);
  const place = usePlace();
  const navigate = useNavigate();
  const { new: isNew = false, ...search } = useSearch({ from: '/inside/p/$organization/$project/drafts' });
  const { tab = 'drafts', state = 'open', q = '' } = search;
  const { data, fault, refresh } = usePageQuery(draftsQuery(place, search));
  useLive(['branch', 'pull'], refresh);
  const setNew = (isOpen: boolean) =>
    navigate({ to: '.', search: (before) => ({ ...before, new: isOpen || undefined }), replace: true });
  const can = useCan(place.organization, place.project);
  const studio = data?.project?.studio;
  const change = (next: DraftsSearch) =>
    navigate({
      to: '/p/$organization/$project/drafts',
      params: place,
      search: (before) => ({ draft: before.draft, ...next }),
      replace: true,
    });
  const list = studio?.branches ?? studio?.pulls;
  const drafts = studio?.branches?.nodes.filter((branch) => !branch.default);
  // Then the list has the button, which says what to do first.
  const isEmpty = drafts?.length === 0 && q === '';
  return (
    <>
      <Group justify="space-between" mb="md">
        <Title order={1}>{t('title')}</Title>
        {!isEmpty && can('edit_studio') && (
          <Button leftSection={<IconPlus size={16} />} onClick={() => setNew(true)}>
            {t('common:new_draft')}
          </Button>
        )}
      </Group>
      <Tabs value={tab} onChange={(value) => change({ tab: value === 'reviews' ? 'reviews' : undefined })}>
        <Tabs.List mb="md">
          <Tabs.Tab value="drafts">{t('title')}</Tabs.Tab>
          <Tabs.Tab value="reviews">
            {t('reviews')}
            {studio?.open?.total_count ? ` (${studio.open.total_count})` : ''}
          </Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value={tab}>
          {tab === 'drafts' ? (
            !isEmpty && (
              <Box mb="md">
                <SearchField label={t('find')} value={q} onSearch={(words) => change({ q: words || undefined })} />
              </Box>
            )
          ) : (
            <SegmentedControl
              aria-label={t('state')}
              mb="md"
              value={state}
              onChange={(value) => change({ tab, state: value as 'open' })}
              data={(['open', 'merged', 'closed'] as const).map((value) => ({ value, label: t(`state_${value}`) }))}
            />
          )}
          {!list && (fault ? <Failure fault={fault} onRetry={refresh} /> : <Waiting />)}
          {drafts && (
            <DraftList
              drafts={drafts}
              isFiltered={q !== ''}
              search={search}
              refresh={refresh}
              onNew={can('edit_studio') ? () => setNew(true) : null}
            />
          )}
          {studio?.pulls && <ReviewList reviews={studio.pulls.nodes} state={state} />}
          {list && (
            <Pager
              total={list.total_count}
              after={search.after}
              page={list.page_info}
              onGo={(after) => change({ ...search, after })}
            />
          )}
        </Tabs.Panel>
      </Tabs>
      <NewDraft isOpen={isNew && can('edit_studio')} onClose={() => setNew(false)} />
    </>
  );
}
