import { Anchor, Group } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense } from 'react';
import { useTranslation } from 'react-i18next';
import type { ContentPageQuery, FilesPageQuery } from '../../documents.ts';
import type { Fault } from '../../lib/faults.ts';
import { useFormats } from '../../lib/format.ts';
import { fileAddress } from '../../lib/media.ts';
import { usePageQuery } from '../../lib/page-query.ts';
import type { Place } from '../../lib/place.ts';
import { MarkedText } from '../../parts/marked-text.tsx';
import { Failure, Notice, Waiting } from '../../shell/states.tsx';
import { contentQuery } from '../content/content-query.ts';
import classes from './files.module.css';

const Code = lazy(async () => ({ default: (await import('./code.tsx')).Code }));

type Studio = NonNullable<NonNullable<FilesPageQuery['project']>['studio']>;
type Collections = NonNullable<NonNullable<NonNullable<ContentPageQuery['project']>['studio']>['collections']>['nodes'];

/** The entry that a file is, by the place and ending of its collection's entries. */
function entryOf(path: string, collections: Collections): { collection: string; slug: string } | null {
  for (const { name, path: root, schema } of collections) {
    const inside = root === '' ? path : path.startsWith(`${root}/`) ? path.slice(root.length + 1) : null;
    const ending = schema?.extensions.find((extension) => inside?.endsWith(`.${extension}`));
    if (inside !== null && ending) return { collection: name, slug: inside.slice(0, -ending.length - 1) };
  }
  return null;
}

interface FileViewProps {
  place: Place;
  path: string;
  /** Null when it could not be read. */
  file: Studio['file'] | null;
  fault: Fault | null;
}

/** A file as it is stored, to be read. */
export function FileView({ place, path, file, fault }: FileViewProps) {
  const { t } = useTranslation('files');
  const { bytes } = useFormats();
  const raw = fileAddress({ ...place, branch: place.draft ?? null }, path);
  const name = path.slice(path.lastIndexOf('/') + 1);
  // Not waited for: the file is there before it is known to be an entry.
  const { data } = usePageQuery(contentQuery(place));
  const entry = entryOf(path, data?.project?.studio?.collections?.nodes ?? []);
  return (
    <section className={classes.file} aria-label={name}>
      <Group justify="space-between" className={classes.fileHead} gap="xs">
        <strong className={classes.name}>
          <MarkedText text={name} />
        </strong>
        <Group gap="md">
          {file && <span className={classes.size}>{bytes(file.size)}</span>}
          {entry && (
            <Link
              to="/p/$organization/$project/content/$collection/$"
              params={{ ...place, collection: entry.collection, _splat: entry.slug }}
              search={{ draft: place.draft }}
            >
              {t('open_entry')}
            </Link>
          )}
          <Anchor href={raw} download={name}>
            {t('download')}
          </Anchor>
        </Group>
      </Group>
      {file ? <Content file={file} raw={raw} name={name} /> : <Missing fault={fault} />}
    </section>
  );
}

function Missing({ fault }: { fault: Fault | null }): ReactNode {
  const { t } = useTranslation('files');
  if (!fault) return <Waiting />;
  if (fault.reason === 'too_large') return <Notice title={t('too_large')}>{t('too_large_lead')}</Notice>;
  return <Failure fault={fault} />;
}

/** So much text is shown with its colours, characters; more would hold up the page. */
const longest = 1_000_000;

function Content({ file, raw, name }: { file: NonNullable<Studio['file']>; raw: string; name: string }): ReactNode {
  const { t } = useTranslation('files');
  const { bytes } = useFormats();
  if (file.symlink_target != null)
    return (
      <Notice title={t('symlink')}>
        <MarkedText text={file.symlink_target} />
      </Notice>
    );
  if (file.lfs) return <Notice title={t('lfs')}>{t('lfs_lead', { size: bytes(file.lfs.size) })}</Notice>;
  if (file.mime.startsWith('image/'))
    return (
      <div className={classes.image}>
        <img src={raw} alt={t('image', { name })} />
      </div>
    );
  if (file.encoding !== 'utf-8') return <Notice title={t('binary')}>{t('binary_lead')}</Notice>;
  if (file.content === '') return <Notice title={t('empty_file')} />;
  if (file.content.length > longest) return <Notice title={t('too_large')}>{t('too_large_lead')}</Notice>;
  return (
    <Suspense fallback={<Waiting />}>
      <Code text={file.content} name={name} />
    </Suspense>
  );
}
