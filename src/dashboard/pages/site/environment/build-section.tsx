import { NumberInput, Select, TextInput } from '@mantine/core';
import { Fragment } from 'react';
import { useTranslation } from 'react-i18next';
import { useCan } from '../../../lib/viewer.tsx';
import { CommandForm } from '../../../parts/command-form.tsx';
import { Facts } from '../../../parts/facts.tsx';
import { Section } from '../../../parts/section.tsx';
import type { EnvironmentSectionProps } from '../site-query.ts';
import { ExternalFields, HookSecret } from './external-fields.tsx';
import { useSettings, useUpdate } from './use-settings.ts';

const providers = ['build', 'static', 'webhook'] as const;
const networks = ['full', 'install', 'none'] as const;

/** Texts that each way of publishing is described by. */
const textsOf = {
  build: ['root_directory', 'install_command', 'build_command', 'output_directory'],
  static: ['root_directory', 'output_directory'],
  webhook: [],
} as const;

function BuildForm({ environment, onChanged }: EnvironmentSectionProps) {
  const { t } = useTranslation(['environment', 'common']);
  const { save, isRunning, fault, secret, forgetSecret } = useUpdate(environment.id, onChanged);
  const { values, change, changed, isUnchanged } = useSettings({
    provider: environment.provider,
    root_directory: environment.root_directory,
    install_command: environment.install_command ?? '',
    build_command: environment.build_command ?? '',
    output_directory: environment.output_directory,
    network: environment.network,
    timeout_seconds: environment.timeout_seconds as number | string,
    deploy_webhook_url: environment.deploy_webhook_url ?? '',
    url: (environment.provider === 'webhook' && environment.url) || '',
  });
  const { timeout_seconds, ...others } = changed;
  const submit = () =>
    save({ ...others, ...(timeout_seconds !== undefined && { timeout_seconds: Number(timeout_seconds) }) });
  const texts = textsOf[values.provider];
  return (
    <>
      <CommandForm
        submit={t('common:save')}
        onSubmit={() => void submit()}
        isRunning={isRunning}
        fault={fault}
        beside={[
          ...texts.map((name) => `/${name}`),
          ...(values.provider === 'build' ? ['/timeout_seconds'] : []),
          ...(values.provider === 'webhook' ? ['/deploy_webhook_url', '/url'] : []),
        ]}
        isUnchanged={isUnchanged}
      >
        <Select
          label={t('provider')}
          description={t(`provider_${values.provider}_hint`)}
          data={providers.map((value) => ({ value, label: t(`provider_${value}`) }))}
          value={values.provider}
          onChange={(value) => value && change({ provider: value as typeof values.provider })}
        />
        {texts.map((name) => (
          <TextInput
            key={name}
            label={t(name)}
            description={t(`${name}_hint`)}
            value={values[name]}
            onChange={(event) => change({ [name]: event.currentTarget.value })}
            error={fault?.fields.get(`/${name}`)}
            spellCheck={false}
            autoCapitalize="off"
          />
        ))}
        {values.provider === 'build' && (
          <>
            <Select
              label={t('network')}
              description={t('network_hint')}
              data={networks.map((value) => ({ value, label: t(`network_${value}`) }))}
              value={values.network}
              onChange={(value) => value && change({ network: value as typeof values.network })}
            />
            <NumberInput
              label={t('timeout')}
              description={t('timeout_hint')}
              value={values.timeout_seconds}
              onChange={(value) => change({ timeout_seconds: value })}
              error={fault?.fields.get('/timeout_seconds')}
              allowDecimal={false}
              allowNegative={false}
              clampBehavior="none"
              step={60}
              max={3600}
              suffix=" s"
            />
          </>
        )}
        {values.provider === 'webhook' && <ExternalFields values={values} change={change} fault={fault} />}
      </CommandForm>
      {secret && <HookSecret secret={secret} onClose={forgetSecret} />}
    </>
  );
}

/** How a version becomes a site. */
export function BuildSection(props: EnvironmentSectionProps) {
  const { t } = useTranslation('environment');
  const { organization, project, environment } = props;
  const can = useCan(organization, project);
  const { provider, network, timeout_seconds, url } = environment;
  return (
    <Section title={t('build')} lead={t('build_lead')}>
      {can('manage_studio') ? (
        <BuildForm {...props} />
      ) : (
        <Facts>
          <dt>{t('provider')}</dt>
          <dd>{t(`provider_${provider}`)}</dd>
          {textsOf[provider].map((name) => (
            <Fragment key={name}>
              <dt>{t(name)}</dt>
              <dd>{environment[name] ? <code>{environment[name]}</code> : '–'}</dd>
            </Fragment>
          ))}
          {provider === 'build' && (
            <>
              <dt>{t('network')}</dt>
              <dd>{t(`network_${network}`)}</dd>
              <dt>{t('timeout')}</dt>
              <dd>{timeout_seconds} s</dd>
            </>
          )}
          {provider === 'webhook' && (
            <>
              <dt>{t('url')}</dt>
              <dd>{url ?? '–'}</dd>
            </>
          )}
        </Facts>
      )}
    </Section>
  );
}
