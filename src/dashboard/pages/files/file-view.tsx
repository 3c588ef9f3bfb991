import { Anchor, Button, Group } from '@mantine/core';
import { Link, useNavigate } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { FilesPageQuery } from '../../documents.ts';
import { commitChanges } from '../../lib/changes.ts';
import type { Fault } from '../../lib/faults.ts';
import { useFormats } from '../../lib/format.ts';
import { fileAddress } from '../../lib/media.ts';
import type { Place } from '../../lib/place.ts';
import { useCan } from '../../lib/viewer.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import { MarkedText } from '../../parts/marked-text.tsx';
import { Failure, Notice, Waiting } from '../../shell/states.tsx';
import classes from './files.module.css';
import { showUndo } from './undo-file.tsx';

const Code = lazy(async () => ({ default: (await import('./code.tsx')).Code }));

type Studio = NonNullable<NonNullable<FilesPageQuery['project']>['studio']>;

interface FileViewProps {
  place: Place;
  path: string;
  /** Commit at which it is read; undefined: as it is now. */
  version: string | undefined;
  /** Null when it could not be read. */
  file: Studio['file'] | null;
  fault: Fault | null;
  refresh: () => void;
}

/** A file as it is stored, to be read, and what can be done with it. */
export function FileView({ place, path, version, file, fault, refresh }: FileViewProps) {
  const { t } = useTranslation(['files', 'common']);
  const { bytes } = useFormats();
  const raw = fileAddress(
    version === undefined ? { ...place, branch: place.draft ?? null } : { ...place, ref: version },
    path,
  );
  const name = path.slice(path.lastIndexOf('/') + 1);
  const entry = file?.entry;
  const can = useCan(place.organization, place.project);
  const [isDeleting, setDeleting] = useState(false);
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
          {file && version === undefined && mayWrite(file, can) && can('delete_studio') && (
            <Button size="compact-sm" variant="subtle" color="red" onClick={() => setDeleting(true)}>
              {t('common:delete')}
            </Button>
          )}
          {file && version === undefined && mayEdit(file, can) && (
            <Link to="." search={(before) => ({ ...before, edit: true })} className={classes.edit}>
              {t('edit')}
            </Link>
          )}
        </Group>
      </Group>
      {isDeleting && file && (
        <Deletion place={place} path={path} sha={file.sha} onClose={() => setDeleting(false)} refresh={refresh} />
      )}
      {file ? <Content place={place} version={version} file={file} raw={raw} name={name} /> : <Missing fault={fault} />}
    </section>
  );
}

function Missing({ fault }: { fault: Fault | null }): ReactNode {
  const { t } = useTranslation('files');
  if (!fault) return <Waiting />;
  if (fault.reason === 'too_large') return <Notice title={t('too_large')}>{t('too_large_lead')}</Notice>;
  return <Failure fault={fault} />;
}

/** So much text is shown with its colours and edited, bytes: more would hold up the page, and is not taken by the server. */
const longest = 2 ** 20;

type File = NonNullable<Studio['file']>;

type Can = ReturnType<typeof useCan>;

/** Whether a person may write a file: one of media as every editor may, others with the right to manage, entries on their own pages. */
const mayWrite = ({ kind }: File, can: Can): boolean =>
  kind === 'media' ? can('edit_studio') : kind === 'other' && can('manage_studio');

/** Whether a person may edit a file here: it is text that the server takes back as it is. */
export function mayEdit(file: File, can: Can): boolean {
  const { symlink_target, lfs, encoding, size } = file;
  return mayWrite(file, can) && symlink_target == null && !lfs && encoding === 'utf-8' && size <= longest;
}

function Deletion({
  place,
  path,
  sha,
  onClose,
  refresh,
}: {
  place: Place;
  path: string;
  sha: string;
  onClose: () => void;
  refresh: () => void;
}) {
  const { t } = useTranslation(['files', 'common']);
  const navigate = useNavigate();
  const [isRunning, setRunning] = useState(false);
  const [fault, setFault] = useState<Fault | null>(null);
  const isNeeded = fault?.reason === 'in_use';
  const name = path.slice(path.lastIndexOf('/') + 1);
  const remove = async () => {
    setRunning(true);
    const { committed, fault } = await commitChanges(place, [{ op: 'delete_media', path, sha, force: isNeeded }], name);
    setRunning(false);
    setFault(fault);
    if (fault || !committed) return;
    const draft = committed.begun ?? place.draft;
    const show = (file: string | undefined) => navigate({ to: '.', search: { draft, file } });
    const text = [
      t('deleted', { name }),
      committed.begun !== null && t('common:in_draft', { branch: committed.begun }),
    ].filter(Boolean);
    showUndo({ ...place, draft }, { path, commit: committed.sha }, text.join(' '), () => {
      show(name);
      refresh();
    });
    show(undefined);
    refresh();
  };
  return (
    <Confirm
      title={t('delete_title', { name })}
      action={t(isNeeded ? 'delete_anyway' : 'common:delete')}
      onConfirm={remove}
      onClose={onClose}
      isRunning={isRunning}
      fault={fault}
    >
      {t(isNeeded ? 'delete_in_use' : 'delete_lead', { path })}
    </Confirm>
  );
}

interface ContentProps {
  place: Place;
  version: string | undefined;
  file: File;
  raw: string;
  name: string;
}

function Content({ place, version, file, raw, name }: ContentProps): ReactNode {
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
      <Code place={place} version={version} path={file.path} text={file.content} name={name} />
    </Suspense>
  );
}
