import { Alert, Stack, Text } from '@mantine/core';
import { useMemo, useSyncExternalStore } from 'react';
import { useTranslation } from 'react-i18next';
import { pointerTo } from '../../../lib/json-pointer.ts';
import { type Field, fieldFor, fieldsOf } from '../../fields/field.ts';
import { type FormPlace, FormProvider } from '../../fields/form.tsx';
import { FieldView } from '../../fields/registry.tsx';
import { isFields } from '../../lib/json.ts';
import type { Editor } from './editor.ts';
import classes from './entry.module.css';

interface EntryFormProps {
  editor: Editor;
  place: FormPlace;
  /** JSON Schema of the collection. */
  schema: unknown;
  isInferred: boolean;
}

/** Names of the keys that the schema does not have, as one text, so that it stays equal while they do. */
function useUnknown(editor: Editor, known: ReadonlySet<string>): string[] {
  const names = useSyncExternalStore(editor.subscribe, () =>
    JSON.stringify(Object.keys(editor.fields).filter((name) => !known.has(name))),
  );
  return useMemo(() => JSON.parse(names) as string[], [names]);
}

/** The entry's frontmatter by the fields of its schema, then what the schema does not have. */
export function EntryForm({ editor, place, schema, isInferred }: EntryFormProps) {
  const { t } = useTranslation('entry');
  const fields: Field[] = useMemo(() => (isFields(schema) ? fieldsOf(schema) : []), [schema]);
  const known = useMemo(() => new Set(fields.map(({ name }) => name)), [fields]);
  const unknown = useUnknown(editor, known);
  const form = useMemo(() => ({ store: editor, place, FieldView }), [editor, place]);
  return (
    <FormProvider value={form}>
      <Stack gap="md" component="section" aria-label={t('fields')} className={classes.form}>
        {isInferred && (
          <Text size="xs" c="dimmed">
            {t('inferred')}
          </Text>
        )}
        {fields.length === 0 && unknown.length === 0 && <Alert variant="light">{t('no_fields')}</Alert>}
        {fields.map((field) => (
          <FieldView key={field.name} field={field} pointer={pointerTo('', field.name)} />
        ))}
        {unknown.map((name) => (
          <FieldView key={name} field={fieldFor(name, editor.fields[name])} pointer={pointerTo('', name)} />
        ))}
      </Stack>
    </FormProvider>
  );
}
