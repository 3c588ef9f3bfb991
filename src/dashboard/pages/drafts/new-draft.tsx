import { Button, Group, Modal, Stack, TextInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { NewDraft as NewDraftDocument } from '../../documents.ts';
import { useCommand } from '../../lib/command.ts';
import { usePlace } from '../../lib/place.ts';
import { FaultAlert } from '../../parts/fault-alert.tsx';

/** A name as git takes it (git-check-ref-format): spaces and what it refuses become dashes. */
const branchName = (name: string): string =>
  name
    .trim()
    .replace(/[\s~^:?*[\]\\@{}\p{Cc}\p{Cf}]+|\.\.+/gu, '-')
    .replace(/^[-./]+|(?<![-./])[-./]+$/g, '');

/** Asks for the name of a draft, makes it of the published version, and goes to its content. */
export function NewDraft({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const { t } = useTranslation(['drafts', 'common']);
  const { organization, project } = usePlace();
  const navigate = useNavigate();
  const [name, setName] = useState('');
  const { run, isRunning, fault, reset } = useCommand(NewDraftDocument);
  const branch = branchName(name);
  const close = () => {
    setName('');
    reset();
    onClose();
  };
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const { fault } = await run({ organization, project, input: { name: branch, title: name.trim() } });
    if (fault) return;
    close();
    navigate({ to: '/p/$organization/$project/content', params: { organization, project }, search: { draft: branch } });
  };
  const ofField = fault?.fields.get('/name') ?? fault?.fields.get('/title');
  return (
    <Modal opened={isOpen} onClose={close} title={t('common:new_draft')}>
      <form onSubmit={submit}>
        <Stack>
          {!ofField && <FaultAlert fault={fault} />}
          <TextInput
            label={t('name')}
            description={branch !== '' && branch !== name ? t('name_in_git', { name: branch }) : t('name_hint')}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            error={ofField}
            required
            withAsterisk={false}
            data-autofocus
          />
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              {t('common:cancel')}
            </Button>
            <Button type="submit" loading={isRunning} disabled={branch === ''}>
              {t('create')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
