import { NumberInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { type OrganizationSettingsQuery, UpdateOrganization } from '../../documents.ts';
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

const limits = ['crawl_max_html', 'crawl_bytes', 'workflow_backlog', 'execution_days'] as const;

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
      <Section title={t('limits')} lead={t('limits_lead')}>
        <LimitsForm organization={organization} settings={settings} />
      </Section>
    </>
  );
}
