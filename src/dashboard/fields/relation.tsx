import { Select } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useQuery } from 'urql';
import { FindEntries } from '../documents.ts';
import { isFields } from '../lib/json.ts';
import { textOf, useField, useForm, type WidgetProps } from './form.tsx';

/** Another entry, found by its words as they are typed. */
export function RelationWidget({ field, pointer }: WidgetProps) {
  const { t } = useTranslation('entry');
  const { place } = useForm();
  const { value, set, labels, isReadOnly } = useField({ field, pointer });
  const [isWanted, setWanted] = useState(false);
  const [search, setSearch] = useState('');
  const [q] = useDebouncedValue(search, 150);
  const { organization, project, branch } = place;
  const collection = field.relation ?? place.collection;
  const [{ data, fetching }] = useQuery({
    query: FindEntries,
    variables: { organization, project, branch, collection, q: q.trim() || null },
    pause: !isWanted,
  });
  // Some sites store an object that names the entry.
  const current = isFields(value) ? textOf(value.id ?? value.slug) : textOf(value);
  const found = data?.project?.studio?.collection?.entries?.nodes ?? [];
  const options = new Map(found.map(({ slug, title }) => [slug, title === slug ? slug : `${title} · ${slug}`]));
  if (current !== '' && !options.has(current)) options.set(current, current);
  return (
    <Select
      {...labels}
      data={[...options].map(([slug, label]) => ({ value: slug, label }))}
      value={current === '' ? null : current}
      onChange={(slug) => {
        if (slug === null) set(field.isRequired ? '' : undefined);
        else set(isFields(value) ? { ...value, [Object.hasOwn(value, 'id') ? 'id' : 'slug']: slug } : slug);
      }}
      searchable
      clearable={!field.isRequired}
      // The server has searched.
      filter={({ options }) => options}
      onSearchChange={(text) => setSearch(options.get(current) === text ? '' : text)}
      onFocus={() => setWanted(true)}
      nothingFoundMessage={fetching ? t('searching') : t('nothing_found')}
      readOnly={isReadOnly}
    />
  );
}
