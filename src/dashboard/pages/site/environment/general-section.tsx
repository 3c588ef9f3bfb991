import { Select, Switch, TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useCan } from '../../../lib/viewer.tsx';
import { CommandForm } from '../../../parts/command-form.tsx';
import { Facts } from '../../../parts/facts.tsx';
import { MarkedText } from '../../../parts/marked-text.tsx';
import { Section } from '../../../parts/section.tsx';
import type { EnvironmentSectionProps } from '../site-query.ts';
import { BranchSelect } from './branch-select.tsx';
import { useSettings, useUpdate } from './use-settings.ts';

const types = ['production', 'preview'] as const;
const visibilities = ['members', 'public'] as const;

function GeneralForm({ environment, onChanged }: EnvironmentSectionProps) {
  const { t } = useTranslation(['environment', 'common']);
  const { save, isRunning, fault } = useUpdate(environment.id, onChanged);
  const { values, change, changed, isUnchanged } = useSettings({
    name: environment.name,
    branch: environment.branch?.name ?? null,
    type: environment.type,
    visibility: environment.visibility,
    auto_deploy: environment.auto_deploy,
    cancel_superseded: environment.cancel_superseded,
  });
  return (
    <CommandForm
      submit={t('common:save')}
      onSubmit={() => void save(changed)}
      isRunning={isRunning}
      fault={fault}
      beside={['/name', '/branch']}
      isUnchanged={isUnchanged}
    >
      <TextInput
        label={t('common:name')}
        value={values.name}
        onChange={(event) => change({ name: event.currentTarget.value })}
        error={fault?.fields.get('/name')}
      />
      <BranchSelect
        value={values.branch}
        onChange={(branch) => change({ branch })}
        error={fault?.fields.get('/branch')}
      />
      <Select
        label={t('type')}
        data={types.map((value) => ({ value, label: t(`type_${value}`) }))}
        value={values.type}
        onChange={(value) => value && change({ type: value as typeof values.type })}
      />
      <Select
        label={t('visibility')}
        data={visibilities.map((value) => ({ value, label: t(`visibility_${value}`) }))}
        value={values.visibility}
        onChange={(value) => value && change({ visibility: value as typeof values.visibility })}
      />
      <Switch
        label={t('auto_deploy')}
        description={t('auto_deploy_hint')}
        checked={values.auto_deploy}
        onChange={(event) => change({ auto_deploy: event.currentTarget.checked })}
      />
      <Switch
        label={t('cancel_superseded')}
        description={t('cancel_superseded_hint')}
        checked={values.cancel_superseded}
        onChange={(event) => change({ cancel_superseded: event.currentTarget.checked })}
      />
    </CommandForm>
  );
}

/** What an environment shows, and to whom. */
export function GeneralSection(props: EnvironmentSectionProps) {
  const { t } = useTranslation(['environment', 'common']);
  const { organization, project, environment } = props;
  const can = useCan(organization, project);
  const { branch, type, visibility, auto_deploy, cancel_superseded } = environment;
  return (
    <Section title={t('general')} lead={t('general_lead')}>
      {can('manage_studio') ? (
        <GeneralForm {...props} />
      ) : (
        <Facts>
          <dt>{t('shows')}</dt>
          <dd>{branch ? <MarkedText text={branch.name} /> : t('branch_gone')}</dd>
          <dt>{t('type')}</dt>
          <dd>{t(`type_${type}`)}</dd>
          <dt>{t('visibility')}</dt>
          <dd>{t(`visibility_${visibility}`)}</dd>
          <dt>{t('auto_deploy')}</dt>
          <dd>{t(auto_deploy ? 'common:value_yes' : 'common:value_no')}</dd>
          <dt>{t('cancel_superseded')}</dt>
          <dd>{t(cancel_superseded ? 'common:value_yes' : 'common:value_no')}</dd>
        </Facts>
      )}
    </Section>
  );
}
