import { Select, Stack } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { isFields } from '../lib/json.ts';
import { emptyValue, type Field, kindOf } from './field.ts';
import { useField, useForm, type WidgetProps } from './form.tsx';

const plain: Partial<Record<Field['type'], (value: unknown) => boolean>> = {
  boolean: (value) => typeof value === 'boolean',
  number: (value) => typeof value === 'number',
  integer: (value) => Number.isInteger(value),
  list: Array.isArray,
  object: isFields,
};

/** Whether a value can be of a kind, as far as its form says. */
function fits(field: Field, value: unknown): boolean {
  const kind = kindOf(field);
  if (kind) return isFields(value) && value[kind.key] === kind.value;
  if (field.type === 'enum') return field.options.includes(value);
  return plain[field.type]?.(value) ?? typeof value === 'string';
}

/** A value of one of several kinds, such as a typed block: which kind, and its fields. */
export function VariantsWidget({ field, pointer }: WidgetProps) {
  const { t } = useTranslation('entry');
  const { FieldView } = useForm();
  const { value, set, labels, isReadOnly } = useField({ field, pointer });
  const chosen = value === undefined ? 0 : field.variants.findIndex((variant) => fits(variant, value));
  const variant = field.variants[chosen];
  const names = field.variants.map((one, index) => ({
    value: String(index),
    label: one.label || t(`type_${one.type}` as 'type_string'),
  }));
  const shown = variant && {
    ...variant,
    label: field.label,
    description: variant.type === 'object' ? null : field.description,
    isRequired: field.isRequired,
  };
  if (field.variants.length === 1 && shown) return <FieldView field={shown} pointer={pointer} />;
  return (
    <Stack gap={6}>
      <Select
        size="xs"
        aria-label={t('kind_of', { label: labels.label })}
        data={names}
        value={chosen === -1 ? null : String(chosen)}
        onChange={(index) => {
          const next = field.variants[Number(index)];
          if (next && Number(index) !== chosen) set(emptyValue(next) ?? '');
        }}
        readOnly={isReadOnly}
      />
      <FieldView field={shown ?? { ...field, type: 'any', variants: [] }} pointer={pointer} />
    </Stack>
  );
}
