import { Alert, Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { slugProblem, typedSlug } from '../../lib/entry-slug.ts';
import type { Fault } from '../../lib/faults.ts';
import type { Editor } from './editor.ts';
import { type Renamed, renameEntry, type Target } from './save.ts';

interface RenameDialogProps {
  editor: Editor;
  target: Target;
  onClose: () => void;
  /** Leads to the entry under its new name. */
  onRenamed: (renamed: Renamed) => void;
}

/** Another slug for the entry; where the site can redirect from the old address, that is offered. */
export function RenameDialog({ editor, target, onClose, onRenamed }: RenameDialogProps) {
  const { t } = useTranslation(['entry', 'common']);
  const [slug, setSlug] = useState(target.slug ?? '');
  const [isRunning, setRunning] = useState(false);
  const [fault, setFault] = useState<Fault | null>(null);
  const [renamed, setRenamed] = useState<Renamed | null>(null);
  const problem = slug === target.slug ? null : slugProblem(slug);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setRunning(true);
    const outcome = await renameEntry(editor, target, slug.trim());
    setRunning(false);
    if ('fault' in outcome) return setFault(outcome.fault);
    if (outcome.redirect === null) onRenamed(outcome);
    else setRenamed(outcome);
  };
  const redirect = renamed?.redirect;
  const addRedirect = () => {
    if (!renamed || !redirect) return;
    const before = editor.value(redirect.field);
    const address = redirect.url ?? redirect.slug;
    editor.set(redirect.field, [...(Array.isArray(before) ? before : []), address]);
    onRenamed(renamed);
  };
  return (
    <Modal opened onClose={() => (renamed ? onRenamed(renamed) : onClose())} title={t('rename_title')}>
      {renamed && redirect ? (
        <Stack>
          <Text size="sm">{t('redirect_lead', { address: redirect.url ?? redirect.slug })}</Text>
          <Group justify="flex-end">
            <Button variant="default" onClick={() => onRenamed(renamed)}>
              {t('redirect_no')}
            </Button>
            <Button onClick={addRedirect}>{t('redirect_yes')}</Button>
          </Group>
        </Stack>
      ) : (
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
      )}
    </Modal>
  );
}
