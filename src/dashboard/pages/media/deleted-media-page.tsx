/** The files that were deleted from this version, and the way back for each. */
import { Breadcrumbs, Button, Title } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconFile } from '@tabler/icons-react';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { BringBackMedia, type DeletedMediaPageQuery } from '../../documents.ts';
import { opensDraft } from '../../lib/changes.ts';
import { send } from '../../lib/command.ts';
import { useFormats } from '../../lib/format.ts';
import { useLive } from '../../lib/live.ts';
import { directoryOf, fileAddress } from '../../lib/media.ts';
import { usePageQuery } from '../../lib/page-query.ts';
import { type Place, usePlace } from '../../lib/place.ts';
import { uploadFile } from '../../lib/upload.ts';
import { useCan } from '../../lib/viewer.tsx';
import { MarkedText } from '../../parts/marked-text.tsx';
import { Pager } from '../../parts/pager.tsx';
import { Row, Rows } from '../../parts/rows.tsx';
import { Failure, Notice, Waiting } from '../../shell/states.tsx';
import classes from './deleted-media-page.module.css';
import { deletedMediaQuery } from './media-query.ts';

type Studio = NonNullable<DeletedMediaPageQuery['project']>['studio'];
type Deleted = NonNullable<Studio['deleted_media']>['nodes'][number];

/** Address of what a file held at last. */
const lastAddress = ({ organization, project }: Place, { path, commit }: Deleted): string =>
  fileAddress({ organization, project, ref: commit.parents[0] ?? '' }, path);

/** Brings a file back where one works. @returns branch of the draft that was begun with it. @throws Error with the reason */
async function restore(place: Place, file: Deleted, beginsDraft: boolean): Promise<string | null> {
  const { organization, project, draft } = place;
  if (beginsDraft) {
    const response = await fetch(lastAddress(place, file));
    if (!response.ok) throw new Error(response.statusText);
    const upload = { file: new File([await response.blob()], file.name), directory: directoryOf(file.path) };
    return (await uploadFile({ ...place, opensDraft: true }, upload))?.begun ?? null;
  }
  const input = { path: file.path, commit: file.commit.sha, branch: draft ?? null };
  const { fault } = await send(BringBackMedia, { organization, project, input });
  if (fault) throw new Error(fault.message);
  return null;
}

export function DeletedMediaPage() {
  const { t } = useTranslation(['media', 'common']);
  const formats = useFormats();
  const place = usePlace();
  const { organization, project } = place;
  const can = useCan(organization, project);
  const navigate = useNavigate();
  const { after } = useSearch({ from: '/inside/p/$organization/$project/media/deleted' });
  const { data, fault, refresh } = usePageQuery(deletedMediaQuery(place, after));
  useLive(['branch'], refresh);
  const [running, setRunning] = useState<string | null>(null);
  const studio = data?.project?.studio;
  const list = studio?.deleted_media;
  const bringBack = async (file: Deleted) => {
    setRunning(file.path);
    try {
      const branch = studio?.draft ?? studio?.published?.nodes[0] ?? null;
      const begun = await restore(place, file, opensDraft(branch));
      notifications.show({
        title: t('is_back', { name: file.name }),
        message: begun !== null && t('common:in_draft', { branch: begun }),
      });
      if (begun === null) refresh();
      else navigate({ to: '.', search: { draft: begun }, replace: true });
    } catch (error) {
      notifications.show({ color: 'red', message: (error as Error).message });
    }
    setRunning(null);
  };
  return (
    <section aria-label={t('deleted_files')}>
      <Breadcrumbs mb="xs" component="nav" aria-label={t('folders')}>
        <Link to="/p/$organization/$project/media" params={place} search={{ draft: place.draft }}>
          {t('title')}
        </Link>
      </Breadcrumbs>
      <Title order={1} mb="md">
        {t('deleted_files')}
      </Title>
      {!list && (fault ? <Failure fault={fault} onRetry={refresh} /> : <Waiting />)}
      {list?.nodes.length === 0 && <Notice title={t('none_deleted')}>{t('none_deleted_lead')}</Notice>}
      {list && list.nodes.length > 0 && (
        <Rows label={t('deleted_files')}>
          {list.nodes.map((file) => (
            <Row
              key={file.path}
              lead={
                <span className={classes.thumb}>
                  {file.mime?.startsWith('image/') ? (
                    <img src={lastAddress(place, file)} alt="" loading="lazy" />
                  ) : (
                    <IconFile size={20} stroke={1.2} />
                  )}
                </span>
              }
              title={<MarkedText text={file.name} />}
              detail={[
                directoryOf(file.path),
                t('deleted_by', { name: file.commit.author.name, ago: formats.ago(file.commit.author.date) }),
                file.size != null && formats.bytes(file.size),
              ]
                .filter(Boolean)
                .join(' · ')}
              actions={
                can('edit_studio') && (
                  <Button
                    variant="default"
                    size="compact-sm"
                    aria-label={t('restore_what', { name: file.name })}
                    loading={running === file.path}
                    disabled={running !== null}
                    onClick={() => void bringBack(file)}
                  >
                    {t('restore')}
                  </Button>
                )
              }
            />
          ))}
        </Rows>
      )}
      {list && (
        <Pager
          total={list.total_count}
          after={after}
          page={list.page_info}
          onGo={(next) => navigate({ to: '.', search: (before) => ({ ...before, after: next }) })}
        />
      )}
    </section>
  );
}
