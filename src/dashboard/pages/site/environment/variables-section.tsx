import { ActionIcon, Button, Checkbox, Text, Textarea, TextInput } from '@mantine/core';
import { IconPlus, IconTrash } from '@tabler/icons-react';
import { useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import { useTranslation } from 'react-i18next';
import type { EnvironmentVariableDraftInput } from '../../../documents.ts';
import type { Fault } from '../../../lib/faults.ts';
import { useCan } from '../../../lib/viewer.tsx';
import { CommandForm } from '../../../parts/command-form.tsx';
import { Mark } from '../../../parts/mark.tsx';
import { MarkedText } from '../../../parts/marked-text.tsx';
import { Row, Rows } from '../../../parts/rows.tsx';
import { Section } from '../../../parts/section.tsx';
import type { EnvironmentSectionProps, Variable } from '../site-query.ts';
import { useUpdate } from './use-settings.ts';
import classes from './variables-section.module.css';

/** The server takes no more. */
const mostVariables = 100;

/** A variable as it is edited. */
interface Draft extends Variable {
  key: string;
  /** Null: it is new. */
  stored: Variable | null;
}

const draftOf = (stored: Variable): Draft => ({ ...stored, stored, key: `stored ${stored.name}` });

/** What is sent: without a value the server keeps the one that it has under this name, which is not shown of a secret. */
function inputOf({ stored, name, value, ...draft }: Draft): EnvironmentVariableDraftInput {
  const { secret, available_in_install, available_in_drafts } = draft;
  const isKept = value === null || (stored?.name === name && value === stored.value);
  return { name, secret, available_in_install, available_in_drafts, ...(!isKept && { value }) };
}

interface VariableFieldsProps {
  draft: Draft;
  /** In the list. */
  index: number;
  fault: Fault | null;
  onChange: (part: Partial<Draft>) => void;
  onRemove: () => void;
}

function VariableFields({ draft, index, fault, onChange, onRemove }: VariableFieldsProps) {
  const { t } = useTranslation(['environment', 'common']);
  const { name, value, secret, available_in_install, available_in_drafts, stored } = draft;
  const called = name || t('variable_new');
  const typed = (text: string) => onChange({ value: text === '' && stored?.value === null ? null : text });
  return (
    <li>
      <fieldset className={classes.variable} aria-label={called}>
        <TextInput
          className={classes.name ?? ''}
          aria-label={t('common:name')}
          value={name}
          onChange={(event) => onChange({ name: event.currentTarget.value })}
          error={fault?.fields.get(`/variables/${index}/name`)}
          autoComplete="off"
          autoCapitalize="off"
          spellCheck={false}
          dir="ltr"
        />
        <Textarea
          className={classes.value ?? ''}
          aria-label={t('variable_value')}
          placeholder={value === null ? t('variable_kept') : undefined}
          value={value ?? ''}
          onChange={(event) => typed(event.currentTarget.value)}
          error={fault?.fields.get(`/variables/${index}/value`)}
          autosize
          minRows={1}
          maxRows={6}
          autoComplete="off"
          spellCheck={false}
        />
        <ActionIcon
          className={classes.remove ?? ''}
          variant="subtle"
          color="gray"
          size={36}
          onClick={onRemove}
          aria-label={t('variable_remove', { name: called })}
        >
          <IconTrash size={16} />
        </ActionIcon>
        <div className={classes.flags}>
          <Checkbox
            size="xs"
            label={t('variable_secret')}
            checked={secret}
            onChange={(event) => onChange({ secret: event.currentTarget.checked })}
          />
          <Checkbox
            size="xs"
            label={t('variable_install')}
            checked={available_in_install}
            onChange={(event) => onChange({ available_in_install: event.currentTarget.checked })}
          />
          {secret && (
            <Checkbox
              size="xs"
              label={t('variable_drafts')}
              description={available_in_drafts && t('variable_drafts_warning')}
              checked={available_in_drafts}
              onChange={(event) => onChange({ available_in_drafts: event.currentTarget.checked })}
            />
          )}
        </div>
      </fieldset>
    </li>
  );
}

function VariablesForm({ environment, onChanged }: EnvironmentSectionProps) {
  const { t } = useTranslation(['environment', 'common']);
  const { save, isRunning, fault } = useUpdate(environment.id, onChanged);
  const list = useRef<HTMLUListElement>(null);
  const add = useRef<HTMLButtonElement>(null);
  const made = useRef(0);
  /** Null: what is stored, as it is. */
  const [edited, setEdited] = useState<readonly Draft[] | null>(null);
  /** What was stored when the edited ones were saved: shown until the answer of the page has them. */
  const [replaced, setReplaced] = useState<readonly Variable[] | null>(null);
  const stored = environment.variables;
  const isSaved = replaced !== null;
  const drafts = edited === null || (isSaved && replaced !== stored) ? stored.map(draftOf) : edited;
  const inputs = drafts.map(inputOf);
  const isUnchanged = isSaved || JSON.stringify(inputs) === JSON.stringify(stored.map(draftOf).map(inputOf));
  const edit = (next: readonly Draft[]) => {
    setReplaced(null);
    setEdited(next);
  };
  const submit = async () => {
    if (await save({ variables: inputs })) setReplaced(stored);
  };
  const begin = () => {
    made.current += 1;
    const key = `new ${made.current}`;
    const flags = { secret: true, available_in_install: false, available_in_drafts: false };
    const draft = { key, stored: null, name: '', value: '', ...flags };
    flushSync(() => edit([...drafts, draft]));
    list.current?.querySelector<HTMLInputElement>('li:last-child input')?.focus();
  };
  return (
    <CommandForm
      submit={t('common:save')}
      onSubmit={() => void submit()}
      isRunning={isRunning}
      fault={fault}
      beside={drafts.flatMap((_, index) => [`/variables/${index}/name`, `/variables/${index}/value`])}
      isUnchanged={isUnchanged}
    >
      {drafts.length > 0 && (
        <div>
          <div className={classes.heads} aria-hidden="true">
            <span>{t('common:name')}</span>
            <span>{t('variable_value')}</span>
          </div>
          <ul className={classes.list} ref={list} aria-label={t('variables')}>
            {drafts.map((draft, index) => (
              <VariableFields
                key={draft.key}
                draft={draft}
                index={index}
                fault={fault}
                onChange={(part) => edit(drafts.with(index, { ...draft, ...part }))}
                onRemove={() => {
                  edit(drafts.toSpliced(index, 1));
                  add.current?.focus();
                }}
              />
            ))}
          </ul>
        </div>
      )}
      {drafts.length === 0 && <Text c="dimmed">{t('no_variables')}</Text>}
      <div>
        <Button
          ref={add}
          variant="default"
          size="xs"
          leftSection={<IconPlus size={14} />}
          onClick={begin}
          disabled={drafts.length >= mostVariables}
        >
          {t('variable_add')}
        </Button>
      </div>
    </CommandForm>
  );
}

function VariableList({ variables }: { variables: readonly Variable[] }) {
  const { t } = useTranslation('environment');
  if (variables.length === 0) return <Text c="dimmed">{t('no_variables')}</Text>;
  return (
    <Rows label={t('variables')}>
      {variables.map(({ name, value, secret }) => (
        <Row
          key={name}
          title={<code>{name}</code>}
          marks={secret && <Mark>{t('variable_secret')}</Mark>}
          detail={
            value !== null && (
              <span className={classes.clamp}>
                <MarkedText text={value} />
              </span>
            )
          }
        />
      ))}
    </Rows>
  );
}

/** What the commands of a build are given. */
export function VariablesSection(props: EnvironmentSectionProps) {
  const { t } = useTranslation('environment');
  const { organization, project, environment } = props;
  const can = useCan(organization, project);
  return (
    <Section title={t('variables')} lead={t('variables_lead')}>
      {can('manage_studio') ? <VariablesForm {...props} /> : <VariableList variables={environment.variables} />}
    </Section>
  );
}
