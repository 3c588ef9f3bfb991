import { Stack, Text } from '@mantine/core';
import { useSyncExternalStore } from 'react';
import { useTranslation } from 'react-i18next';
import type { NoUrlCode } from '../../documents.ts';
import { type FormPlace, FormProvider } from '../../fields/form.tsx';
import { Thumbnail } from '../../fields/media.tsx';
import { FieldView } from '../../fields/registry.tsx';
import { isFields } from '../../lib/json.ts';
import type { Editor } from './editor.ts';
import classes from './seo.module.css';

/** What search engines show of a title and of a description, in characters. */
const titleLength = 60;
const descriptionLength = 160;

function firstText(editor: Editor, names: readonly string[]): string {
  for (const name of names) {
    const value = editor.value(name);
    if (typeof value === 'string' && value !== '') return value;
    if (isFields(value) && typeof value.src === 'string') return value.src;
  }
  return '';
}

function useText(editor: Editor, names: readonly string[]): string {
  return useSyncExternalStore(editor.subscribe, () => firstText(editor, names));
}

const titles = ['/seo/title', '/meta_title', '/title_meta', '/title', '/name'];
const descriptions = ['/seo/description', '/meta_description', '/description', '/summary', '/excerpt'];
const images = ['/seo/image', '/og_image', '/cover', '/image', '/thumbnail', '/hero/image'];

const cut = (text: string, length: number) => (text.length <= length ? text : `${text.slice(0, length - 1)}…`);

function Length({ name, text, most }: { name: string; text: string; most: number }) {
  const { t } = useTranslation('entry');
  const count = [...text].length;
  const words = count === 0 ? t('seo_missing') : count > most ? t('seo_long', { most }) : t('seo_good');
  return (
    <div className={classes.length} data-state={count === 0 || count > most ? 'warn' : 'good'}>
      <span>{name}</span>
      <span>{t('seo_count', { count, most })}</span>
      <span>{words}</span>
    </div>
  );
}

interface SeoProps {
  editor: Editor;
  place: FormPlace;
  /** Path of the page on the site. */
  url: string | null;
  /** Why it has none. */
  noUrl: NoUrlCode | null;
  slug: string | null;
}

/** How search engines and social networks show the page, from the fields as they are in the form. */
export function Seo({ editor, place, url, noUrl, slug }: SeoProps) {
  const { t } = useTranslation('entry');
  const title = useText(editor, titles);
  const description = useText(editor, descriptions);
  const image = useText(editor, images);
  const address = url ?? `/${slug ?? ''}`;
  return (
    <FormProvider value={{ store: editor, place, FieldView }}>
      <Stack gap="md">
        {noUrl && <Text size="sm">{t(`no_url_${noUrl}`)}</Text>}
        <Length name={t('seo_title')} text={title} most={titleLength} />
        <Length name={t('seo_description')} text={description} most={descriptionLength} />
        <figure className={classes.result} aria-label={t('seo_result')}>
          <small dir="ltr">{address}</small>
          <strong dir="auto">{cut(title || t('untitled'), titleLength)}</strong>
          <span dir="auto">{cut(description || t('seo_no_description'), descriptionLength)}</span>
        </figure>
        <figure className={classes.card} aria-label={t('seo_card')}>
          {image !== '' && (
            <div className={classes.picture}>
              <Thumbnail link={image} alt="" />
            </div>
          )}
          <div className={classes.words}>
            <strong dir="auto">{cut(title || t('untitled'), 70)}</strong>
            <span dir="auto">{cut(description, 120)}</span>
          </div>
        </figure>
        {image === '' && (
          <Text size="xs" c="dimmed">
            {t('seo_no_image')}
          </Text>
        )}
      </Stack>
    </FormProvider>
  );
}
