import { TagsInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useQuery } from 'urql';
import { FieldValues } from '../documents.ts';
import { isFields } from '../lib/json.ts';
import { useField, useForm, type WidgetProps } from './form.tsx';

/** Words, with those that other entries of the collection have. */
export function TagsWidget({ field, pointer }: WidgetProps) {
  const { t } = useTranslation('entry');
  const { place } = useForm();
  const { value, set, labels, isReadOnly } = useField({ field, pointer });
  const [isWanted, setWanted] = useState(false);
  const isTop = pointer.split('/').length === 2;
  const [{ data }] = useQuery({
    query: FieldValues,
    variables: {
      organization: place.organization,
      project: place.project,
      branch: place.branch,
      collection: place.collection,
      field: field.name,
    },
    pause: !isWanted || !isTop,
  });
  const rows = data?.project?.studio?.collection?.entries?.nodes ?? [];
  const used = rows.flatMap(({ frontmatter }) => {
    const words = isFields(frontmatter) ? frontmatter[field.name] : undefined;
    return Array.isArray(words) ? words.filter((word) => typeof word === 'string') : [];
  });
  return (
    <TagsInput
      {...labels}
      value={(Array.isArray(value) ? value : []).map(String)}
      onChange={(next) => set(next.length === 0 && !field.isRequired && value === undefined ? undefined : next)}
      data={[...new Set(used)].sort()}
      onFocus={() => setWanted(true)}
      placeholder={isReadOnly ? undefined : t('tags_hint')}
      readOnly={isReadOnly}
      maxDropdownHeight={240}
      acceptValueOnBlur
      clearable={false}
    />
  );
}
