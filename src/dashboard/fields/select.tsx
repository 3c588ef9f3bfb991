import { MultiSelect, Select } from '@mantine/core';
import type { Field } from './field.ts';
import { textOf, useField, type WidgetProps } from './form.tsx';

/** Options by the text that stands for them; a value that is none of them is one too, as long as it is stored. */
function optionsOf(field: Field, values: readonly unknown[]): Map<string, unknown> {
  const nameOf = (option: unknown) => field.optionLabels.get(option) || textOf(option) || JSON.stringify(option);
  const options = [...new Set([...field.options, ...values])];
  const names = options.map(nameOf);
  // Two of one name differ by what is stored.
  const isShared = (name: string) => names.indexOf(name) !== names.lastIndexOf(name);
  return new Map(
    options.map((option, at) => {
      const name = names[at] ?? '';
      return [isShared(name) ? `${name} (${textOf(option) || JSON.stringify(option)})` : name, option];
    }),
  );
}

export function SelectWidget({ field, pointer }: WidgetProps) {
  const { value, set, labels, isReadOnly } = useField({ field, pointer });
  const options = optionsOf(field, value === undefined || value === null ? [] : [value]);
  const chosen = [...options].find(([, option]) => option === value)?.[0] ?? null;
  return (
    <Select
      {...labels}
      data={[...options.keys()]}
      value={chosen}
      onChange={(text) => set(text === null ? undefined : options.get(text))}
      searchable={options.size > 8}
      clearable={!field.isRequired}
      readOnly={isReadOnly}
    />
  );
}

/** A list of values from a fixed set. */
export function MultiSelectWidget({ field, pointer }: WidgetProps) {
  const { value, set, labels, isReadOnly } = useField({ field, pointer });
  const values = Array.isArray(value) ? value : [];
  const options = optionsOf(field.item ?? field, values);
  const names = new Map([...options].map(([text, option]) => [option, text]));
  return (
    <MultiSelect
      {...labels}
      data={[...options.keys()]}
      value={values.map((one) => names.get(one) ?? '')}
      onChange={(texts) => {
        const next = texts.map((text) => options.get(text));
        set(next.length === 0 && !field.isRequired ? undefined : next);
      }}
      searchable
      readOnly={isReadOnly}
    />
  );
}
