import { ActionIcon, Collapse, Stack, Text, UnstyledButton } from '@mantine/core';
import { IconChevronDown, IconChevronRight, IconTrash } from '@tabler/icons-react';
import { useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { pointerTo } from '../../lib/json-pointer.ts';
import { isFields } from '../lib/json.ts';
import { fieldFor, kindOf, summaryOf } from './field.ts';
import classes from './fields.module.css';
import { useField, useForm, type WidgetProps } from './form.tsx';

/** The fields of an object below its pointer, those the schema does not have after the others. Of a typed block the key that says so is none of them. */
export function ObjectFields({ field, pointer }: WidgetProps) {
  const { FieldView } = useForm();
  const { value } = useField({ field, pointer });
  const known = new Set(field.fields.map(({ name }) => name));
  const rest = isFields(value) ? Object.entries(value).filter(([name]) => !known.has(name)) : [];
  const kind = kindOf(field);
  const isTyped = kind !== null && isFields(value) && value[kind.key] === kind.value;
  return (
    <Stack gap="sm">
      {(isTyped ? field.fields.filter(({ name }) => name !== kind.key) : field.fields).map((one) => (
        <FieldView key={one.name} field={one} pointer={pointerTo(pointer, one.name)} />
      ))}
      {rest.map(([name, one]) => (
        <FieldView key={name} field={fieldFor(name, one)} pointer={pointerTo(pointer, name)} />
      ))}
    </Stack>
  );
}

/** An object: its fields in a group that can be closed. */
export function ObjectWidget({ field, pointer }: WidgetProps) {
  const { t } = useTranslation('entry');
  const { value, set, labels, isReadOnly } = useField({ field, pointer });
  const [isOpen, setOpen] = useState(!field.isCollapsed);
  const summary = isOpen ? '' : summaryOf(field, value);
  const id = useId();
  return (
    <fieldset aria-labelledby={`${id}-label`} className={classes.group}>
      <div className={classes.groupHead}>
        <UnstyledButton
          id={`${id}-label`}
          className={classes.groupLabel}
          onClick={() => setOpen(!isOpen)}
          aria-expanded={isOpen}
          aria-controls={id}
        >
          {isOpen ? <IconChevronDown size={16} /> : <IconChevronRight size={16} />}
          {labels.label}
          {summary !== '' && <bdi className={classes.summary}>{summary}</bdi>}
        </UnstyledButton>
        {value !== undefined && !field.isRequired && !isReadOnly && (
          <ActionIcon
            variant="subtle"
            color="gray"
            onClick={() => set(undefined)}
            aria-label={t('remove_of', { label: field.label })}
          >
            <IconTrash size={16} />
          </ActionIcon>
        )}
      </div>
      {labels.description && (
        <Text size="xs" c="dimmed">
          {labels.description}
        </Text>
      )}
      {labels.error && (
        <Text size="xs" c="var(--p-bad)">
          {labels.error}
        </Text>
      )}
      <Collapse expanded={isOpen} id={id}>
        <ObjectFields field={field} pointer={pointer} />
      </Collapse>
    </fieldset>
  );
}
