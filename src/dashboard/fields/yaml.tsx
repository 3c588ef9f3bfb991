import { Textarea } from '@mantine/core';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { parse, stringify } from 'yaml';
import { same } from '../lib/json.ts';
import { useField, useUnparsed, type WidgetProps } from './form.tsx';

const write = (value: unknown): string => (value === undefined ? '' : stringify(value, { lineWidth: 0 }).trimEnd());

function read(text: string): { value: unknown } | { fault: string } {
  try {
    return { value: text.trim() === '' ? undefined : parse(text, { maxAliasCount: 100 }) };
  } catch (error) {
    return { fault: String((error as Error).message).split('\n', 1)[0] ?? '' };
  }
}

/** A value that no other widget fits, as YAML. Text that cannot be read is kept, and changes nothing until it can. */
export function YamlWidget({ field, pointer }: WidgetProps) {
  const { t } = useTranslation('entry');
  const { value, set, labels, isReadOnly } = useField({ field, pointer });
  const unparsed = useUnparsed(pointer, { value, set });
  const [text, setText] = useState(() => write(value));
  const current = read(unparsed.text ?? text);
  const isOther = 'value' in current && !same(current.value, value);
  // Changed from elsewhere, as by a merge.
  useEffect(() => {
    if (isOther) setText(write(value));
  }, [isOther, value]);
  const fault = 'fault' in current ? t('yaml_fault', { reason: current.fault }) : undefined;
  return (
    <Textarea
      {...labels}
      error={fault ?? labels.error}
      value={unparsed.text ?? text}
      onFocus={unparsed.onFocus}
      onChange={(event) => {
        const typed = event.currentTarget.value;
        const next = read(typed);
        if ('fault' in next) return unparsed.keep(typed);
        setText(typed);
        set(next.value);
      }}
      autosize
      minRows={2}
      maxRows={16}
      styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
      spellCheck={false}
      readOnly={isReadOnly}
      attributes={{ input: { dir: 'ltr' } }}
    />
  );
}
