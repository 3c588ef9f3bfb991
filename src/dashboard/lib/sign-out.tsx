/** Signing out, which asks first what is to become of drafts that this browser alone has. */
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { SignOut } from '../documents.ts';
import { client } from './client.ts';
import { useViewer } from './viewer.tsx';

/** Ends the session and loads the page anew, so that nothing of the person stays in memory. */
async function leave(): Promise<void> {
  await client.mutation(SignOut, {}).toPromise();
  location.assign('/sign-in');
}

const SignOutDialog = lazy(async () => ({ default: (await import('./sign-out-dialog.tsx')).SignOutDialog }));

/** @returns what a button or menu calls, and the dialog, which has to be rendered beside it */
export function useSignOut(): { signOut: () => Promise<void>; dialog: ReactNode } {
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
  const dialog = drafts > 0 && (
    <Suspense>
      <SignOutDialog drafts={drafts} onKeep={leave} onRemove={remove} onClose={() => setDrafts(0)} />
    </Suspense>
  );
  return { signOut, dialog };
}
