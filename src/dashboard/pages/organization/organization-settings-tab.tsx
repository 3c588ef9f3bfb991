import { Alert, Button, Checkbox, Group, NativeSelect, NumberInput, PasswordInput, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { type ChangeEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import {
  type ModelSettingsFragment,
  type OrganizationSettingsQuery,
  UpdateAssistantModel,
  type UpdateAssistantModelMutationVariables,
  UpdateOrganization,
} from '../../documents.ts';
import { useCommand } from '../../lib/command.ts';
import { useFormats } from '../../lib/format.ts';
import { usePageQuery } from '../../lib/page-query.ts';
import { useViewer } from '../../lib/viewer.tsx';
import { CommandForm } from '../../parts/command-form.tsx';
import { Copyable } from '../../parts/copyable.tsx';
import { NameForm } from '../../parts/name-form.tsx';
import { Section } from '../../parts/section.tsx';
import { Failure, Waiting } from '../../shell/states.tsx';
import classes from './organization.module.css';
import { type TabProps, tabQueries } from './organization-query.ts';

type Settings = NonNullable<OrganizationSettingsQuery['organization']>;
type Limits = NonNullable<Settings['limits']>;

const limits = [
  'crawl_max_html',
  'crawl_bytes',
  'workflow_backlog',
  'execution_days',
  'assistant_tokens_month',
  'assistant_days',
] as const;

interface LimitsProps {
  organization: string;
  settings: Settings;
}

/** Caps, for an administrator of the server to change and for others to know. */
function LimitsForm({ organization, settings }: LimitsProps) {
  const { t } = useTranslation(['organization', 'common']);
  const { number } = useFormats();
  const { me } = useViewer();
  const before = settings.limits;
  const [draft, setDraft] = useState<Limits | null>(before);
  const { run, isRunning, fault } = useCommand(UpdateOrganization);
  if (!before || !draft) return null;
  if (!me?.instance_admin)
    return (
      <dl className={classes.limits}>
        {limits.map((name) => (
          <div key={name}>
            <dt>{t(`limit_${name}`)}</dt>
            <dd>{before[name] === null ? t('limit_default') : number(before[name])}</dd>
          </div>
        ))}
      </dl>
    );
  const save = async () => {
    const filled = Object.fromEntries(limits.filter((name) => draft[name] !== null).map((name) => [name, draft[name]]));
    const outcome = await run({ organization, input: { limits: filled } });
    if (!outcome.fault) notifications.show({ message: t('common:saved') });
  };
  return (
    <CommandForm
      submit={t('common:save')}
      onSubmit={save}
      isRunning={isRunning}
      fault={fault}
      beside={limits.map((name) => `/limits/${name}`)}
      isUnchanged={limits.every((name) => draft[name] === before[name])}
    >
      {limits.map((name) => (
        <NumberInput
          key={name}
          label={t(`limit_${name}`)}
          placeholder={t('limit_default')}
          min={0}
          allowDecimal={false}
          hideControls
          value={draft[name] ?? ''}
          onChange={(value) => setDraft({ ...draft, [name]: typeof value === 'number' ? value : null })}
          error={fault?.fields.get(`/limits/${name}`)}
        />
      ))}
    </CommandForm>
  );
}

type ModelInput = UpdateAssistantModelMutationVariables['input'];

const draftOf = ({ provider, url, model }: ModelSettingsFragment) => ({
  ...{ provider: provider ?? '', url: url ?? '', model: model ?? '' },
  ...{ key: '', dropsKey: false },
});

/** The assistant's model of an organisation. A key is written and never read back. */
function ModelForm({ organization, before: given }: { organization: string; before: ModelSettingsFragment }) {
  const { t } = useTranslation(['organization', 'common']);
  const [before, setBefore] = useState(given);
  const [draft, setDraft] = useState(draftOf(given));
  const { run, isRunning, fault } = useCommand(UpdateAssistantModel);
  const { usual, own_addresses, has_key } = before;
  const isOwn = has_key || [before.provider, before.url, before.model].some((value) => value != null);
  if (!usual && !own_addresses && !isOwn) return <p>{t('model_none')}</p>;
  const send = async (input: ModelInput) => {
    const { data, fault } = await run({ organization, input });
    const after = data?.updateAssistantModel;
    if (fault || !after) return;
    setBefore(after);
    setDraft(draftOf(after));
    notifications.show({ message: t('common:saved') });
  };
  const { provider, url, model, key, dropsKey } = draft;
  const isChanged = key !== '' || dropsKey || provider !== (before.provider ?? '');
  const save = () =>
    send({
      provider: (provider || null) as ModelInput['provider'],
      ...{ url: url || null, model: model || null },
      ...(key !== '' ? { key } : dropsKey && { key: null }),
    });
  const text = (name: 'url' | 'model' | 'key') => ({
    ...{ label: t(`model_${name}`), description: t(`model_${name}_hint`), value: draft[name] },
    onChange: (event: ChangeEvent<HTMLInputElement>) => setDraft({ ...draft, [name]: event.currentTarget.value }),
    error: fault?.fields.get(`/${name}`),
    ...{ autoComplete: 'off', spellCheck: false },
  });
  return (
    <>
      <CommandForm
        submit={t('common:save')}
        onSubmit={() => void save()}
        isRunning={isRunning}
        fault={fault}
        beside={['/provider', '/url', '/model', '/key']}
        isUnchanged={!isChanged && url === (before.url ?? '') && model === (before.model ?? '')}
      >
        {before.problem && <Alert color="red">{t('model_problem', { problem: before.problem })}</Alert>}
        <NativeSelect
          label={t('model_provider')}
          value={provider}
          onChange={(event) => setDraft({ ...draft, provider: event.currentTarget.value })}
          data={(['server', 'openai', 'anthropic'] as const).map((name) => ({
            value: name === 'server' ? '' : name,
            label: t(`model_provider_${name}`),
          }))}
          error={fault?.fields.get('/provider')}
        />
        {(own_addresses || before.url) && <TextInput {...text('url')} type="url" placeholder="https://" />}
        <TextInput {...text('model')} placeholder={usual?.model ?? ''} />
        <PasswordInput {...text('key')} placeholder={has_key ? t('model_key_stored') : ''} />
        {has_key && (
          <Checkbox
            label={t('model_key_remove')}
            checked={dropsKey}
            disabled={key !== ''}
            onChange={(event) => setDraft({ ...draft, dropsKey: event.currentTarget.checked })}
          />
        )}
      </CommandForm>
      {isOwn && (
        <Group mt="md">
          <Button
            variant="default"
            disabled={isRunning}
            onClick={() => void send({ provider: null, url: null, model: null, key: null })}
          >
            {t(usual ? 'model_reset' : 'model_remove')}
          </Button>
        </Group>
      )}
    </>
  );
}

export function OrganizationSettingsTab({ organization }: TabProps) {
  const { t } = useTranslation('organization');
  const { data, fault, refresh } = usePageQuery(tabQueries.settings(organization));
  const rename = useCommand(UpdateOrganization);
  const settings = data?.organization;
  if (!settings) return fault ? <Failure fault={fault} onRetry={refresh} /> : <Waiting rows={6} />;
  return (
    <>
      <Section title={t('name')} lead={t('name_lead')}>
        <NameForm
          before={settings.name ?? ''}
          {...rename}
          onSave={(name) => rename.run({ organization, input: { name } })}
        />
        <Copyable label={t('machine_name')} value={settings.machine_name ?? organization} />
      </Section>
      {settings.assistant_model && (
        <Section title={t('assistant')} lead={t('assistant_lead')}>
          <ModelForm organization={organization} before={settings.assistant_model} />
        </Section>
      )}
      <Section title={t('limits')} lead={t('limits_lead')}>
        <LimitsForm organization={organization} settings={settings} />
      </Section>
    </>
  );
}
