import { Checkbox, Stack } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { CollectionFieldFragment } from '../../documents.ts';
import classes from './content.module.css';
import { fieldLabel } from './field-text.ts';

interface ColumnChoiceProps {
  fields: readonly CollectionFieldFragment[];
  columns: readonly string[];
  onColumns: (columns: readonly string[]) => void;
}

/** Which columns a person wants to see; the title always is. */
export function ColumnChoice({ fields, columns, onColumns }: ColumnChoiceProps) {
  const { t } = useTranslation('content');
  const all = [
    ...(['@status', '@updated', '@language'] as const).map((name) => ({ name, label: t(name) })),
    ...fields
      .filter(({ name }) => name !== 'title' && name !== 'draft')
      .map((field) => ({ name: field.name, label: fieldLabel(field) })),
  ];
  return (
    <fieldset className={classes.choice}>
      <legend>{t('columns_lead')}</legend>
      <Stack gap={8}>
        {all.map(({ name, label }) => (
          <Checkbox
            key={name}
            size="xs"
            label={label}
            checked={columns.includes(name)}
            onChange={({ currentTarget: { checked } }) =>
              onColumns(
                all.map((each) => each.name).filter((each) => (each === name ? checked : columns.includes(each))),
              )
            }
          />
        ))}
      </Stack>
    </fieldset>
  );
}
