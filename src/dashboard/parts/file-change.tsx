/** What a changed file is made of: its fields before and after, its picture, and its lines when they are wanted. */
import { Button, Skeleton, Stack } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useQuery } from 'urql';
import { type ChangedFileFragment, FilePatch, FileValues } from '../documents.ts';
import { fileAddress } from '../lib/media.ts';
import { usePlace } from '../lib/place.ts';
import { Diff, DiffLayout } from './diff.tsx';
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

function Fields({ file, number, span }: FileChangeProps) {
  const { t } = useTranslation('common');
  const { organization, project } = usePlace();
  const [{ data }] = useQuery({ query: FileValues, variables: { organization, project, ...span, page: number } });
  const entry = data?.project?.studio.compare?.files[0]?.entry;
  if (!entry) return <Skeleton height={48} />;
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
        {entry.fields.map(({ field, label, before, after, truncated }) => (
          <tr key={field}>
            <th scope="row" title={field}>
              <bdi>{label}</bdi>
            </th>
            {truncated ? (
              <td colSpan={2}>{t('value_long')}</td>
            ) : (
              <>
                <td data-label={t('before')}>
                  <FieldValue value={before ?? undefined} />
                </td>
                <td data-label={t('after')}>
                  <FieldValue value={after ?? undefined} />
                </td>
              </>
            )}
          </tr>
        ))}
        {entry.body_changed && (
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
  const { organization, project } = usePlace();
  return (
    <div className={classes.pictures}>
      {status !== 'added' && (
        <figure>
          <img src={fileAddress({ organization, project, ref: span.base }, previous_path ?? path)} alt="" />
          <figcaption>{t('before')}</figcaption>
        </figure>
      )}
      {status !== 'removed' && (
        <figure>
          <img src={fileAddress({ organization, project, ref: span.head }, path)} alt="" />
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
