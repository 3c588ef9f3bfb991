/** The frame of all pages: the bar at the top, the navigation beside the page, below it on a telephone. */
import { ActionIcon, Avatar, Menu, UnstyledButton, useMantineColorScheme } from '@mantine/core';
import { useDisclosure, useWindowEvent } from '@mantine/hooks';
import { IconMenu2, IconMoon, IconSearch, IconSun, IconX } from '@tabler/icons-react';
import { Link, useNavigate } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useSavePreferences } from '../lib/preferences.ts';
import { useSignOut } from '../lib/sign-out.tsx';
import { useSingleKey } from '../lib/single-key.ts';
import { useViewer } from '../lib/viewer.tsx';
import classes from './frame.module.css';
import { Tray } from './tray.tsx';

const Palette = lazy(async () => ({ default: (await import('./palette.tsx')).Palette }));

interface FrameProps {
  /** Beside the name of the product: where one is. */
  bar?: ReactNode;
  navigation?: ReactNode;
  /** Above the page, in its width: what one works on. */
  strip?: ReactNode;
  /** In the bar, beside what every page has. */
  tools?: ReactNode;
  /** Beside the page, over its whole height. */
  aside?: ReactNode;
  children: ReactNode;
}

function ThemeSwitch() {
  const { t } = useTranslation(['frame', 'common', 'session']);
  const { colorScheme } = useMantineColorScheme();
  const save = useSavePreferences();
  const isDark =
    colorScheme === 'dark' || (colorScheme === 'auto' && matchMedia('(prefers-color-scheme: dark)').matches);
  return (
    <ActionIcon
      className={classes.theme}
      variant="subtle"
      color="gray"
      aria-label={t(isDark ? 'to_light' : 'to_dark')}
      onClick={() => save({ theme: isDark ? 'light' : 'dark' })}
    >
      {isDark ? <IconSun size={18} /> : <IconMoon size={18} />}
    </ActionIcon>
  );
}

function UserMenu() {
  const { t } = useTranslation(['frame', 'common', 'session']);
  const { me } = useViewer();
  const navigate = useNavigate();
  const { signOut, dialog } = useSignOut();
  return (
    <>
      <Menu position="bottom-end" width={220}>
        <Menu.Target>
          <UnstyledButton className={classes.person}>
            <Avatar name={me?.name ?? ''} size={28} radius="50%" color="teal" variant="filled" aria-hidden />
            <span className="unseen">{t('account_of', { name: me?.name ?? '' })}</span>
          </UnstyledButton>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Label>{me?.email}</Menu.Label>
          <Menu.Item onClick={() => navigate({ to: '/account' })}>{t('account')}</Menu.Item>
          <Menu.Item onClick={() => navigate({ to: '/' })}>{t('organizations')}</Menu.Item>
          <Menu.Item component="a" href="/reference">
            {t('reference')}
          </Menu.Item>
          <Menu.Item component="a" href="/explorer">
            {t('explorer')}
          </Menu.Item>
          <Menu.Divider />
          <Menu.Item onClick={signOut}>{t('session:sign_out')}</Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {dialog}
    </>
  );
}

/** The palette is loaded when it is first wanted: by Ctrl+K, or by its button. */
function Search() {
  const { t } = useTranslation(['frame', 'common', 'session']);
  const [opened, setOpened] = useState(0);
  useWindowEvent('keydown', (event) => {
    if (event.key !== 'k' || !(event.ctrlKey || event.metaKey) || event.isComposing) return;
    event.preventDefault();
    setOpened((count) => count + 1);
  });
  useSingleKey('/', () => setOpened((count) => count + 1));
  return (
    <>
      <UnstyledButton
        className={classes.search}
        onClick={() => setOpened((count) => count + 1)}
        aria-keyshortcuts="Control+K"
      >
        <IconSearch size={16} />
        <span className={classes.searchText}>{t('search')}</span>
        <kbd className={classes.searchText}>Ctrl K</kbd>
      </UnstyledButton>
      <Suspense>{opened > 0 && <Palette opened={opened} />}</Suspense>
    </>
  );
}

export function Frame({ bar, navigation, strip, tools, aside, children }: FrameProps) {
  const { t } = useTranslation(['frame', 'common', 'session']);
  const [isOpen, { toggle, close }] = useDisclosure(false);
  return (
    <div
      className={classes.frame}
      data-navigation={navigation ? 'beside' : 'none'}
      data-aside={aside ? 'beside' : 'none'}
    >
      <a className={classes.skip} href="#page">
        {t('skip')}
      </a>
      <header className={classes.bar}>
        {navigation && (
          <ActionIcon
            className={classes.burger}
            variant="subtle"
            color="gray"
            onClick={toggle}
            aria-label={t(isOpen ? 'close_navigation' : 'open_navigation')}
            aria-expanded={isOpen}
          >
            {isOpen ? <IconX size={18} /> : <IconMenu2 size={18} />}
          </ActionIcon>
        )}
        <Link to="/" className={classes.brand}>
          <img src="/dashboard/icon.svg" alt="" width="22" height="22" />
          <span className={classes.brandName}>Portico</span>
        </Link>
        <div className={classes.where}>{bar}</div>
        <Search />
        {tools}
        <Tray />
        <ThemeSwitch />
        <UserMenu />
      </header>
      {navigation && (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the links inside are what is followed, also by keyboard
        <nav className={classes.navigation} aria-label={t('navigation')} data-open={isOpen} onClick={close}>
          {navigation}
        </nav>
      )}
      <div className={classes.column}>
        {strip}
        <main id="page" className={classes.page} tabIndex={-1}>
          {children}
        </main>
      </div>
      {aside}
    </div>
  );
}
