import { TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { readNumber } from '../lib/typed-number.ts';
import { textOf, useField, useUnparsed, type WidgetProps } from './form.tsx';

/** A number. Text that is none, or that no number holds exactly, is kept as it was typed, and changes nothing until it is one. */
export function NumberWidget({ field, pointer }: WidgetProps) {
  const { t, i18n } = useTranslation('entry');
  const { value, set, labels, isReadOnly } = useField({ field, pointer });
  const unparsed = useUnparsed(pointer, { value, set });
  const [typed, setTyped] = useState('');
  const read = (text: string) => readNumber(text, { isWhole: field.type === 'integer', language: i18n.language });
  const own = read(typed);
  // What was typed stands as long as it is the value: `0.10` is not rewritten under the cursor.
  const text = unparsed.text ?? ('value' in own && own.value === value ? typed : textOf(value));
  const current = unparsed.text === undefined ? null : read(unparsed.text);
  const fault = current && 'fault' in current ? t(current.fault) : undefined;
  return (
    <TextInput
      {...labels}
      error={fault ?? labels.error}
      value={text}
      onFocus={unparsed.onFocus}
      onChange={(event) => {
        const next = event.currentTarget.value;
        const found = read(next);
        if ('fault' in found) return unparsed.keep(next);
        setTyped(next);
        set(found.value);
      }}
      // The keys of these modes have no sign on some telephones.
      {...((field.min ?? -1) >= 0 && { inputMode: field.type === 'integer' ? 'numeric' : 'decimal' })}
      autoComplete="off"
      readOnly={isReadOnly}
    />
  );
}
