/** What a changed file is made of: its fields before and after, its picture, and its lines when they are wanted. */
import { Button, Skeleton, Stack } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useQuery } from 'urql';
import { type ChangedFileFragment, EntryAtTwo, FilePatch } from '../documents.ts';
import { usePlace } from '../lib/place.ts';
import { rawFileUrl } from '../lib/raw-file.ts';
import { Diff, DiffLayout } from './diff.tsx';
import { fieldName, valueAt } from './field-name.ts';
import { FieldValue } from './field-value.tsx';
import classes from './file-change.module.css';

/** Two commits; what differs is shown as a change from one to the other. */
export interface Span {
  base: string;
  head: string;
}

interface FileChangeProps {
  file: ChangedFileFragment;
  /** Place of the file among all that differ, from 1. */
  number: number;
  span: Span;
}

/** Slug under which a renamed entry was found before. */
function formerSlug({ path, previous_path, slug }: ChangedFileFragment): string {
  const start = path.lastIndexOf(slug ?? '');
  const extension = path.slice(start + (slug?.length ?? 0));
  const isBeside = previous_path?.startsWith(path.slice(0, start)) && previous_path.endsWith(extension);
  return isBeside && previous_path ? previous_path.slice(start, previous_path.length - extension.length) : (slug ?? '');
}

function Fields({ file, span }: Omit<FileChangeProps, 'number'>) {
  const { t } = useTranslation('common');
  const { organization, project } = usePlace();
  const { collection, slug, status } = file;
  const [{ data }] = useQuery({
    query: EntryAtTwo,
    variables: {
      ...{ organization, project, collection: collection ?? '', slug: slug ?? '', former: formerSlug(file), ...span },
      ...{ has_base: status !== 'added', has_head: status !== 'removed' },
    },
  });
  const studio = data?.project?.studio;
  if (!studio) return <Skeleton height={48} />;
  const { before, after } = studio;
  const isBodyChanged = (before?.body ?? '') !== (after?.body ?? '');
  return (
    <table className={classes.fields}>
      <thead>
        <tr>
          <th scope="col">{t('field')}</th>
          <th scope="col">{t('before')}</th>
          <th scope="col">{t('after')}</th>
        </tr>
      </thead>
      <tbody>
        {file.fields?.map((pointer) => (
          <tr key={pointer}>
            <th scope="row">
              <bdi>{fieldName(pointer)}</bdi>
            </th>
            <td data-label={t('before')}>
              <FieldValue value={valueAt(before?.frontmatter, pointer)} />
            </td>
            <td data-label={t('after')}>
              <FieldValue value={valueAt(after?.frontmatter, pointer)} />
            </td>
          </tr>
        ))}
        {isBodyChanged && (
          <tr>
            <th scope="row">{t('body')}</th>
            <td colSpan={2}>{t('body_changed', { added: file.additions, removed: file.deletions })}</td>
          </tr>
        )}
      </tbody>
    </table>
  );
}

const isPicture = (path: string) => /\.(?:avif|gif|jpe?g|png|svg|webp)$/i.test(path);

function Pictures({ file: { path, previous_path, status }, span }: Omit<FileChangeProps, 'number'>) {
  const { t } = useTranslation('common');
  const place = usePlace();
  return (
    <div className={classes.pictures}>
      {status !== 'added' && (
        <figure>
          <img src={rawFileUrl(place, previous_path ?? path, { ref: span.base })} alt="" />
          <figcaption>{t('before')}</figcaption>
        </figure>
      )}
      {status !== 'removed' && (
        <figure>
          <img src={rawFileUrl(place, path, { ref: span.head })} alt="" />
          <figcaption>{t('after')}</figcaption>
        </figure>
      )}
    </div>
  );
}

function Lines({ file, number, span }: FileChangeProps) {
  const { t } = useTranslation('common');
  const { organization, project } = usePlace();
  const [{ data }] = useQuery({ query: FilePatch, variables: { organization, project, ...span, page: number } });
  const found = data?.project?.studio.compare?.files[0];
  if (!found) return <Skeleton height={96} />;
  if (!found.patch) return <p>{t('diff_binary')}</p>;
  return <Diff patch={found.patch} isTruncated={found.truncated === true} label={t('diff_of', { path: file.path })} />;
}

export function FileChange(props: FileChangeProps) {
  const { t } = useTranslation('common');
  const { file } = props;
  const isEntry = file.collection !== null && file.fields !== null;
  const isShown = isPicture(file.path);
  const [areLinesWanted, setLinesWanted] = useState(!isEntry && !isShown);
  return (
    <Stack gap="sm" className={classes.change}>
      {isEntry && <Fields {...props} />}
      {isShown && <Pictures {...props} />}
      {areLinesWanted && (
        <>
          <div>
            <DiffLayout />
          </div>
          <Lines {...props} />
        </>
      )}
      {isEntry && (
        <div>
          <Button size="compact-sm" variant="default" onClick={() => setLinesWanted(!areLinesWanted)}>
            {t(areLinesWanted ? 'hide_lines' : 'show_lines')}
          </Button>
        </div>
      )}
    </Stack>
  );
}
