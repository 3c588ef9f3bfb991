import { Outlet, useNavigate, useRouter } from '@tanstack/react-router';
import { useEffect } from 'react';
import { isLanguage, setLanguage } from '../lib/i18n.ts';
import { useViewer } from '../lib/viewer.tsx';

/** Around the pages for people who are signed in; leads all others to where they can. */
export function Inside() {
  const { me, instance } = useViewer();
  const navigate = useNavigate();
  const router = useRouter();
  const isAllowed = me !== null;
  useEffect(() => {
    if (isAllowed) return;
    // As it is now, and not again when the sign-in's own address is on its way.
    const { href } = router.latestLocation;
    if (instance?.setup_required) navigate({ to: '/setup', replace: true });
    else navigate({ to: '/sign-in', search: href === '/' ? {} : { next: href }, replace: true });
  }, [isAllowed, instance, navigate, router]);
  const language = me?.preferences?.language;
  useEffect(() => {
    if (language && isLanguage(language)) setLanguage(language);
  }, [language]);
  return isAllowed ? <Outlet /> : null;
}
