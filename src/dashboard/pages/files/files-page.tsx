import { Title } from '@mantine/core';
import { useParams, useSearch } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { useFormats } from '../../lib/format.ts';
import { usePageQuery } from '../../lib/page-query.ts';
import { usePlace } from '../../lib/place.ts';
import { MarkedText } from '../../parts/marked-text.tsx';
import { Failure, Notice, Waiting } from '../../shell/states.tsx';
import { Crumbs } from './crumbs.tsx';
import { Directory } from './directory.tsx';
import { FileView } from './file-view.tsx';
import classes from './files.module.css';
import { filesQuery } from './files-query.ts';

/** The files of the repository: a directory at a time, beside it a file of it. */
export function FilesPage() {
  const { t } = useTranslation('files');
  const place = usePlace();
  const { _splat: directory = '' } = useParams({ strict: false });
  const { file } = useSearch({ strict: false });
  const { ago, time } = useFormats();
  const { data, fault, refresh } = usePageQuery(filesQuery(place, directory, file));
  const studio = data?.project?.studio;
  const items = studio?.filetree?.tree;
  const [last] = studio?.commits?.nodes ?? [];
  return (
    <>
      <Title order={1}>{t('title')}</Title>
      <p className={classes.lead}>{t('read_only')}</p>
      <Crumbs directory={directory} file={file} />
      {last && (
        <p className={classes.last} title={last.sha}>
          <bdi>{last.author.name}</bdi> · <span title={time(last.author.date)}>{ago(last.author.date)}</span> ·{' '}
          <MarkedText text={last.message.split('\n', 1)[0] ?? ''} />
        </p>
      )}
      {!items && (fault ? <Failure fault={fault} onRetry={refresh} /> : <Waiting />)}
      {items?.length === 0 && file === undefined && <Notice title={t('empty')}>{t('empty_lead')}</Notice>}
      {items && (items.length > 0 || file !== undefined) && (
        <div className={classes.columns} data-file={file !== undefined || undefined}>
          <div className={classes.directory}>
            <Directory key={directory} directory={directory} items={items} open={file} />
            {studio.filetree?.truncated && <p className={classes.last}>{t('truncated')}</p>}
          </div>
          {file !== undefined && (
            <FileView
              key={`${directory}/${file}`}
              place={place}
              path={[directory, file].filter(Boolean).join('/')}
              file={studio.file ?? null}
              fault={studio.file ? null : fault}
            />
          )}
        </div>
      )}
    </>
  );
}
