/** One file: what it is, how entries name it, and what can be done with it. */
import { Button, Drawer, FileButton, Group, Stack, Text, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { Link } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { BringBackMedia, DeleteMediaFile, type MediaItemFragment } from '../../documents.ts';
import { send, useCommand } from '../../lib/command.ts';
import type { Fault } from '../../lib/faults.ts';
import { useFormats } from '../../lib/format.ts';
import { directoryOf, fileAddress } from '../../lib/media.ts';
import type { Place } from '../../lib/place.ts';
import { uploadFile } from '../../lib/upload.ts';
import { useCan } from '../../lib/viewer.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import { Copyable } from '../../parts/copyable.tsx';
import { FaultAlert } from '../../parts/fault-alert.tsx';
import { MarkedText } from '../../parts/marked-text.tsx';
import classes from './media-details.module.css';
import { referrersOf, renameMedia } from './rename-media.ts';

interface MediaDetailsProps {
  item: MediaItemFragment;
  place: Place;
  refresh: () => void;
  onClose: () => void;
}

/** Another name for a file; entries that name it are changed with it. */
function Rename({ item, place, refresh, onClose }: MediaDetailsProps) {
  const { t } = useTranslation('media');
  const [name, setName] = useState(item.name);
  const [isRunning, setRunning] = useState(false);
  const [fault, setFault] = useState<Fault | null>(null);
  // As the server stores it.
  const stored = name.trim().normalize('NFC').replace(/ +/g, '-');
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setRunning(true);
    const found = await renameMedia(place, item, stored);
    setRunning(false);
    setFault(found);
    if (found) return;
    notifications.show({ message: t('renamed', { name: stored }) });
    refresh();
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
            dir="auto"
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
function Deletion({ item, place, refresh, onClose, onDone }: MediaDetailsProps & { onDone: () => void }) {
  const { t } = useTranslation(['media', 'common']);
  const { organization, project, draft } = place;
  const { run, isRunning, fault } = useCommand(DeleteMediaFile);
  const referrers = referrersOf(fault);
  const at = draft === undefined ? {} : { branch: draft };
  const bringBack = async (commit: string) => {
    const input = { path: item.path, commit, ...at };
    const { fault } = await send(BringBackMedia, { organization, project, input });
    notifications.show(
      fault ? { color: 'red', message: fault.message } : { message: t('is_back', { name: item.name }) },
    );
    refresh();
  };
  const remove = async () => {
    const input = { media: item.path, sha: item.sha, force: referrers !== null, ...at };
    const { data, fault } = await run({ organization, project, input });
    if (fault) return;
    const commit = data.deleteMedia?.commit.sha;
    const id = notifications.show({
      title: t('deleted', { name: item.name }),
      autoClose: 15_000,
      message: commit && (
        <Button
          size="compact-xs"
          variant="default"
          onClick={() => {
            notifications.hide(id);
            void bringBack(commit);
          }}
        >
          {t('bring_back')}
        </Button>
      ),
    });
    refresh();
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
              {collection} / {slug}
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
  const { item, place, refresh, onClose } = props;
  const { organization, project, draft } = place;
  const can = useCan(organization, project);
  const formats = useFormats();
  const [isDeletion, setDeletion] = useState(false);
  const address = fileAddress({ organization, project, branch: draft ?? null }, item.path);
  const replace = (file: File | null) => {
    if (!file) return;
    const replaced = { name: item.name, sha: item.sha };
    uploadFile(place, { file, directory: directoryOf(item.path), replaced }).then(refresh, (error: Error) =>
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
        {can('edit_studio') && can('delete_studio') && <Rename key={item.path} {...props} />}
      </Stack>
      {isDeletion && <Deletion {...props} onClose={() => setDeletion(false)} onDone={onClose} />}
    </Drawer>
  );
}
