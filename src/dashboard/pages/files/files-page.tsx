import { Button, Group, Title } from '@mantine/core';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { lazy, Suspense, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import type { EditedBranchFragment, FilesPageQuery } from '../../documents.ts';
import { useFormats } from '../../lib/format.ts';
import { loadTexts } from '../../lib/i18n.ts';
import { usePageQuery } from '../../lib/page-query.ts';
import { usePlace } from '../../lib/place.ts';
import { useCan } from '../../lib/viewer.tsx';
import { MarkedText } from '../../parts/marked-text.tsx';
import { Failure, Notice, Waiting } from '../../shell/states.tsx';
import { Crumbs } from './crumbs.tsx';
import { Directory } from './directory.tsx';
import { FileView, mayEdit } from './file-view.tsx';
import classes from './files.module.css';
import { filesQuery } from './files-query.ts';

const FileEditor = lazy(async () => {
  const [{ FileEditor }] = await Promise.all([import('./file-editor.tsx'), loadTexts('entry')]);
  return { default: FileEditor };
});

type Studio = NonNullable<NonNullable<FilesPageQuery['project']>['studio']>;

/** Whether an answer is that for a file that is edited, and not of another address or of the file while it was read. */
function isFor(answer: Studio | null | undefined, draft: string | undefined, path: string | null): boolean {
  if (!answer || answer.published === undefined) return false;
  if (path !== null && (answer.file === undefined || (answer.file && answer.file.path !== path))) return false;
  return draft === undefined ? answer.edited === undefined : answer.edited === null || answer.edited?.name === draft;
}

/** The published version as it is edited; before its first commit it takes that one. */
function publishedOf(studio: Studio | null | undefined): EditedBranchFragment | null {
  const { published, repository } = studio ?? {};
  if (published?.nodes.length !== 0 || !repository) return published?.nodes[0] ?? null;
  return { name: repository.default_branch, can_commit: { allowed: true, reason: null, message: null } };
}

/** The files of the repository: a directory at a time, beside it a file of it, which is read or edited. */
export function FilesPage() {
  const { t } = useTranslation('files');
  const place = usePlace();
  const { _splat: directory = '' } = useParams({ strict: false });
  const { file, version, ...wanted } = useSearch({ strict: false });
  const [edit, isNew] = version === undefined ? [wanted.edit === true, wanted.new === true] : [false, false];
  const navigate = useNavigate();
  const can = useCan(place.organization, place.project);
  const kept = useRef<Studio | null>(null);
  const { ago, time } = useFormats();
  const { data, fault, refresh } = usePageQuery(filesQuery(place, directory, { file, edit, new: isNew, version }));
  const answer = data?.project?.studio;
  const isEdited = (edit && file !== undefined) || isNew;
  // What is edited stays where it is while a draft that was begun for it is read, and when the directory is gone.
  if (answer?.filetree) kept.current = answer;
  const studio = answer?.filetree || !isEdited ? answer : kept.current;
  const path = [directory, file].filter(Boolean).join('/');
  const items = studio?.filetree?.tree;
  const mayWrite = can('manage_studio') && version === undefined;
  const isEditor = isNew ? mayWrite : isEdited && (!studio?.file || mayEdit(studio.file, can));
  const [last] = studio?.commits?.nodes ?? [];
  const view = file !== undefined && (
    <FileView
      key={path}
      place={place}
      path={path}
      version={version}
      file={studio?.file ?? null}
      fault={studio?.file ? null : fault}
      refresh={refresh}
    />
  );
  return (
    <>
      <Group justify="space-between" align="start">
        <Title order={1}>{t('title')}</Title>
        {mayWrite && items && !isEdited && (
          <Button
            variant="default"
            onClick={() => navigate({ to: '.', search: (before) => ({ draft: before.draft, new: true }) })}
          >
            {t('new_file')}
          </Button>
        )}
      </Group>
      <p className={classes.lead}>{t(mayWrite ? 'lead' : 'read_only')}</p>
      <Crumbs directory={directory} file={file} />
      {version !== undefined && last && (
        <p className={classes.version} role="status">
          {t('version_of', { time: time(last.author.date), name: last.author.name })}{' '}
          <Link to="." search={(before) => ({ ...before, version: undefined })}>
            {t('version_newest')}
          </Link>
        </p>
      )}
      {last && (
        <p className={classes.last} title={last.sha}>
          <bdi>{last.author.name}</bdi> · <span title={time(last.author.date)}>{ago(last.author.date)}</span> ·{' '}
          <MarkedText text={last.message.split('\n', 1)[0] ?? ''} />
        </p>
      )}
      {!items && (fault ? <Failure fault={fault} onRetry={refresh} /> : <Waiting />)}
      {items?.length === 0 && file === undefined && !isEditor && (
        <Notice title={t('empty')}>{t(mayWrite ? 'empty_lead' : 'empty_lead_read')}</Notice>
      )}
      {items && (items.length > 0 || file !== undefined || isEditor) && (
        <div className={classes.columns} data-file={file !== undefined || isNew || undefined}>
          <div className={classes.directory}>
            <Directory key={directory} directory={directory} items={items} open={file} />
            {studio?.filetree?.truncated && <p className={classes.last}>{t('truncated')}</p>}
          </div>
          {isEditor && (
            <Suspense fallback={<Waiting />}>
              <FileEditor
                place={place}
                directory={directory}
                name={isNew ? undefined : file}
                file={answer?.file ?? null}
                isAnswered={isFor(answer, place.draft, isNew ? null : path)}
                branch={(place.draft === undefined ? publishedOf(answer) : answer?.edited) ?? null}
                published={publishedOf(answer)?.name ?? null}
                missing={view}
                refresh={refresh}
              />
            </Suspense>
          )}
          {!isEditor && view}
        </div>
      )}
    </>
  );
}
