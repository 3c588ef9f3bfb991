import { TextInput } from '@mantine/core';
import { useEffect, useState, useSyncExternalStore } from 'react';
import { useTranslation } from 'react-i18next';
import type { Editor } from './editor.ts';
import { slugFor } from './translations.ts';

/** The slug of an entry that is not made yet: bound to the title until it is edited. */
export function SlugField({ editor, title }: { editor: Editor; title: string }) {
  const { t } = useTranslation('entry');
  const { slug, isLocked, faults } = useSyncExternalStore(editor.subscribe, editor.state);
  const [isBound, setBound] = useState(() => slug === '' || slug === slugFor(title));
  useEffect(() => {
    const next = slugFor(title);
    if (isBound && editor.state().slug !== next) editor.setSlug(next);
  }, [editor, isBound, title]);
  return (
    <TextInput
      label={t('slug')}
      description={isBound ? t('slug_hint') : undefined}
      value={slug ?? ''}
      error={faults.get('/slug')}
      onChange={(event) => {
        setBound(false);
        editor.setSlug(event.currentTarget.value);
      }}
      readOnly={isLocked}
      withAsterisk
      aria-required
      spellCheck={false}
      dir="auto"
    />
  );
}
