import { NumberInput } from '@mantine/core';
import { useField, type WidgetProps } from './form.tsx';

export function NumberWidget({ field, pointer }: WidgetProps) {
  const { value, set, labels, isReadOnly } = useField({ field, pointer });
  return (
    <NumberInput
      {...labels}
      value={typeof value === 'number' || typeof value === 'string' ? value : ''}
      onChange={(next) => {
        // Digits that no number holds stay text, so that none is lost.
        if (next !== value) set(next === '' ? undefined : next);
      }}
      allowDecimal={field.type !== 'integer'}
      {...(field.min !== undefined && { min: field.min })}
      {...(field.max !== undefined && { max: field.max })}
      clampBehavior="none"
      readOnly={isReadOnly}
    />
  );
}
