/** What the palette offers: entries, collections, actions, pages, projects of the organisation one is in, and organisations. */
import { useMantineColorScheme } from '@mantine/core';
import { useParams, useRouter, useSearch } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useQuery } from 'urql';
import { PalettePlaces, PaletteSearch } from '../documents.ts';
import { useCan } from '../lib/viewer.tsx';

export interface PaletteItem {
  id: string;
  label: string;
  /** Beside the label: where it is. */
  hint?: string;
  run: () => void;
}

export interface PaletteGroup {
  name: 'entries' | 'actions' | 'pages' | 'collections' | 'projects';
  items: readonly PaletteItem[];
}

const pages = ['content', 'media', 'drafts', 'files', 'site', 'workflows', 'settings'] as const;

/** Milliseconds without a key after which entries are searched for at the server. */
const pause = 120;

/** Words that stood still for a moment. */
function useSettled(words: string): string {
  const [settled, setSettled] = useState(words);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(words), pause);
    return () => clearTimeout(timer);
  }, [words]);
  return settled;
}

interface Palette {
  groups: readonly PaletteGroup[];
  /** Entries are still looked for. */
  isSearching: boolean;
}

/** @param words typed; an item has all of them in its label or hint, in any letters */
export function usePaletteItems(words: string, signOut: () => void): Palette {
  const { t } = useTranslation('frame');
  const { organization = '', project = '' } = useParams({ strict: false });
  const { draft } = useSearch({ strict: false });
  const router = useRouter();
  const can = useCan(organization, project);
  const { setColorScheme } = useMantineColorScheme();
  const inProject = project !== '';
  const place = { organization, project, draft: draft ?? null };
  const [{ data }] = useQuery({
    query: PalettePlaces,
    variables: { ...place, inProject, inOrganization: organization !== '' },
  });
  const q = useSettled(words.trim());
  const [found] = useQuery({
    query: PaletteSearch,
    variables: { ...place, q },
    pause: !inProject || q === '',
    requestPolicy: 'network-only',
  });

  const below = { organization, project };
  const search = draft === undefined ? {} : { draft };
  const collections = data?.project?.studio?.collections?.nodes ?? [];
  const item = (id: string, label: string, run: () => void, hint?: string): PaletteItem => ({
    id,
    label,
    run,
    ...(hint !== undefined && { hint }),
  });
  const wanted = words.trim().toLocaleLowerCase().split(/\s+/);
  const matching = (items: readonly PaletteItem[]) =>
    items.filter(({ label, hint }) => {
      const text = `${label} ${hint ?? ''}`.toLocaleLowerCase();
      return wanted.every((word) => text.includes(word));
    });

  const entries = q === '' ? [] : (found.data?.project?.studio?.search?.nodes ?? []);
  const groups: PaletteGroup[] = [
    {
      name: 'entries',
      items: entries.map(({ slug, title, collection }) =>
        item(
          `entry ${collection?.name}/${slug}`,
          title.slice(0, 200),
          () =>
            router.navigate({
              to: '/p/$organization/$project/content/$collection/$',
              params: { ...below, collection: collection?.name ?? '', _splat: slug },
              search,
            }),
          `${collection?.label} · ${slug}`,
        ),
      ),
    },
    {
      name: 'collections',
      items: matching(
        collections.map(({ name, label }) =>
          item(`collection ${name}`, label, () =>
            router.navigate({
              to: '/p/$organization/$project/content/$collection',
              params: { ...below, collection: name },
              search,
            }),
          ),
        ),
      ),
    },
    {
      name: 'actions',
      items: matching([
        ...(can('edit_studio')
          ? collections.map(({ name, label }) =>
              item(`new ${name}`, t('palette_new', { collection: label }), () =>
                router.navigate({
                  to: '/p/$organization/$project/new/$collection',
                  params: { ...below, collection: name },
                  search,
                }),
              ),
            )
          : []),
        item('light', t('to_light'), () => setColorScheme('light')),
        item('dark', t('to_dark'), () => setColorScheme('dark')),
        item('sign out', t('palette_sign_out'), signOut),
      ]),
    },
    {
      name: 'pages',
      items: matching([
        ...(inProject
          ? [
              item('home', t('home'), () =>
                router.navigate({ to: '/p/$organization/$project', params: below, search }),
              ),
              ...pages.map((name) =>
                item(name, t(name), () =>
                  router.navigate({ to: `/p/$organization/$project/${name}`, params: below, search }),
                ),
              ),
            ]
          : []),
        item('account', t('account'), () => router.navigate({ to: '/account' })),
      ]),
    },
    {
      name: 'projects',
      items: matching([
        ...(data?.organization?.projects?.nodes ?? []).map((one) =>
          item(`project ${one.machine_name}`, one.name ?? '', () =>
            router.navigate({
              to: '/p/$organization/$project',
              params: { organization, project: one.machine_name ?? '' },
            }),
          ),
        ),
        ...(data?.organizations?.nodes ?? []).map(({ name, machine_name }) =>
          item(`organization ${machine_name}`, name, () =>
            router.navigate({ to: '/o/$organization', params: { organization: machine_name } }),
          ),
        ),
      ]),
    },
  ];
  return {
    groups: groups.filter(({ items }) => items.length > 0),
    isSearching: inProject && words.trim() !== '' && (found.fetching || q !== words.trim()),
  };
}
