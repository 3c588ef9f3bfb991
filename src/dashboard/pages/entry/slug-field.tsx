import { TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useEffect, useState, useSyncExternalStore } from 'react';
import { useTranslation } from 'react-i18next';
import { useQuery } from 'urql';
import { EntrySlug } from '../../documents.ts';
import type { FormPlace } from '../../fields/form.tsx';
import { slugProblem, typedSlug } from '../../lib/entry-slug.ts';
import type { Editor } from './editor.ts';
import { templateContent } from './entry-query.ts';

/**
 * The slug of an entry that is not made yet: bound to the title, by the site's own pattern, until it is edited. With it goes what the site's
 * template or archetype writes of the title elsewhere.
 */
export function SlugField({ editor, place, title }: { editor: Editor; place: FormPlace; title: string }) {
  const { t } = useTranslation(['entry', 'common']);
  const { slug, isLocked, faults } = useSyncExternalStore(editor.subscribe, editor.state);
  const [isBound, setBound] = useState(slug === '');
  const [wanted] = useDebouncedValue(title.trim().slice(0, 200), 250);
  const { organization, project, branch, collection } = place;
  const [{ data }] = useQuery({
    query: EntrySlug,
    variables: { organization, project, branch, collection, title: wanted },
    pause: !isBound || wanted === '',
  });
  const found = wanted === '' ? null : (data?.project?.studio?.collection?.template ?? null);
  useEffect(() => {
    if (!isBound || found === null) return;
    if (editor.state().slug !== found.slug) editor.setSlug(found.slug);
    editor.follow(templateContent(found), wanted);
  }, [editor, isBound, found, wanted]);
  const problem = slugProblem(slug ?? '');
  return (
    <TextInput
      label={t('slug')}
      description={isBound ? t('slug_hint') : undefined}
      value={slug ?? ''}
      error={problem ? t(problem.key, { characters: problem.characters }) : faults.get('/slug')}
      onChange={(event) => {
        setBound(false);
        editor.setSlug(typedSlug(event.currentTarget.value));
      }}
      readOnly={isLocked}
      withAsterisk
      aria-required
      spellCheck={false}
      mb="md"
    />
  );
}
