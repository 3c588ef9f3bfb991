/** What differs between two versions of the content: entries, media and other files, each opening to its fields and lines. */
import { Button, Collapse, UnstyledButton } from '@mantine/core';
import { IconArticle, IconChevronRight, IconFile, IconPhoto } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { type ChangedFileFragment, type ChangedFilesFragment, MoreChanges } from '../documents.ts';
import { client } from '../lib/client.ts';
import { usePlace } from '../lib/place.ts';
import classes from './changes.module.css';
import { EntryName } from './entry-name.tsx';
import { FileChange, type Span } from './file-change.tsx';
import { MarkedText } from './marked-text.tsx';

/** Files of one answer; the query of a page takes as many. */
export const changesPerPage = 30;

const isMedia = (path: string) => /\.(?:avif|gif|jpe?g|m4a|mp3|mp4|ogg|pdf|png|svg|webm|webp|woff2?)$/i.test(path);

function Summary({ file }: { file: ChangedFileFragment }) {
  const { t } = useTranslation('common');
  if (file.status !== 'modified') return t(`change_${file.status}`);
  if (file.labels?.length) {
    const names = file.labels.slice(0, 3);
    const more = file.labels.length - names.length;
    return (
      <bdi title={file.fields?.join(', ')}>
        {names.join(', ')}
        {more > 0 && ` +${more}`}
      </bdi>
    );
  }
  return t(file.collection === null ? 'change_modified' : 'body');
}

interface ChangeProps {
  file: ChangedFileFragment;
  number: number;
  span: Span;
  isOpenAtFirst: boolean;
}

function Change({ file, number, span, isOpenAtFirst }: ChangeProps) {
  const { t } = useTranslation('common');
  const [isOpen, setOpen] = useState(isOpenAtFirst);
  const Icon = file.collection !== null ? IconArticle : isMedia(file.path) ? IconPhoto : IconFile;
  return (
    <li className={classes.item}>
      <UnstyledButton className={classes.row} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <IconChevronRight size={14} className={classes.chevron} data-open={isOpen} />
        <Icon size={16} stroke={1.6} />
        <span className={classes.name} title={file.path}>
          {file.collection !== null ? (
            <EntryName title={file.title} collection={file.collection} slug={file.slug ?? ''} />
          ) : (
            <MarkedText text={file.path} />
          )}
        </span>
        <span className={classes.summary} data-status={file.status}>
          <Summary file={file} />
        </span>
        <span className={classes.lines} title={t('lines_changed')}>
          {file.additions + file.deletions > 0 && `+${file.additions} −${file.deletions}`}
        </span>
      </UnstyledButton>
      <Collapse expanded={isOpen}>{isOpen && <FileChange file={file} number={number} span={span} />}</Collapse>
    </li>
  );
}

interface ChangesProps {
  /** What the page's query brought. */
  first: ChangedFilesFragment;
  /** Shows what is in each file at first. */
  areOpen?: boolean;
}

export function Changes({ first, areOpen = false }: ChangesProps) {
  const { t } = useTranslation('common');
  const { organization, project } = usePlace();
  const [rest, setRest] = useState<{ of: ChangedFilesFragment; files: ChangedFileFragment[] }>({
    of: first,
    files: [],
  });
  const [isLoading, setLoading] = useState(false);
  const files = [...first.files, ...(rest.of === first ? rest.files : [])];
  const span = { base: first.merge_base_commit, head: first.head_commit };
  const more = async () => {
    setLoading(true);
    const page = files.length / changesPerPage + 1;
    const { data } = await client.query(MoreChanges, { organization, project, ...span, page }).toPromise();
    setLoading(false);
    const found = data?.project?.studio.compare?.files ?? [];
    setRest({ of: first, files: [...files.slice(first.files.length), ...found] });
  };
  if (files.length === 0) return <p className={classes.none}>{t('no_changes')}</p>;
  return (
    <>
      <ul className={classes.list}>
        {files.map((file, at) => (
          <Change key={file.path} file={file} number={at + 1} span={span} isOpenAtFirst={areOpen} />
        ))}
      </ul>
      {files.length < first.total_files && (
        <Button mt="sm" variant="default" onClick={more} loading={isLoading}>
          {t('more')} ({first.total_files - files.length})
        </Button>
      )}
    </>
  );
}
