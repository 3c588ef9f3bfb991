import { Select } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useQuery } from 'urql';
import { FindEntries } from '../documents.ts';
import { isFields } from '../lib/json.ts';
import { textOf, useField, useForm, type WidgetProps } from './form.tsx';

/** Another entry, found by its words as they are typed. */
export function RelationWidget({ field, pointer }: WidgetProps) {
  const { t } = useTranslation('entry');
  const { place } = useForm();
  const { value, set, labels: names, isReadOnly } = useField({ field, pointer });
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
  const labels = new Map(found.map(({ slug, title }) => [slug, title === slug ? slug : `${title} · ${slug}`]));
  // The widget puts the label of the chosen entry in place of what is typed whenever it becomes another one: it is the first for good.
  const chosen = useRef<{ slug: string; label: string } | null>(null);
  if (chosen.current?.slug !== current) chosen.current = { slug: current, label: labels.get(current) ?? current };
  const { label: shown } = chosen.current;
  const options = new Map(labels);
  if (current !== '') options.set(current, shown);
  return (
    <Select
      {...names}
      data={[...options].map(([slug, label]) => ({ value: slug, label }))}
      value={current === '' ? null : current}
      onChange={(slug) => {
        if (slug === null) set(field.isRequired ? '' : undefined);
        else set(isFields(value) ? { ...value, [Object.hasOwn(value, 'id') ? 'id' : 'slug']: slug } : slug);
      }}
      searchable
      clearable={!field.isRequired}
      // The server has searched; what is chosen may not be among what it found.
      filter={({ options }) => options.filter((option) => 'value' in option && labels.has(option.value))}
      renderOption={({ option }) => labels.get(option.value) ?? option.label}
      onSearchChange={(text) => setSearch(text === shown ? '' : text)}
      onFocus={() => setWanted(true)}
      nothingFoundMessage={fetching ? t('searching') : t('nothing_found')}
      readOnly={isReadOnly}
    />
  );
}
