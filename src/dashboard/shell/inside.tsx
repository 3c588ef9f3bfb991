import '@mantine/notifications/styles.css';
import { useMantineColorScheme } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { Outlet, useNavigate, useRouter } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { i18n, setLanguage } from '../lib/i18n.ts';
import { schemeOf } from '../lib/preferences.ts';
import { useViewer } from '../lib/viewer.tsx';
import { ProofDialog } from './proof-dialog.tsx';

/** Around the pages for people who are signed in, in their language and theme, with what lies over each of them; leads all others to the sign-in. */
export function Inside() {
  const { me, instance } = useViewer();
  const navigate = useNavigate();
  const router = useRouter();
  const { setColorScheme } = useMantineColorScheme();
  const isAllowed = me !== null;
  useEffect(() => {
    if (isAllowed) return;
    // As it is now, and not again when the sign-in's own address is on its way.
    const { href } = router.latestLocation;
    if (instance?.setup_required) navigate({ to: '/setup', replace: true });
    else navigate({ to: '/sign-in', search: href === '/' ? {} : { next: href }, replace: true });
  }, [isAllowed, instance, navigate, router]);

  const { language, theme } = me?.preferences ?? {};
  useEffect(() => {
    if (theme) setColorScheme(schemeOf(theme));
  }, [theme, setColorScheme]);
  // Texts do not change their language under a reader's eyes: another one than this browser's last is loaded first.
  const [isReady, setReady] = useState(!language || language === i18n.language);
  useEffect(() => {
    if (language) void setLanguage(language).then(() => setReady(true));
  }, [language]);
  if (!isAllowed || !isReady) return null;
  return (
    <>
      <Notifications position="bottom-right" />
      <Outlet />
      <ProofDialog />
    </>
  );
}
