/** Signing out, which asks first what is to become of drafts that this browser alone has. */
import { Button, Modal, Stack, Text } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { SignOut } from '../documents.ts';
import { client } from './client.ts';
import { useViewer } from './viewer.tsx';

/** Ends the session and loads the page anew, so that nothing of the person stays in memory. */
async function leave(): Promise<void> {
  await client.mutation(SignOut, {}).toPromise();
  location.assign('/sign-in');
}

/** @returns what a button or menu calls, and the dialog, which has to be rendered beside it */
export function useSignOut(): { signOut: () => Promise<void>; dialog: ReactNode } {
  const { t } = useTranslation(['session', 'common']);
  const { me } = useViewer();
  const [drafts, setDrafts] = useState(0);
  const user = me?.id ?? '';
  const signOut = async () => {
    const { countLocalDrafts } = await import('./local-drafts.ts');
    // A browser that refuses storage has no drafts.
    const count = await countLocalDrafts(user).catch(() => 0);
    if (count > 0) setDrafts(count);
    else await leave();
  };
  const remove = async () => {
    const { removeLocalDraftsOf } = await import('./local-drafts.ts');
    await removeLocalDraftsOf(user);
    await leave();
  };
  const dialog = (
    <Modal opened={drafts > 0} onClose={() => setDrafts(0)} title={t('drafts_here', { count: drafts })}>
      <Stack>
        <Text>{t('drafts_lead')}</Text>
        <Button onClick={leave} data-autofocus>
          {t('drafts_keep')}
        </Button>
        <Button variant="outline" color="red" onClick={remove}>
          {t('drafts_remove')}
        </Button>
        <Button variant="default" onClick={() => setDrafts(0)}>
          {t('common:cancel')}
        </Button>
      </Stack>
    </Modal>
  );
  return { signOut, dialog };
}
