import { Button, NativeSelect, Stack, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { CollectionFieldFragment } from '../../documents.ts';
import { DateField } from '../../parts/date-field.tsx';
import { fieldLabel, isSortable } from './field-text.ts';

type Operator = 'eq' | 'ne' | 'contains' | 'gte' | 'lte' | 'is_set' | 'is_not_set';

/** Operators of filters. */
function operatorsOf({ type, list }: Pick<CollectionFieldFragment, 'type' | 'list'>): Operator[] {
  if (list) return ['contains', 'is_set', 'is_not_set'];
  if (type === 'boolean' || type === 'enum') return ['eq', 'ne', 'is_set', 'is_not_set'];
  if (['date', 'datetime', 'integer', 'number'].includes(type))
    return ['eq', 'gte', 'lte', 'ne', 'is_set', 'is_not_set'];
  if (isSortable({ type, list })) return ['contains', 'eq', 'ne', 'is_set', 'is_not_set'];
  return ['is_set', 'is_not_set'];
}

interface FilterFormProps {
  fields: readonly CollectionFieldFragment[];
  onAdd: (field: string, operator: string, value: string | boolean) => void;
}

/** One more condition: a field, an operator, and a value. */
export function FilterForm({ fields, onAdd }: FilterFormProps) {
  const { t } = useTranslation('content');
  const [name, setName] = useState(fields[0]?.name ?? '');
  const [wanted, setOperator] = useState<Operator | null>(null);
  const [value, setValue] = useState('');
  const field = fields.find((each) => each.name === name);
  if (!field) return <p>{t('no_fields')}</p>;
  const operators = operatorsOf(field);
  const operator = wanted !== null && operators.includes(wanted) ? wanted : (operators[0] as Operator);
  const isSet = operator === 'is_set' || operator === 'is_not_set';
  const choices =
    field.type === 'boolean'
      ? [
          { value: 'true', label: t('yes') },
          { value: 'false', label: t('no') },
        ]
      : field.type === 'enum' && field.options
        ? field.options.map(String).map((option) => ({ value: option, label: option }))
        : null;
  const chosen = choices ? value || (choices[0]?.value ?? '') : value;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isSet) onAdd(name, 'exists', operator === 'is_set');
    else if (chosen !== '') onAdd(name, operator, chosen);
  };
  const isDay = field.type === 'date' || field.type === 'datetime';
  const isNumber = field.type === 'integer' || field.type === 'number';
  return (
    <form onSubmit={submit}>
      <Stack gap="xs" w={240}>
        <NativeSelect
          label={t('field')}
          value={name}
          onChange={(event) => {
            setName(event.currentTarget.value);
            setValue('');
          }}
          data={fields.map((each) => ({ value: each.name, label: fieldLabel(each) }))}
          data-autofocus
        />
        <NativeSelect
          label={t('condition')}
          value={operator}
          onChange={(event) => setOperator(event.currentTarget.value as Operator)}
          data={operators.map((each) => ({
            value: each,
            label: t(each === 'is_set' || each === 'is_not_set' ? each : `operator_${each}`),
          }))}
        />
        {!isSet &&
          (choices ? (
            <NativeSelect
              label={t('value')}
              value={chosen}
              onChange={(event) => setValue(event.currentTarget.value)}
              data={choices}
            />
          ) : isDay ? (
            <DateField
              label={t('value')}
              name={t('value')}
              value={value}
              onChange={setValue}
              inPopover
              required
              withAsterisk={false}
            />
          ) : (
            <TextInput
              label={t('value')}
              type={isNumber ? 'number' : 'text'}
              value={value}
              onChange={(event) => setValue(event.currentTarget.value)}
              autoComplete="off"
              required
              withAsterisk={false}
            />
          ))}
        <Button type="submit">{t('filter')}</Button>
      </Stack>
    </form>
  );
}
