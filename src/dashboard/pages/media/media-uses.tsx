import { Group, Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import type { Nodes } from 'mdast';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import {
  EntryText,
  type MediaItemFragment,
  MediaUses as MediaUsesDocument,
  type MediaUsesQuery,
} from '../../documents.ts';
import { client } from '../../lib/client.ts';
import { isFields } from '../../lib/json.ts';
import { candidatePaths } from '../../lib/media.ts';
import type { Place } from '../../lib/place.ts';
import { MarkedText } from '../../parts/marked-text.tsx';
import classes from './media-details.module.css';

/** Images of a text, with what stands for each. @param node of Markdown */
function* imagesIn(node: Nodes): Generator<{ link: string; text: string }> {
  if (node.type === 'image') yield { link: node.url, text: node.alt ?? '' };
  if ('children' in node) for (const child of node.children) yield* imagesIn(child);
}

/** Texts that stand for a file in frontmatter: in the field beside its own (`cover`, `cover_alt`), or in `alt` of the same object. */
function* textsInFields(value: unknown, isFile: (link: string) => boolean): Generator<string> {
  if (Array.isArray(value)) for (const item of value) yield* textsInFields(item, isFile);
  if (!isFields(value)) return;
  for (const [name, held] of Object.entries(value)) {
    if (typeof held !== 'string') yield* textsInFields(held, isFile);
    else if (isFile(held)) yield String(value[`${name}_alt`] ?? value[`${name}Alt`] ?? value.alt ?? '');
  }
}

type Found = NonNullable<NonNullable<MediaUsesQuery['project']>['studio']['search']>['nodes'][number];
/** With the alternative text of each place in which it shows an image; empty where it has none. */
type Use = Found & { texts: readonly string[] };

/** The entries that show or link to a file, as far as a search for its name finds them. */
async function usesOf(place: Place, { name, path, mime }: MediaItemFragment): Promise<Use[]> {
  const { organization, project, draft } = place;
  const at = { organization, project, branch: draft ?? null };
  const { data } = await client.query(MediaUsesDocument, { ...at, q: name }).toPromise();
  const found = data?.project?.studio.search?.nodes ?? [];
  const users = found.filter(({ media }) => media?.some((file) => file.path === path));
  if (!mime?.startsWith('image/')) return users.map((entry) => ({ ...entry, texts: [] }));
  const { parseMarkdown } = await import('../../lib/markdown.ts');
  return Promise.all(
    users.map(async (entry) => {
      const isFile = (link: string) => candidatePaths(entry.path, link).includes(path);
      const variables = { ...at, collection: entry.collection?.name ?? '', slug: entry.slug };
      const { data } = await client.query(EntryText, variables).toPromise();
      const images = [...imagesIn(parseMarkdown(data?.project?.studio.entry?.body ?? ''))];
      const inText = images.filter(({ link }) => isFile(link)).map(({ text }) => text);
      return { ...entry, texts: [...textsInFields(entry.frontmatter, isFile), ...inText] };
    }),
  );
}

/** Where entries show a file, and what stands for it there for people who do not see it. */
export function MediaUses({ item, place }: { item: MediaItemFragment; place: Place }) {
  const { t } = useTranslation('media');
  const { organization, project, draft } = place;
  const [uses, setUses] = useState<readonly Use[]>([]);
  useEffect(() => {
    let isLeft = false;
    void usesOf({ organization, project, draft }, item).then((found) => !isLeft && setUses(found));
    return () => {
      isLeft = true;
    };
  }, [organization, project, draft, item]);
  if (uses.length === 0) return null;
  return (
    <section aria-label={t('used_in')}>
      <Text component="h3" size="sm" fw={600} mb={4}>
        {t('used_in')}
      </Text>
      <ul className={classes.uses}>
        {uses.map(({ path, slug, title, collection, texts }) => (
          <li key={path}>
            <Link
              to="/p/$organization/$project/content/$collection/$"
              params={{ organization, project, collection: collection?.name ?? '', _splat: slug }}
              search={{ draft }}
            >
              <MarkedText text={title} />
            </Link>
            {texts.map((text, at) =>
              text === '' ? (
                <Group key={at} gap={4} c="var(--p-warn)">
                  <IconAlertTriangle size={14} aria-hidden />
                  <Text size="sm">{t('no_alternative')}</Text>
                </Group>
              ) : (
                <Text key={at} size="sm" c="dimmed">
                  <MarkedText text={text} />
                </Text>
              ),
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
