/** One file: what it is, how entries name it, and what can be done with it. */
import { Button, Drawer, FileButton, Group, Stack, Text, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { Link } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { BringBackMedia, type MediaItemFragment } from '../../documents.ts';
import { type Committed, commitChanges, type FileAction } from '../../lib/changes.ts';
import { send } from '../../lib/command.ts';
import type { Fault } from '../../lib/faults.ts';
import { useFormats } from '../../lib/format.ts';
import { directoryOf, fileAddress } from '../../lib/media.ts';
import type { Place } from '../../lib/place.ts';
import { uploadFile } from '../../lib/upload.ts';
import { useCan } from '../../lib/viewer.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import { Copyable } from '../../parts/copyable.tsx';
import { useCollectionLabel } from '../../parts/entry-name.tsx';
import { FaultAlert } from '../../parts/fault-alert.tsx';
import { MarkedText } from '../../parts/marked-text.tsx';
import classes from './media-details.module.css';
import { MediaUses } from './media-uses.tsx';
import { referrersOf, renameMedia } from './rename-media.ts';

interface MediaDetailsProps {
  item: MediaItemFragment;
  place: Place;
  /** A change begins a draft. */
  opensDraft: boolean;
  /** @param begun branch of the draft that was begun with the change; null: the change is where one works */
  onChanged: (begun: string | null) => void;
  onClose: () => void;
}

/** Another name for a file; entries that name it are changed with it. */
function Rename({ item, place, onChanged, onClose }: MediaDetailsProps) {
  const { t } = useTranslation(['media', 'common']);
  const [name, setName] = useState(item.name);
  const [isRunning, setRunning] = useState(false);
  const [fault, setFault] = useState<Fault | null>(null);
  // As the server stores it.
  const stored = name.trim().normalize('NFC').replace(/ +/g, '-');
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setRunning(true);
    const { committed, fault } = await renameMedia(place, item, stored);
    setRunning(false);
    setFault(fault);
    if (fault) return;
    const begun = committed?.begun ?? null;
    notifications.show({
      title: t('renamed', { name: stored }),
      message: begun !== null && t('common:in_draft', { branch: begun }),
    });
    onChanged(begun);
    onClose();
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="xs">
        <FaultAlert fault={fault} />
        <Group align="end" gap="xs" wrap="nowrap">
          <TextInput
            flex={1}
            label={t('name')}
            description={t('name_hint')}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          <Button
            type="submit"
            variant="default"
            loading={isRunning}
            disabled={stored === '' || stored === item.name || stored.includes('/')}
          >
            {t('rename')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/** Asks before a file goes; where entries name it they are listed first. */
function Deletion({ item, place, onChanged, onClose, onDone }: MediaDetailsProps & { onDone: () => void }) {
  const { t } = useTranslation(['media', 'common']);
  const labelOf = useCollectionLabel();
  const { organization, project, draft } = place;
  const [isRunning, setRunning] = useState(false);
  const [fault, setFault] = useState<Fault | null>(null);
  const referrers = referrersOf(fault);
  const bringBack = async ({ sha, begun }: Committed) => {
    const input = { path: item.path, commit: sha, branch: begun ?? draft ?? null };
    const { fault } = await send(BringBackMedia, { organization, project, input });
    notifications.show(
      fault ? { color: 'red', message: fault.message } : { message: t('is_back', { name: item.name }) },
    );
    onChanged(null);
  };
  const remove = async () => {
    setRunning(true);
    const action: FileAction = { op: 'delete_media', path: item.path, sha: item.sha, force: referrers !== null };
    const { committed, fault } = await commitChanges(place, [action], item.name, `Delete ${item.path}`);
    setRunning(false);
    setFault(fault);
    if (fault) return;
    const begun = committed?.begun ?? null;
    const id = notifications.show({
      title: t('deleted', { name: item.name }),
      autoClose: 15_000,
      message: (
        <>
          {begun !== null && <p>{t('common:in_draft', { branch: begun })}</p>}
          {committed && (
            <Button
              size="compact-xs"
              variant="default"
              onClick={() => {
                notifications.hide(id);
                void bringBack(committed);
              }}
            >
              {t('bring_back')}
            </Button>
          )}
        </>
      ),
    });
    onChanged(begun);
    onDone();
  };
  return (
    <Confirm
      title={t('delete_title', { name: item.name })}
      action={t(referrers ? 'delete_anyway' : 'common:delete')}
      onConfirm={remove}
      onClose={onClose}
      isRunning={isRunning}
      fault={referrers ? null : fault}
    >
      {referrers ? (
        <>
          {t('used', { count: referrers.length })}{' '}
          {referrers.slice(0, 20).map(({ collection, slug, path }) => (
            <Link
              key={path}
              className={classes.referrer}
              to="/p/$organization/$project/content/$collection/$"
              params={{ organization, project, collection, _splat: slug }}
              search={draft === undefined ? {} : { draft }}
            >
              <MarkedText text={`${labelOf(collection)} / ${slug}`} />
            </Link>
          ))}
        </>
      ) : (
        t('delete_lead')
      )}
    </Confirm>
  );
}

export function MediaDetails(props: MediaDetailsProps) {
  const { t } = useTranslation(['media', 'common']);
  const { item, place, opensDraft, onChanged, onClose } = props;
  const { organization, project, draft } = place;
  const can = useCan(organization, project);
  const formats = useFormats();
  const [isDeletion, setDeletion] = useState(false);
  const address = fileAddress({ organization, project, branch: draft ?? null }, item.path);
  const replace = (file: File | null) => {
    if (!file) return;
    const replaced = { name: item.name, sha: item.sha };
    uploadFile({ ...place, opensDraft }, { file, directory: directoryOf(item.path), replaced }).then(
      (stored) => onChanged(stored?.begun ?? null),
      (error: Error) =>
        notifications.show({ color: 'red', title: t('failed', { name: file.name }), message: error.message }),
    );
  };
  const facts = [
    item.mime,
    item.size != null && formats.bytes(item.size),
    item.width != null && item.height != null && `${item.width} × ${item.height}`,
  ];
  return (
    <Drawer
      opened
      onClose={onClose}
      position="right"
      size={480}
      title={<MarkedText text={item.name} />}
      closeButtonProps={{ 'aria-label': t('common:close') }}
    >
      <Stack>
        {item.mime?.startsWith('image/') && (
          <img className={classes.picture} src={`${address}&sha=${item.sha}`} alt={t('preview', { name: item.name })} />
        )}
        <Text size="sm" c="dimmed">
          {facts.filter(Boolean).join(' · ')}
        </Text>
        <Copyable label={t('path')} value={item.path} />
        {item.public_path && <Copyable label={t('address')} value={item.public_path} />}
        <Group gap="xs">
          <Button component="a" href={address} download={item.name} variant="default">
            {t('download')}
          </Button>
          {can('edit_studio') && (
            <FileButton onChange={replace}>
              {(button) => (
                <Button {...button} variant="default">
                  {t('replace')}
                </Button>
              )}
            </FileButton>
          )}
          {can('delete_studio') && (
            <Button variant="default" onClick={() => setDeletion(true)}>
              {t('common:delete')}
            </Button>
          )}
        </Group>
        <MediaUses item={item} place={place} />
        {can('edit_studio') && can('delete_studio') && <Rename key={item.path} {...props} />}
      </Stack>
      {isDeletion && <Deletion {...props} onClose={() => setDeletion(false)} onDone={onClose} />}
    </Drawer>
  );
}
