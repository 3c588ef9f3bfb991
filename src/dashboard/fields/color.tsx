import { ColorInput } from '@mantine/core';
import { textOf, useField, type WidgetProps } from './form.tsx';

export function ColorWidget({ field, pointer }: WidgetProps) {
  const { value, set, labels, isReadOnly } = useField({ field, pointer });
  return (
    <ColorInput
      {...labels}
      value={textOf(value)}
      onChange={(text) => set(text === '' && !field.isRequired ? undefined : text)}
      format={textOf(value).startsWith('rgb') ? 'rgba' : 'hex'}
      fixOnBlur={false}
      withEyeDropper={false}
      readOnly={isReadOnly}
    />
  );
}
