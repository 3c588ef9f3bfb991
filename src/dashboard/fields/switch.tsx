import { Switch } from '@mantine/core';
import { useField, type WidgetProps } from './form.tsx';

export function SwitchWidget({ field, pointer }: WidgetProps) {
  const { value, set, labels, isReadOnly } = useField({ field, pointer });
  const { label, description, error } = labels;
  return (
    <Switch
      label={label}
      description={description}
      error={error}
      checked={typeof value === 'boolean' ? value : field.default === true}
      onChange={(event) => set(event.currentTarget.checked)}
      disabled={isReadOnly}
      size="sm"
    />
  );
}
