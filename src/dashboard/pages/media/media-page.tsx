/** The files of a site: folders, pictures, and what can be done with each. */
import { Box, Breadcrumbs, Button, FileButton, Group, Title } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconFile, IconFolder, IconTrash, IconUpload } from '@tabler/icons-react';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { type DragEvent, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { MediaItemFragment } from '../../documents.ts';
import { opensDraft } from '../../lib/changes.ts';
import { useFormats } from '../../lib/format.ts';
import { useLive } from '../../lib/live.ts';
import { directoryOf, fileAddress } from '../../lib/media.ts';
import { usePageQuery } from '../../lib/page-query.ts';
import { type Place, usePlace } from '../../lib/place.ts';
import { uploadFile } from '../../lib/upload.ts';
import { useCan } from '../../lib/viewer.tsx';
import { MarkedText } from '../../parts/marked-text.tsx';
import { Pager } from '../../parts/pager.tsx';
import { SearchField } from '../../parts/search-field.tsx';
import { Failure, Notice, Waiting } from '../../shell/states.tsx';
import { MediaDetails } from './media-details.tsx';
import classes from './media-page.module.css';
import { type MediaSearch, mediaQuery } from './media-query.ts';

interface ItemProps {
  item: MediaItemFragment;
  /** Where the list is from; while another one is on its way, that is not where the page is. */
  place: Place;
  onOpen: () => void;
}

function Item({ item, place: { organization, project, draft }, onOpen }: ItemProps) {
  const formats = useFormats();
  const facts = [
    item.size != null && formats.bytes(item.size),
    item.width != null && item.height != null && `${item.width} × ${item.height}`,
  ];
  const isPicture = item.mime?.startsWith('image/');
  const Icon = item.type === 'dir' ? IconFolder : IconFile;
  return (
    <li>
      <button type="button" className={classes.item} onClick={onOpen} title={item.path}>
        <span className={classes.picture}>
          {isPicture ? (
            <img
              src={fileAddress({ organization, project, branch: draft ?? null }, item.path)}
              alt=""
              loading="lazy"
              width={item.width ?? undefined}
              height={item.height ?? undefined}
            />
          ) : (
            <Icon size={40} stroke={1.2} />
          )}
        </span>
        <span className={classes.name}>
          <MarkedText text={item.type === 'dir' ? item.path : item.name} />
        </span>
        <span className={classes.facts}>{facts.filter(Boolean).join(' · ')}</span>
      </button>
    </li>
  );
}

/** The directories above the one that is shown. */
function Above({ place, path }: { place: Place; path: string }) {
  const { t } = useTranslation('media');
  const { organization, project, draft } = place;
  const parts = path.split('/');
  return (
    <Breadcrumbs mb="md" component="nav" aria-label={t('folders')}>
      <Link
        to="/p/$organization/$project/media"
        params={{ organization, project }}
        search={draft === undefined ? {} : { draft }}
      >
        {t('all')}
      </Link>
      {parts.map((part, at) => (
        <MarkedText key={parts.slice(0, at + 1).join('/')} text={part} />
      ))}
    </Breadcrumbs>
  );
}

export function MediaPage() {
  const { t } = useTranslation(['media', 'common']);
  const place = usePlace();
  const { organization, project } = place;
  const can = useCan(organization, project);
  const navigate = useNavigate();
  const search: MediaSearch = useSearch({ from: '/inside/p/$organization/$project/media' });
  const { path, q = '' } = search;
  const { data, fault, refresh } = usePageQuery(mediaQuery(place, search));
  useLive(['branch'], refresh);
  const [opened, setOpened] = useState<MediaItemFragment | null>(null);
  const [isOver, setOver] = useState(false);
  const studio = data?.project?.studio;
  const list = studio?.media;
  const branch = studio?.draft ?? studio?.published?.nodes[0] ?? null;
  const listed = { organization, project, draft: studio?.draft?.name };
  const change = (next: MediaSearch) =>
    navigate({ to: '.', search: (before) => ({ ...(before.draft && { draft: before.draft }), ...next }) });
  const isEmpty = list?.nodes.length === 0 && q === '';
  const directory = path ?? directoryOf(list?.nodes.find(({ type }) => type === 'file')?.path ?? '');
  const target = directory || list?.nodes.find(({ type }) => type === 'dir')?.path || 'public';
  const isLeft = useRef(false);
  useEffect(() => {
    isLeft.current = false;
    return () => {
      isLeft.current = true;
    };
  }, []);
  const follow = (begun: string | null) => {
    if (begun === null) refresh();
    else if (!isLeft.current) navigate({ to: '.', search: (before) => ({ ...before, draft: begun }), replace: true });
  };
  const upload = (files: Iterable<File>) => {
    let at = Promise.resolve({ ...place, opensDraft: opensDraft(branch) });
    for (const file of files) {
      const before = at;
      const stored = uploadFile(before, { file, directory: target });
      // The next one goes into the draft that this one may begin.
      at = stored.then(
        async (one) => (one?.begun == null ? before : { ...place, draft: one.begun, opensDraft: false }),
        () => before,
      );
      stored.then(
        (one) => {
          follow(one?.begun ?? null);
          if (one?.begun != null) notifications.show({ message: t('common:in_draft', { branch: one.begun }) });
        },
        (error: Error) =>
          notifications.show({ color: 'red', title: t('failed', { name: file.name }), message: error.message }),
      );
    }
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    if (can('edit_studio')) upload(event.dataTransfer.files);
  };
  const uploadButton = can('edit_studio') && (
    <FileButton onChange={upload} multiple>
      {(props) => (
        <Button {...props} leftSection={<IconUpload size={16} />}>
          {t('upload')}
        </Button>
      )}
    </FileButton>
  );
  return (
    <section
      aria-label={t('title')}
      className={classes.page}
      data-over={isOver}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      <Group justify="space-between" mb="md">
        <Title order={1}>{t('title')}</Title>
        <Group gap="xs">
          <Button
            variant="default"
            leftSection={<IconTrash size={16} />}
            renderRoot={(props) => (
              <Link
                to="/p/$organization/$project/media/deleted"
                params={place}
                search={{ draft: place.draft }}
                {...props}
              />
            )}
          >
            {t('deleted_files')}
          </Button>
          {uploadButton}
        </Group>
      </Group>
      {path !== undefined && <Above place={place} path={path} />}
      {!isEmpty && (
        <Box mb="md">
          <SearchField label={t('find')} value={q} onSearch={(words) => change({ path, q: words || undefined })} />
        </Box>
      )}
      {!list && (fault ? <Failure fault={fault} onRetry={refresh} /> : <Waiting />)}
      {list?.nodes.length === 0 && (
        <Notice title={t(isEmpty ? 'none' : 'none_found')}>{isEmpty && can('edit_studio') && t('none_lead')}</Notice>
      )}
      {list && list.nodes.length > 0 && (
        <ul className={classes.grid}>
          {list.nodes.map((item) => (
            <Item
              key={item.path}
              item={item}
              place={listed}
              onOpen={() => (item.type === 'dir' ? change({ path: item.path }) : setOpened(item))}
            />
          ))}
        </ul>
      )}
      {list && (
        <Pager
          total={list.total_count}
          after={search.after}
          page={list.page_info}
          onGo={(after) => change({ ...search, after })}
        />
      )}
      {opened && (
        <MediaDetails
          item={list?.nodes.find((item) => item.path === opened.path) ?? opened}
          place={listed}
          opensDraft={opensDraft(branch)}
          onChanged={follow}
          onClose={() => setOpened(null)}
        />
      )}
    </section>
  );
}
