import { Alert, Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { slugProblem, typedSlug } from '../../lib/entry-slug.ts';
import type { Fault } from '../../lib/faults.ts';
import type { Editor, Redirect } from './editor.ts';
import { type Renamed, renameEntry, type Target } from './save.ts';

interface RenameDialogProps {
  editor: Editor;
  target: Target;
  onClose: () => void;
  /** Leads to the entry under its new name. */
  onRenamed: (renamed: Renamed) => void;
}

/** Another slug for the entry. */
export function RenameDialog({ editor, target, onClose, onRenamed }: RenameDialogProps) {
  const { t } = useTranslation(['entry', 'common']);
  const [slug, setSlug] = useState(target.slug ?? '');
  const [isRunning, setRunning] = useState(false);
  const [fault, setFault] = useState<Fault | null>(null);
  const problem = slug === target.slug ? null : slugProblem(slug);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setRunning(true);
    const outcome = await renameEntry(editor, target, slug.trim());
    setRunning(false);
    if ('fault' in outcome) return setFault(outcome.fault);
    onRenamed(outcome);
  };
  return (
    <Modal opened onClose={onClose} title={t('rename_title')}>
      <form onSubmit={submit}>
        <Stack>
          <Text size="sm">{t('rename_lead')}</Text>
          <TextInput
            label={t('slug')}
            value={slug}
            onChange={(event) => setSlug(typedSlug(event.currentTarget.value))}
            error={
              problem
                ? t(problem.key, { characters: problem.characters })
                : (fault?.fields.get('/slug') ?? fault?.fields.get('/actions/0/to'))
            }
            data-autofocus
            required
          />
          {fault && !fault.fields.has('/slug') && (
            <Alert color="red" role="alert">
              {fault.message}
            </Alert>
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {t('common:cancel')}
            </Button>
            <Button
              type="submit"
              loading={isRunning}
              disabled={slug.trim() === '' || slug.trim() === target.slug || problem !== null}
            >
              {t('rename')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

interface RedirectDialogProps {
  editor: Editor;
  redirect: Redirect;
}

/** After a rename, where the site can lead from the old address to the new one. */
export function RedirectDialog({ editor, redirect }: RedirectDialogProps) {
  const { t } = useTranslation('entry');
  const address = redirect.url ?? redirect.slug;
  const close = () => editor.update({ redirect: null });
  const keep = () => {
    const before = editor.value(redirect.field);
    editor.set(redirect.field, [...(Array.isArray(before) ? before : []), address]);
    close();
  };
  return (
    <Modal opened onClose={close} title={t('rename_title')}>
      <Stack>
        <Text size="sm">{t('redirect_lead', { address })}</Text>
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            {t('redirect_no')}
          </Button>
          <Button onClick={keep}>{t('redirect_yes')}</Button>
        </Group>
      </Stack>
    </Modal>
  );
}
